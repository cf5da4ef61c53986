/* Threads that give way to others after each piece of work, and wait for nobody.
 *
 *   worker   400 x ( hash_block 0.5 ms | sched_yield )      4 threads
 *
 * CPU time: 800 ms of hash_block. Without the yields the program is as quick.
 * An engineer's answer: hash_block is all there is; nothing spins.
 */
#include <pthread.h>
#include <sched.h>
#include "work.h"

enum { WORKERS = 4, BLOCKS = 400 };

NOINLINE void hash_block(void) { BURN(0.5); }

static void *work(void *unused)
{
    for (int i = 0; i < BLOCKS; i++) {
        hash_block();
        sched_yield();
    }
    return unused;
}

int main(void)
{
    pthread_t workers[WORKERS];
    for (int i = 0; i < WORKERS; i++)
        CHECK(pthread_create(&workers[i], NULL, work, NULL) == 0);
    for (int i = 0; i < WORKERS; i++)
        CHECK(pthread_join(workers[i], NULL) == 0);
    return 0;
}
