/* Four threads on two processors that wait for a lock, for each other's turns on a processor, and for nothing. Each prints what the
 * scheduler has counted of it (/proc/thread-self/schedstat): nanoseconds on a processor, and ready without one. They look when all
 * have finished, so that none has to wait for a processor after its look.
 *
 *   busy     work ........................................   two of them, without a pause
 *   taker    [lock work] work [lock work] work ...           two of them, with a lock that is wanted all the time
 */
#define _GNU_SOURCE
#include <pthread.h>
#include "work.h"

enum { TURNS = 2000, BUSY_MS = 400 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_barrier_t all_finished;

static void print_counts(const char *name)
{
    unsigned long long ran, waited;
    pthread_barrier_wait(&all_finished);
    FILE *file = fopen("/proc/thread-self/schedstat", "r");
    CHECK(file != NULL && fscanf(file, "%llu %llu", &ran, &waited) == 2);
    fclose(file);
    flockfile(stdout);
    printf("%s %llu %llu\n", name, ran, waited);
    funlockfile(stdout);
}

static void step(int count)
{
    static _Thread_local volatile unsigned long cell;
    for (int i = 0; i < count; i++)
        cell += (unsigned long)i;
}

static void *take_turns(void *name)
{
    CHECK(pthread_setname_np(pthread_self(), name) == 0);
    for (int turn = 0; turn < TURNS; turn++) {
        pthread_mutex_lock(&lock);
        step(20000);
        pthread_mutex_unlock(&lock);
        step(10000);
    }
    print_counts(name);
    return NULL;
}

static void *be_busy(void *name)
{
    CHECK(pthread_setname_np(pthread_self(), name) == 0);
    BURN(BUSY_MS);
    print_counts(name);
    return NULL;
}

int main(void)
{
    static char *names[] = {"taker-1", "taker-2", "busy-1", "busy-2"};
    pthread_t threads[4];
    CHECK(pthread_barrier_init(&all_finished, NULL, 4) == 0);
    for (int i = 0; i < 4; i++)
        CHECK(pthread_create(&threads[i], NULL, i < 2 ? take_turns : be_busy, names[i]) == 0);
    for (int i = 0; i < 4; i++)
        CHECK(pthread_join(threads[i], NULL) == 0);
    return 0;
}
