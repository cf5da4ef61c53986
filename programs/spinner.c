/* A thread busy-waits for a flag while another one works.
 *
 *   main     wait_for_flag 800 (spinning) | use_result 200
 *   worker   compute_result 800, sets flag
 *
 * CPU time: 1800 ms: wait_for_flag 44.4 %, compute_result 44.4 %, use_result 11.1 %.
 * Without spinning: 1000 ms: compute_result 80 %, use_result 20 %, wait_for_flag 0.
 * NPT the same, because a spinning thread is not busy: U = 1 all the time.
 * Nothing blocks, so no dependence of main on worker is seen: the critical path (CPU) is compute_result alone.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdatomic.h>
#include "work.h"

static atomic_int flag;

NOINLINE void compute_result(void) { BURN(800); }
NOINLINE void use_result(void) { BURN(200); }

NOINLINE void wait_for_flag(void)
{
    while (!atomic_load_explicit(&flag, memory_order_acquire))
        __builtin_ia32_pause();
}

static void *worker(void *unused)
{
    pthread_setname_np(pthread_self(), "worker");
    compute_result();
    atomic_store_explicit(&flag, 1, memory_order_release);
    return unused;
}

int main(void)
{
    pthread_t thread;
    CHECK(pthread_create(&thread, NULL, worker, NULL) == 0);
    wait_for_flag();
    use_result();
    CHECK(pthread_join(thread, NULL) == 0);
    return 0;
}
