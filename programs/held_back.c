/* A client whose requests are two small writes, and its server, which reads the first and waits for the second. The sender's system holds
 * the second back until the first is acknowledged (Nagle's algorithm), and the receiver's acknowledges it 40 ms later.
 *
 *   client   20 x ( prepare 5 | write head | write body | read answer .............. )
 *   kernel                                   holds the body back: 40 |
 *   server   read head | read body ................................. | look_up 5 | write answer
 *
 *     (none)    the server waits in read
 *     poll      the server waits in poll
 *     at_once   the client sets TCP_NODELAY: the truth, 20 x 10 ms
 *     late      the client prepares the body, 60 ms, after it has written the head: nothing is held back
 *
 * Elapsed: 20 x 50 ms = 1 s, of which the waits for what is held back are some 0.8 s.
 */
#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "work.h"

static const char *mode;

NOINLINE static void prepare(void) { BURN(5); }
NOINLINE static void prepare_body(void) { BURN(60); }
NOINLINE static void look_up(void) { BURN(5); }

NOINLINE static int receive(int peer, char *bytes, size_t length)
{
    struct pollfd input = {peer, POLLIN, 0};
    if (!strcmp(mode, "poll"))
        CHECK(poll(&input, 1, -1) == 1);
    return read(peer, bytes, length) == (ssize_t)length;
}

NOINLINE static void serve(int listener)
{
    char head[8], body[64];
    int client = accept(listener, NULL, NULL);
    while (receive(client, head, sizeof head) && receive(client, body, sizeof body)) {
        look_up();
        CHECK(write(client, head, sizeof head) == sizeof head);
    }
}

NOINLINE static void ask(int server)
{
    char head[8] = "ask", body[64] = "what";
    CHECK(write(server, head, sizeof head) == sizeof head);
    if (!strcmp(mode, "late"))
        prepare_body();
    CHECK(write(server, body, sizeof body) == sizeof body);
    CHECK(read(server, head, sizeof head) == sizeof head);
}

int main(int count, char **arguments)
{
    mode = count > 1 ? arguments[1] : "";
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t length = sizeof address;
    int listener = socket(AF_INET, SOCK_STREAM, 0), on = 1;
    CHECK(bind(listener, (void *)&address, length) == 0 && listen(listener, 1) == 0);
    CHECK(getsockname(listener, (void *)&address, &length) == 0);
    int pid = fork();
    CHECK(pid >= 0);
    if (pid == 0) {
        serve(listener);
        return 0;
    }
    int server = socket(AF_INET, SOCK_STREAM, 0);
    CHECK(connect(server, (void *)&address, length) == 0);
    if (!strcmp(mode, "at_once"))
        CHECK(setsockopt(server, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on) == 0);
    for (int request = 0; request < 20; request++) {
        prepare();
        ask(server);
    }
    close(server);
    return waitpid(pid, NULL, 0) != pid;
}
