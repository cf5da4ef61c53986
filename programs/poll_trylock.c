/* Threads that try a lock and sleep where it is taken, in place of waiting for it.
 *
 *   thread 1 | prepare | use_device 5 | prepare | try, sleep 6 | try, sleep 6 | use_device 5 | ...
 *   thread 2 | prepare | try, sleep 6 | use_device 5 | prepare | try ...
 *
 * The device is in use nearly all the time: 3 x 10 x 5 ms. What the threads sleep for is that; a thread that gives it back mostly takes it
 * again before another one looks. With an argument they wait for the lock, which saves little; use_device built without its work takes nearly all.
 */
#include <pthread.h>
#include <unistd.h>
#include "work.h"

enum { THREADS = 3, ROUNDS = 10, PREPARE_MS = 1, USE_MS = 5, SLEEP_US = 6000 };

static pthread_mutex_t device_lock = PTHREAD_MUTEX_INITIALIZER;

NOINLINE void prepare(void) { BURN(PREPARE_MS); }
NOINLINE void use_device(void) { BURN(USE_MS); }

NOINLINE void acquire_device(void)
{
    while (pthread_mutex_trylock(&device_lock) != 0)
        usleep(SLEEP_US);
}

static void *work(void *waits)
{
    for (int round = 0; round < ROUNDS; round++) {
        prepare();
        if (waits)
            CHECK(pthread_mutex_lock(&device_lock) == 0);
        else
            acquire_device();
        use_device();
        CHECK(pthread_mutex_unlock(&device_lock) == 0);
    }
    return NULL;
}

int main(int argc, char **argv)
{
    pthread_t threads[THREADS];
    for (int i = 0; i < THREADS; i++)
        CHECK(pthread_create(&threads[i], NULL, work, argc > 1 ? argv : NULL) == 0);
    for (int i = 0; i < THREADS; i++)
        CHECK(pthread_join(threads[i], NULL) == 0);
    return 0;
}
