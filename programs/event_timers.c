/* An event loop whose next event is its own timer; nobody writes to the descriptors that it watches.
 *
 *   main  8 x ( handle 20 | wait_for_event 50 )     what is waited for: the first argument
 *
 *     epoll   epoll_wait with a time limit, as Node.js, Python's asyncio and Rust's tokio sleep
 *     select  select of a pipe with a time limit
 *     timer   epoll_wait without one, for a timerfd
 *     peer    poll without a limit, for a byte that another process writes every 50 ms: no timer of the loop ends that
 *     look    epoll_wait with a time limit, 8 x 50 ms without work: a service that has nothing to do
 *     never   no waits: the truth
 *
 * Elapsed: 560 ms (look: 400), of which 400 ms are the loop's own timers, which gain as much if what they wait for is an event.
 */
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <sys/timerfd.h>
#include <unistd.h>
#include "work.h"

#define NAP 50

static const char *mode;
static int ends[2], timer, events;

NOINLINE void handle(void) { BURN(20); }

NOINLINE void wait_for_event(void)
{
    struct timeval limit = {0, NAP * 1000};
    struct itimerspec once = {{0, 0}, {0, NAP * 1000 * 1000}};
    struct pollfd input = {ends[0], POLLIN, 0};
    struct epoll_event event;
    fd_set set;
    char bytes[8];
    if (!strcmp(mode, "epoll") || !strcmp(mode, "look")) {
        CHECK(epoll_wait(events, &event, 1, NAP) == 0);
    } else if (!strcmp(mode, "select")) {
        FD_ZERO(&set);
        FD_SET(ends[0], &set);
        CHECK(select(ends[0] + 1, &set, NULL, NULL, &limit) == 0);
    } else if (!strcmp(mode, "timer")) {
        CHECK(timerfd_settime(timer, 0, &once, NULL) == 0);
        CHECK(epoll_wait(events, &event, 1, -1) == 1);
        CHECK(read(timer, bytes, 8) == 8);
    } else if (!strcmp(mode, "peer")) {
        CHECK(poll(&input, 1, -1) == 1);
        CHECK(read(ends[0], bytes, 1) == 1);
    }
}

/* Another process writes, every 50 ms. */
static pid_t write_bytes(void)
{
    pid_t peer = fork();
    CHECK(peer >= 0);
    for (; peer == 0;) {
        struct timespec nap = {0, NAP * 1000 * 1000};
        nanosleep(&nap, NULL);
        if (write(ends[1], "x", 1) != 1)
            _exit(0);
    }
    return peer;
}

int main(int count, char **arguments)
{
    mode = count > 1 ? arguments[1] : "epoll";
    CHECK(pipe(ends) == 0);
    timer = timerfd_create(CLOCK_MONOTONIC, 0);
    events = epoll_create1(0);
    struct epoll_event of_timer = {.events = EPOLLIN}, of_pipe = {.events = EPOLLIN};
    CHECK(epoll_ctl(events, EPOLL_CTL_ADD, timer, &of_timer) == 0);
    CHECK(epoll_ctl(events, EPOLL_CTL_ADD, ends[0], &of_pipe) == 0);
    pid_t peer = strcmp(mode, "peer") ? 0 : write_bytes();
    for (int i = 0; i < 8; i++) {
        if (strcmp(mode, "look"))
            handle();
        wait_for_event();
    }
    if (peer)
        CHECK(kill(peer, SIGKILL) == 0);
    return 0;
}
