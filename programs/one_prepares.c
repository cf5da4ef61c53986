/* One thread is busy, three wait for what it prepares.
 *
 *   main      10 x ( prepare 40 | wait for the three )
 *   share x3  10 x ( wait for main | share 2 )
 *
 * CPU time: prepare 400 ms, share 60 ms. Critical path (CPU): 10 x (40 + 2) = 420 ms, prepare 95 % of it. While prepare
 * runs, no other thread has anything to do. An engineer's answer: prepare is serial, divide it.
 */
#include <pthread.h>
#include <semaphore.h>
#include "work.h"

static sem_t prepared[3], shared;

NOINLINE void prepare(void) { BURN(40); }
NOINLINE void share(void) { BURN(2); }

static void *sharer(void *mine)
{
    for (int round = 0; round < 10; round++) {
        sem_wait(mine);
        share();
        sem_post(&shared);
    }
    return NULL;
}

int main(void)
{
    pthread_t threads[3];
    CHECK(sem_init(&shared, 0, 0) == 0);
    for (int i = 0; i < 3; i++) {
        CHECK(sem_init(&prepared[i], 0, 0) == 0);
        CHECK(pthread_create(&threads[i], NULL, sharer, &prepared[i]) == 0);
    }
    for (int round = 0; round < 10; round++) {
        prepare();
        for (int i = 0; i < 3; i++)
            sem_post(&prepared[i]);
        for (int i = 0; i < 3; i++)
            sem_wait(&shared);
    }
    for (int i = 0; i < 3; i++)
        CHECK(pthread_join(threads[i], NULL) == 0);
    return 0;
}
