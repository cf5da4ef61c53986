/* A thread that does a piece of work at each tick of a timer, every 12 ms.
 *
 *   main   | handle_tick 3 | timer 9 | handle_tick 3 | timer 9 | ...      40 ticks, the first after 12 ms
 *
 * The timer sets the length of the run: 480 ms and the last piece of work. Without handle_tick it is 480 ms, a gain below 1 %, though
 * handle_tick is all that is computed. The timer is a timerfd, with -DUNTIL a sleep until a moment (clock_nanosleep, TIMER_ABSTIME), with
 * -DFOR one for 9 ms: then the run gets shorter by the work, a quarter of it. With -DPOLL and -DEPOLL the timerfd is waited for among other
 * descriptors, which does not show what ended the wait: a moment, or a time-out as with -DTIMEOUT.
 */
#include <poll.h>
#include <stdint.h>
#include <sys/epoll.h>
#include <sys/timerfd.h>
#include <unistd.h>
#include "work.h"

enum { TICKS = 40, PERIOD_MS = 12, WORK_MS = 3 };

NOINLINE void handle_tick(void) { BURN(WORK_MS); }

int main(void)
{
    const long period = PERIOD_MS * 1000000L;
#if defined(FOR)
    for (int tick = 0; tick < TICKS; tick++) {
        usleep((PERIOD_MS - WORK_MS) * 1000);
        handle_tick();
    }
#elif defined(TIMEOUT)
    for (int tick = 0; tick < TICKS; tick++) {
        CHECK(poll(&(struct pollfd){.fd = -1}, 1, PERIOD_MS - WORK_MS) >= 0);
        handle_tick();
    }
#elif defined(UNTIL)
    struct timespec next;
    CHECK(clock_gettime(CLOCK_MONOTONIC, &next) == 0);
    for (int tick = 0; tick < TICKS; tick++) {
        next.tv_nsec += period;
        next.tv_sec += next.tv_nsec / 1000000000;
        next.tv_nsec %= 1000000000;
        CHECK(clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &next, NULL) == 0);
        handle_tick();
    }
#else
    int timer = timerfd_create(CLOCK_MONOTONIC, 0);
    struct itimerspec ticks = {.it_interval = {0, period}, .it_value = {0, period}};
    CHECK(timer >= 0 && timerfd_settime(timer, 0, &ticks, NULL) == 0);
#if defined(EPOLL)
    int set = epoll_create1(0);
    struct epoll_event event = {.events = EPOLLIN};
    CHECK(set >= 0 && epoll_ctl(set, EPOLL_CTL_ADD, timer, &event) == 0);
#endif
    for (int tick = 0; tick < TICKS;) {
        uint64_t expired;
#if defined(EPOLL)
        CHECK(epoll_wait(set, &event, 1, -1) == 1);
#elif defined(POLL)
        CHECK(poll(&(struct pollfd){.fd = timer, .events = POLLIN}, 1, -1) == 1);
#endif
        CHECK(read(timer, &expired, sizeof expired) == sizeof expired);
        tick += expired;
        handle_tick();
    }
#endif
    return 0;
}
