/* Two threads that wait busily for each other at the end of each phase: no wait leaves the processor.
 *
 *   first    relax_inner 14 ......| sum_residual 5 | choose_step 4 | smooth 6 ...|     10 rounds
 *   second   relax_border 8 (spin)| sum_residual 5 | (spin)        | sharpen 9   |
 *
 * Elapsed: 10 x (14 + 5 + 4 + 9) = 320 ms on two processors. Gains: relax_inner 10 x 6 = 60 (then relax_border is the longest),
 * relax_border 0, sum_residual 50, choose_step 40, smooth 0, sharpen 10 x 3 = 30. CPU time with spinning 640 ms, useful 510.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdatomic.h>
#include "work.h"

enum { ROUNDS = 10 };

static atomic_int arrivals;

NOINLINE void relax_inner(void) { BURN(14); }
NOINLINE void relax_border(void) { BURN(8); }
NOINLINE void sum_residual(void) { BURN(5); }
NOINLINE void choose_step(void) { BURN(4); }
NOINLINE void smooth(void) { BURN(6); }
NOINLINE void sharpen(void) { BURN(9); }

/* The phases are numbered from 1: both have arrived at 2, 4, 6, ... arrivals. */
NOINLINE void await_phase(int phase)
{
    atomic_fetch_add(&arrivals, 1);
    while (atomic_load(&arrivals) < 2 * phase)
        ;
}

static void *first(void *unused)
{
    for (int round = 0; round < ROUNDS; round++) {
        relax_inner();
        await_phase(4 * round + 1);
        sum_residual();
        await_phase(4 * round + 2);
        choose_step();
        await_phase(4 * round + 3);
        smooth();
        await_phase(4 * round + 4);
    }
    return unused;
}

static void *second(void *unused)
{
    for (int round = 0; round < ROUNDS; round++) {
        relax_border();
        await_phase(4 * round + 1);
        sum_residual();
        await_phase(4 * round + 2);
        await_phase(4 * round + 3);
        sharpen();
        await_phase(4 * round + 4);
    }
    return unused;
}

int main(void)
{
    pthread_t threads[2];
    CHECK(pthread_create(&threads[0], NULL, first, NULL) == 0);
    CHECK(pthread_create(&threads[1], NULL, second, NULL) == 0);
    for (int i = 0; i < 2; i++)
        CHECK(pthread_join(threads[i], NULL) == 0);
    return 0;
}
