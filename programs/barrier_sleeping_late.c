/* Of two threads at a barrier the one that works less comes later, as it sleeps.
 *
 *   first   A 100 | barrier ........ | B 10
 *   second  C 50 | sleep 600 | barrier | D 100
 *
 * Critical path (CPU): A 100, D 100 = 200 ms: the first one's arrival lets the second go on too, though it came long
 * before. Logical zeroing: A 50, C 0, D 90 (then B's 10 ms follow A). A at 0: 150 ms.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <unistd.h>
#include "work.h"

static pthread_barrier_t barrier;

NOINLINE void A(void) { BURN(100); }
NOINLINE void B(void) { BURN(10); }
NOINLINE void C(void) { BURN(50); }
NOINLINE void D(void) { BURN(100); }

static void *first(void *unused)
{
    A();
    pthread_barrier_wait(&barrier);
    B();
    return unused;
}

static void *second(void *unused)
{
    C();
    usleep(600000);
    pthread_barrier_wait(&barrier);
    D();
    return unused;
}

int main(void)
{
    pthread_t threads[2];
    CHECK(pthread_barrier_init(&barrier, NULL, 2) == 0);
    CHECK(pthread_create(&threads[0], NULL, first, NULL) == 0);
    CHECK(pthread_create(&threads[1], NULL, second, NULL) == 0);
    for (int i = 0; i < 2; i++)
        CHECK(pthread_join(threads[i], NULL) == 0);
    return 0;
}
