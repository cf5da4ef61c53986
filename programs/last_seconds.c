/* What goes on at the end of a run, of which only the last part is kept: one thread waits all the time for a mutex.
 *
 *   holder   [lock] early_work 1500 | late_work 1500 [unlock]
 *   waiter   lock .......................................... [update 5]
 *
 * In the last half second: late_work is nearly all of the work and of the critical path, early_work none of it; waiter is
 * blocked by the mutex from the beginning of that part on, and holder ends the wait. Both were created in start_threads.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <semaphore.h>
#include "work.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static sem_t is_locked;

NOINLINE void early_work(void) { BURN(1500); }
NOINLINE void late_work(void) { BURN(1500); }
NOINLINE void update(void) { BURN(5); }

static void *holder(void *unused)
{
    pthread_setname_np(pthread_self(), "holder");
    pthread_mutex_lock(&lock);
    sem_post(&is_locked);
    early_work();
    late_work();
    pthread_mutex_unlock(&lock);
    return unused;
}

static void *waiter(void *unused)
{
    pthread_setname_np(pthread_self(), "waiter");
    sem_wait(&is_locked);
    pthread_mutex_lock(&lock);
    update();
    pthread_mutex_unlock(&lock);
    return unused;
}

NOINLINE void start_threads(pthread_t threads[2])
{
    CHECK(pthread_create(&threads[0], NULL, holder, NULL) == 0);
    CHECK(pthread_create(&threads[1], NULL, waiter, NULL) == 0);
}

int main(void)
{
    pthread_t threads[2];
    CHECK(sem_init(&is_locked, 0, 0) == 0);
    start_threads(threads);
    for (int i = 0; i < 2; i++)
        CHECK(pthread_join(threads[i], NULL) == 0);
    return 0;
}
