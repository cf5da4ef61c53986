/* A producer posts a semaphore, a consumer waits for it.
 *
 *   producer   fill_slot 40, post | ...                  20 slots
 *   main       wait ... | drain_slot 10 | wait ...
 *
 * Critical path (CPU): 20 x 40 + 10 = 810 ms: fill_slot 98.8 %, drain_slot 1.2 %.
 * CPU time: 1000 ms: fill_slot 80 %, drain_slot 20 %.
 * main is blocked 40 + 19 x 30 = 610 ms: cause `semaphore`, suffered in await_slot, ended by the producer.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <semaphore.h>
#include "work.h"

static sem_t filled;

NOINLINE void fill_slot(void) { BURN(40); }
NOINLINE void drain_slot(void) { BURN(10); }
NOINLINE void await_slot(void) { CHECK(sem_wait(&filled) == 0); }

static void *producer(void *unused)
{
    pthread_setname_np(pthread_self(), "producer");
    for (int i = 0; i < 20; i++) {
        fill_slot();
        CHECK(sem_post(&filled) == 0);
    }
    return unused;
}

int main(void)
{
    pthread_t thread;
    CHECK(sem_init(&filled, 0, 0) == 0);
    CHECK(pthread_create(&thread, NULL, producer, NULL) == 0);
    for (int i = 0; i < 20; i++) {
        await_slot();
        drain_slot();
    }
    CHECK(pthread_join(thread, NULL) == 0);
    return 0;
}
