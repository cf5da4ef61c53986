/* A client of a service that another process does: each of two threads asks ten times, one question after the other.
 *
 *   thread    render | ask, wait 15 ms | render | ask, wait 15 ms ...
 *   service          | sleep 15 ms, answer |
 *
 * `outside_service serve PORT`: is the service, until its standard input ends; says when it can be asked.
 * `outside_service ask PORT`: asks.                       10 x (15 + 2) ms
 * `outside_service together PORT`: asks for all at once.  10 x 2 ms + 15 ms
 * With -DPOLLS it waits by poll before it reads, as the clients of many databases do.
 * A PORT with a slash in it is the path of a local socket.
 */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>
#include "work.h"

enum { THREADS = 2, QUESTIONS = 10, WORK_MS = 2, SERVICE_US = 15000 };

static const char *port;
static int are_together;

/* A socket that is connected to the service, or bound to its address. */
static int open_socket(int is_service)
{
    struct sockaddr_in internet = { .sin_family = AF_INET, .sin_port = htons(atoi(port)) };
    struct sockaddr_un local = { .sun_family = AF_UNIX };
    int is_local = strchr(port, '/') != NULL, one = 1;
    internet.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    strncpy(local.sun_path, port, sizeof local.sun_path - 1);
    struct sockaddr *address = is_local ? (void *)&local : (void *)&internet;
    socklen_t size = is_local ? sizeof local : sizeof internet;
    int end = socket(address->sa_family, SOCK_STREAM, 0);
    CHECK(end >= 0 && (is_local || setsockopt(end, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one) == 0));
    CHECK((is_service ? bind(end, address, size) : connect(end, address, size)) == 0);
    return end;
}

/* Answers as many questions as came. */
static void *serve(void *end)
{
    char questions[QUESTIONS];
    int connection = (int)(long)end;
    for (ssize_t count; (count = read(connection, questions, sizeof questions)) > 0;) {
        usleep(SERVICE_US);
        CHECK(write(connection, questions, count) == count);
    }
    close(connection);
    return NULL;
}

static void be_the_service(void)
{
    int end = open_socket(1);
    CHECK(listen(end, 8) == 0 && puts("ready") >= 0 && fflush(stdout) == 0);
    struct pollfd ends[2] = { { .fd = end, .events = POLLIN }, { .fd = 0, .events = POLLIN } };
    while (poll(ends, 2, -1) > 0 && !ends[1].revents) {
        pthread_t thread;
        long connection = accept(end, NULL, NULL);
        CHECK(connection >= 0 && pthread_create(&thread, NULL, serve, (void *)connection) == 0);
        CHECK(pthread_detach(thread) == 0);
    }
}

NOINLINE void render(void) { BURN(WORK_MS); }

NOINLINE void fetch_price(int end, int count)
{
    char prices[QUESTIONS] = "";
    CHECK(write(end, prices, count) == count);
    for (int got = 0; got < count;) {
#ifdef POLLS
        struct pollfd only = { .fd = end, .events = POLLIN };
        CHECK(poll(&only, 1, 10000) == 1);
#endif
        ssize_t bytes = read(end, prices, sizeof prices);
        CHECK(bytes > 0);
        got += bytes;
    }
}

static void *work(void *unused)
{
    int end = open_socket(0);
    if (are_together)
        fetch_price(end, QUESTIONS);
    for (int question = 0; question < QUESTIONS; question++) {
        if (!are_together)
            fetch_price(end, 1);
        render();
    }
    close(end);
    return unused;
}

int main(int argc, char **argv)
{
    CHECK(argc == 3);
    port = argv[2];
    are_together = strcmp(argv[1], "together") == 0;
    if (strcmp(argv[1], "serve") == 0) {
        be_the_service();
        return 0;
    }
    pthread_t threads[THREADS];
    for (int i = 0; i < THREADS; i++)
        CHECK(pthread_create(&threads[i], NULL, work, NULL) == 0);
    for (int i = 0; i < THREADS; i++)
        CHECK(pthread_join(threads[i], NULL) == 0);
    return 0;
}
