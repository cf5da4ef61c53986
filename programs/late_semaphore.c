/* A semaphore is posted long before it is waited for.
 *
 *   poster  A 100 | post |
 *   main    B 60 | sleep 500 | wait | D 100 | join
 *
 * Critical path (CPU): A 100, D 100 = 200 ms. Logical zeroing: A 40 (then B's 60 ms are the longest), B 0, D 100.
 * A at 0: 160 ms. Only the agent sees a post for which nobody waits.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <semaphore.h>
#include <unistd.h>
#include "work.h"

static sem_t item;

NOINLINE void A(void) { BURN(100); }
NOINLINE void B(void) { BURN(60); }
NOINLINE void D(void) { BURN(100); }

static void *poster(void *unused)
{
    A();
    CHECK(sem_post(&item) == 0);
    return unused;
}

int main(void)
{
    pthread_t thread;
    CHECK(sem_init(&item, 0, 0) == 0);
    CHECK(pthread_create(&thread, NULL, poster, NULL) == 0);
    B();
    usleep(500000);
    CHECK(sem_wait(&item) == 0);
    D();
    CHECK(pthread_join(thread, NULL) == 0);
    return 0;
}
