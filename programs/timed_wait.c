/* A thread that waits for a worker with a time limit, looks how far it came, and waits on, as `xz -T2` does to show its progress.
 *
 *   main     | wait 20, look | wait 20, look | ... | wait, signalled | finish 40 |
 *   worker   | compute 400 ........................| done                        |
 *
 * The waits last until their time limits, but there are as many of them as the worker computes for. Without compute the run is the 40 ms
 * of finish, with half of it 240 ms of 440.
 */
#include <errno.h>
#include <pthread.h>
#include "work.h"

enum { PIECES = 40, PIECE_MS = 10, LIMIT_MS = 20 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static int pieces, done;

NOINLINE void compute(void) { BURN(PIECE_MS); }
NOINLINE void finish(void) { BURN(40); }

static void *work(void *unused)
{
    for (int piece = 0; piece < PIECES; piece++) {
        compute();
        CHECK(pthread_mutex_lock(&lock) == 0);
        pieces++;
        CHECK(pthread_mutex_unlock(&lock) == 0);
    }
    CHECK(pthread_mutex_lock(&lock) == 0);
    done = 1;
    CHECK(pthread_cond_signal(&changed) == 0);
    CHECK(pthread_mutex_unlock(&lock) == 0);
    return unused;
}

/* Whether all is done. */
NOINLINE int wait_a_while(void)
{
    struct timespec limit;
    clock_gettime(CLOCK_REALTIME, &limit);
    limit.tv_nsec += LIMIT_MS * 1000000L;
    limit.tv_sec += limit.tv_nsec / 1000000000L;
    limit.tv_nsec %= 1000000000L;
    int result = 0;
    CHECK(pthread_mutex_lock(&lock) == 0);
    while (!done && result != ETIMEDOUT)
        result = pthread_cond_timedwait(&changed, &lock, &limit);
    int is_done = done;
    CHECK(pthread_mutex_unlock(&lock) == 0);
    return is_done;
}

int main(void)
{
    pthread_t worker;
    CHECK(pthread_create(&worker, NULL, work, NULL) == 0);
    while (!wait_a_while())
        ;
    finish();
    CHECK(pthread_join(worker, NULL) == 0);
    return 0;
}
