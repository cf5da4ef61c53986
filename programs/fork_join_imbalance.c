/* Four threads of one fork that do the same for different lengths of time, then a second fork that is even.
 *
 *   main   fork ● join ............● fork ● join ....●
 *   long        [work 120          ]        [work 20 ]
 *   short       [work 30]~~~~~~~~~~         [work 20 ]     ~ its processor has nothing to do: 90 on an idle machine
 *   short       [work 30]~~~~~~~~~~         [work 20 ]
 *   short       [work 30]~~~~~~~~~~         [work 20 ]
 *
 * The threads of a fork meet before they work, so that all begin together however long it takes to create them.
 * Three threads end early in the first fork, and what `work` did in the long one explains that: load imbalance. Work:
 * 120 + 3 x 30 + 4 x 20 = 290 ms, all of it in `work`; main works nothing. With an argument the first fork is divided evenly.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdint.h>
#include "work.h"

NOINLINE void work(long milliseconds)
{
    BURN(milliseconds);
}

static pthread_barrier_t all_are_there;

static void *worker(void *milliseconds)
{
    pthread_barrier_wait(&all_are_there);
    work((intptr_t)milliseconds);
    return NULL;
}

NOINLINE void fork_and_join(const intptr_t milliseconds[4])
{
    pthread_t threads[4];
    CHECK(pthread_barrier_init(&all_are_there, NULL, 4) == 0);
    for (int i = 0; i < 4; i++)
        CHECK(pthread_create(&threads[i], NULL, worker, (void *)milliseconds[i]) == 0);
    for (int i = 0; i < 4; i++)
        CHECK(pthread_join(threads[i], NULL) == 0);
}

int main(int argc, char **argv)
{
    int is_even = argc > 1 && argv[1][0] != 0;
    fork_and_join(is_even ? (const intptr_t[4]){ 53, 53, 52, 52 } : (const intptr_t[4]){ 120, 30, 30, 30 });
    fork_and_join((const intptr_t[4]){ 20, 20, 20, 20 });
    return 0;
}
