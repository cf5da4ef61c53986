/* Three threads meet at a barrier after 120, 90 and 30 ms; then the third works alone, and they meet again.
 *
 *   first   P1 120 | barrier          | barrier
 *   second  P2 90 .| barrier          | barrier
 *   third   P3 30 .| barrier | Q3 100 | barrier
 *
 * Critical path (CPU): P1 120, Q3 100 = 220 ms: all that come to the barrier let all go, whoever comes last on a clock.
 * Logical zeroing: P1 30, P2 0, P3 0, Q3 100. P1 at 0: 190 ms.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include "work.h"

static pthread_barrier_t barrier;

NOINLINE void P1(void) { BURN(120); }
NOINLINE void P2(void) { BURN(90); }
NOINLINE void P3(void) { BURN(30); }
NOINLINE void Q3(void) { BURN(100); }

static void *first(void *unused)
{
    P1();
    pthread_barrier_wait(&barrier);
    pthread_barrier_wait(&barrier);
    return unused;
}

static void *second(void *unused)
{
    P2();
    pthread_barrier_wait(&barrier);
    pthread_barrier_wait(&barrier);
    return unused;
}

static void *third(void *unused)
{
    P3();
    pthread_barrier_wait(&barrier);
    Q3();
    pthread_barrier_wait(&barrier);
    return unused;
}

int main(void)
{
    void *(*starts[])(void *) = { first, second, third };
    pthread_t threads[3];
    CHECK(pthread_barrier_init(&barrier, NULL, 3) == 0);
    for (int i = 0; i < 3; i++)
        CHECK(pthread_create(&threads[i], NULL, starts[i], NULL) == 0);
    for (int i = 0; i < 3; i++)
        CHECK(pthread_join(threads[i], NULL) == 0);
    return 0;
}
