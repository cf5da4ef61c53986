/* A client asks a server, another process, and asks again when it has the reply: they work in turns, with more requests under way beside
 * each other.
 *
 *   client  ask 6 | [wait for the reply] ...       50 requests
 *   server  [wait for a request] answer 5 | ...
 *
 * request_reply N: N requests under way. With -DPOLLS the client waits by poll, as the clients of many databases do, and the server by
 * epoll for whatever comes.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>
#include "work.h"

enum { REQUESTS = 50 };

NOINLINE void ask(void) { BURN(6); }
NOINLINE void answer(void) { BURN(5); }

static void at_once(int connection)
{
    int on = 1;
    CHECK(setsockopt(connection, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on) == 0);
}

static void serve(int listener)
{
    int connection = accept(listener, NULL, NULL);
    char request;
    CHECK(connection >= 0);
    at_once(connection);
#ifdef POLLS
    struct epoll_event event = {.events = EPOLLIN};
    int any = epoll_create1(0);
    CHECK(any >= 0 && epoll_ctl(any, EPOLL_CTL_ADD, connection, &event) == 0);
#endif
    for (;;) {
#ifdef POLLS
        CHECK(epoll_wait(any, &event, 1, -1) == 1);
#endif
        if (read(connection, &request, 1) != 1)
            _exit(0);
        answer();
        CHECK(write(connection, &request, 1) == 1);
    }
}

int main(int argc, char **argv)
{
    int under_way = argc > 1 ? atoi(argv[1]) : 1, asked = 0, answered = 0;
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t length = sizeof address;
    int listener = socket(AF_INET, SOCK_STREAM, 0);
    char reply;
    CHECK(bind(listener, (struct sockaddr *)&address, sizeof address) == 0 && listen(listener, 1) == 0);
    CHECK(getsockname(listener, (struct sockaddr *)&address, &length) == 0);
    pid_t server = fork();
    if (server == 0)
        serve(listener);
    int connection = socket(AF_INET, SOCK_STREAM, 0);
    CHECK(connect(connection, (struct sockaddr *)&address, sizeof address) == 0);
    at_once(connection);
    while (answered < REQUESTS) {
        if (asked < REQUESTS && asked - answered < under_way) {
            ask();
            CHECK(write(connection, "?", 1) == 1);
            asked++;
        } else {
#ifdef POLLS
            struct pollfd only = {.fd = connection, .events = POLLIN};
            CHECK(poll(&only, 1, 10000) == 1);
#endif
            CHECK(read(connection, &reply, 1) == 1);
            answered++;
        }
    }
    close(connection);
    CHECK(waitpid(server, NULL, 0) == server);
    return 0;
}
