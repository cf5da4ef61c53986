/* Threads that share a pool of connections, of which a semaphore counts the free ones.
 *
 *   each of 2   prepare 4 | sem_wait | query 12 | sem_post | ...     25 times
 *
 * With one connection the queries come one after the other: 2 x 25 x 12 + 4 = 604 ms. With two of them (the argument `two`) each thread
 * has its own, and a run on two processors takes 25 x 16 = 400 ms.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <semaphore.h>
#include "work.h"

static sem_t connections;

NOINLINE void prepare(void) { BURN(4); }
NOINLINE void query(void) { BURN(12); }

static void *client(void *unused)
{
    for (int i = 0; i < 25; i++) {
        prepare();
        CHECK(sem_wait(&connections) == 0);
        query();
        CHECK(sem_post(&connections) == 0);
    }
    return unused;
}

int main(int count, char **arguments)
{
    (void)arguments;
    pthread_t threads[2];
    CHECK(sem_init(&connections, 0, count > 1 ? 2 : 1) == 0);
    for (int i = 0; i < 2; i++)
        CHECK(pthread_create(&threads[i], NULL, client, NULL) == 0);
    for (int i = 0; i < 2; i++)
        CHECK(pthread_join(threads[i], NULL) == 0);
    return 0;
}
