/* A server like many: a master that waits for signals, two workers that wait for clients, and load for a part of the run.
 *
 *   master    fork fork | sigsuspend ...................................... SIGALRM: ends the workers, waits for them
 *   worker    epoll_wait, idle 1.5 s | answer each request: compute 2 ms | epoll_wait, idle 1.5 s
 *   client    (outside, not recorded)  connects, sends bytes, reads answers
 *
 * The first argument is the path of a Unix socket. The run lasts LENGTH_S seconds.
 */
#define _GNU_SOURCE
#include <signal.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>
#include "work.h"

enum { WORKERS = 2, LENGTH_S = 4, COMPUTE_MS = 2 };

NOINLINE static void compute(void)
{
    BURN(COMPUTE_MS);
}

NOINLINE static void answer(int connection)
{
    char byte;
    if (read(connection, &byte, 1) == 1) {
        compute();
        CHECK(write(connection, &byte, 1) == 1);
    } else {
        close(connection);
    }
}

NOINLINE static void serve(int listener)
{
    int poll = epoll_create1(0);
    struct epoll_event event = {.events = EPOLLIN | EPOLLEXCLUSIVE, .data.fd = listener};
    CHECK(epoll_ctl(poll, EPOLL_CTL_ADD, listener, &event) == 0);
    for (;;) {
        if (epoll_wait(poll, &event, 1, -1) != 1)
            continue;
        if (event.data.fd != listener) {
            answer(event.data.fd);
            continue;
        }
        int connection = accept4(listener, NULL, NULL, SOCK_NONBLOCK);
        struct epoll_event of = {.events = EPOLLIN, .data.fd = connection};
        if (connection >= 0)
            CHECK(epoll_ctl(poll, EPOLL_CTL_ADD, connection, &of) == 0);
    }
}

static void noticed(int signal)
{
    (void)signal;
}

int main(int count, char **arguments)
{
    CHECK(count == 2);
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    strncpy(address.sun_path, arguments[1], sizeof address.sun_path - 1);
    int listener = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0);
    CHECK(bind(listener, (struct sockaddr *)&address, sizeof address) == 0 && listen(listener, 64) == 0);
    pid_t workers[WORKERS];
    for (int i = 0; i < WORKERS; i++) {
        workers[i] = fork();
        if (workers[i] == 0)
            serve(listener);
    }
    signal(SIGALRM, noticed);
    alarm(LENGTH_S);
    sigset_t none;
    sigemptyset(&none);
    sigsuspend(&none);
    for (int i = 0; i < WORKERS; i++) {
        kill(workers[i], SIGTERM);
        waitpid(workers[i], NULL, 0);
    }
    return 0;
}
