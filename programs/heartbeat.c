/* Computes beside a thread that beats three times: every 400 ms it looks whether it is to end.
 *
 *   main        compute compute compute ...... 900 ms     stop = 1, join
 *   heartbeat   sleep 400   sleep 400   sleep 400 ............. end
 *
 * It takes 1,200 ms. If half of the computing is left out it takes 800, and all of it 400. With -DCOUNTED the heartbeat has three beats to
 * do and no flag: it takes 1,200 ms whatever is left out. The recorded events of the two are the same.
 *
 * -DTIMER: it waits for a timer's descriptor; -DCONDITION: for a condition, up to a time limit, that nobody signals. */

#include <pthread.h>
#include <poll.h>
#include <stdatomic.h>
#include <stdint.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "work.h"

enum { BEATS = 3, MILLISECONDS = 400 };

static atomic_int stop;
static atomic_int beats;

#if defined TIMER
NOINLINE static void pause_between(void)
{
    static int timer = -1;
    if (timer < 0) {
        timer = timerfd_create(CLOCK_MONOTONIC, 0);
        struct itimerspec period = {{0, MILLISECONDS * 1000000}, {0, MILLISECONDS * 1000000}};
        CHECK(timer >= 0 && timerfd_settime(timer, 0, &period, NULL) == 0);
    }
    uint64_t expired;
    CHECK(read(timer, &expired, sizeof expired) == sizeof expired);
}
#elif defined CONDITION
NOINLINE static void pause_between(void)
{
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_nsec += MILLISECONDS * 1000000;
    until.tv_sec += until.tv_nsec / 1000000000;
    until.tv_nsec %= 1000000000;
    pthread_mutex_lock(&lock);
    pthread_cond_timedwait(&changed, &lock, &until);
    pthread_mutex_unlock(&lock);
}
#else
NOINLINE static void pause_between(void)
{
    struct timespec time = {0, MILLISECONDS * 1000000};
    nanosleep(&time, NULL);
}
#endif

static void *heartbeat(void *unused)
{
    do {
        pause_between();
        beats++;
#ifdef COUNTED
    } while (beats < BEATS);
#else
    } while (!stop);
#endif
    return unused;
}

NOINLINE static void compute(void)
{
    BURN(9);
}

int main(void)
{
    pthread_t other;
    CHECK(pthread_create(&other, NULL, heartbeat, NULL) == 0);
    for (int i = 0; i < 100; i++) {
        compute();
    }
    stop = 1;
    CHECK(pthread_join(other, NULL) == 0);
    printf("%d beats\n", beats);
    return 0;
}
