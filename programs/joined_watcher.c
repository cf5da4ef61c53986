/* A thread that sleeps and looks whether it should stop, joined at the end, as threads that show progress or send heartbeats.
 *
 *   main     | compute 10 | compute 10 | ... 42 times | stop! join ...... |
 *   watcher  | sleep 50 | look 0.5 | sleep 50 | look 0.5 | ... | sleep 50 |
 *
 * The first thread waits for the watcher's end, so all the sleeps hold up the run by what is recorded. But there are as many of them as
 * main computes for. Without compute the run is one sleep, 50 of 450 ms; without the sleeps it is still the 420 ms of compute. That ends in
 * the midst of a sleep.
 * With -DPERIOD_MS=220 it sleeps twice; with half of compute once, and the run is half as long.
 * With -DTIMER it reads a timer that expires every 50 ms instead, as the tickers of language runtimes do: the answers are the same.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <sys/timerfd.h>
#include <unistd.h>
#include "work.h"

#ifndef PERIOD_MS
#define PERIOD_MS 50
#endif
enum { PIECES = 42, PIECE_MS = 10 };

static atomic_int stops;

NOINLINE void compute(void) { BURN(PIECE_MS); }

NOINLINE void look(void) { BURN(0.5); }

static void *watch(void *unused)
{
    int timer = timerfd_create(CLOCK_MONOTONIC, 0);
    struct timespec period = {.tv_nsec = PERIOD_MS * 1000 * 1000};
    CHECK(timerfd_settime(timer, 0, &(struct itimerspec){period, period}, NULL) == 0);
    do {
#ifdef TIMER
        uint64_t expired;
        CHECK(read(timer, &expired, sizeof expired) == sizeof expired);
#else
        usleep(PERIOD_MS * 1000);
#endif
        look();
    } while (!stops);
    return unused;
}

int main(void)
{
    pthread_t watcher;
    CHECK(pthread_create(&watcher, NULL, watch, NULL) == 0);
    for (int piece = 0; piece < PIECES; piece++)
        compute();
    stops = 1;
    CHECK(pthread_join(watcher, NULL) == 0);
    return 0;
}
