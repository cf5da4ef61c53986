/* Threads wait busily with a counter, as redis' threads for io do: a bounded number of looks, then the next such turn.
 *
 *   main      produce 600                               | use_product 150
 *   waiter    await_count 600 (spinning), by a loop over a counter
 *   poller    await_calls 600 (spinning), by a function that is called and only loads
 *
 * CPU time: 600 + 150 + 2 × what the waiters get. Useful: produce 80 %, use_product 20 %; the waiters nothing.
 * Critical path by CPU: produce 80 %, use_product 20 %.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdatomic.h>
#include "work.h"

static atomic_ulong pending[2] = {0, 0};

NOINLINE void produce(void) { BURN(600); }
NOINLINE void use_product(void) { BURN(150); }

NOINLINE void await_count(void)
{
    for (;;) {
        for (int look = 0; look < 1000000; look++)
            if (atomic_load_explicit(&pending[0], memory_order_acquire) != 0)
                return;
    }
}

NOINLINE static unsigned long pending_of(int id)
{
    return atomic_load_explicit(&pending[id], memory_order_acquire);
}

NOINLINE void await_calls(int id)
{
    for (;;) {
        for (int look = 0; look < 1000000; look++)
            if (pending_of(id) != 0)
                return;
    }
}

static void *waiter(void *unused)
{
    pthread_setname_np(pthread_self(), "waiter");
    await_count();
    return unused;
}

static void *poller(void *unused)
{
    pthread_setname_np(pthread_self(), "poller");
    await_calls(1);
    return unused;
}

int main(void)
{
    pthread_t threads[2];
    CHECK(pthread_create(&threads[0], NULL, waiter, NULL) == 0);
    CHECK(pthread_create(&threads[1], NULL, poller, NULL) == 0);
    produce();
    atomic_store_explicit(&pending[0], 1, memory_order_release);
    atomic_store_explicit(&pending[1], 1, memory_order_release);
    use_product();
    CHECK(pthread_join(threads[0], NULL) == 0);
    CHECK(pthread_join(threads[1], NULL) == 0);
    return 0;
}
