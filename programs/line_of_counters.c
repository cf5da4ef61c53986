/* Two threads that count, each its own events: in one cache line, in lines of their own, or both in one counter.
 *
 *   first    count_events: 60,000,000 additions to counters[0]
 *   second   count_events: as many to counters[1]      argument `beside` (8 bytes on), `apart` (128 bytes on) or `same`
 *
 * Additions are atomic, so each needs the line. With two processors the line goes from one to the other and back; how long
 * that takes depends on the machine. The program prints `counted N`.
 * An engineer's answer: `counters` is to be spread out (`beside`), or to be one for each thread (`same`); nothing of `apart`.
 */
#include <pthread.h>
#include <string.h>
#include "work.h"

enum { ADDITIONS = 60000000 };

static _Alignas(128) long counters[32];
static pthread_barrier_t begin;
static long distance = 1;

NOINLINE void count_events(long *counter)
{
    for (long i = 0; i < ADDITIONS; i++)
        __atomic_fetch_add(counter, 1, __ATOMIC_RELAXED);
}

static void *count(void *number)
{
    pthread_barrier_wait(&begin);
    count_events(&counters[(long)number * distance]);
    return NULL;
}

int main(int argc, char **argv)
{
    const char *where = argc > 1 ? argv[1] : "beside";
    pthread_t threads[2];
    if (strcmp(where, "apart") == 0)
        distance = 16;
    if (strcmp(where, "same") == 0)
        distance = 0;
    CHECK(pthread_barrier_init(&begin, NULL, 2) == 0);
    for (long i = 0; i < 2; i++)
        CHECK(pthread_create(&threads[i], NULL, count, (void *)i) == 0);
    for (long i = 0; i < 2; i++)
        CHECK(pthread_join(threads[i], NULL) == 0);
    printf("counted %ld\n", counters[0] + (distance == 0 ? 0 : counters[distance]));
    return 0;
}
