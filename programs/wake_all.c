/* Threads take turns, and who is done wakes all others, for one of them can go on.
 *
 *   T1  work | all! ..........................
 *   T2  ...........| look | work | all! ......
 *   T3  ...........| look |..........| look |.      and so on: 14 of 16 look in vain each time
 *
 * With an argument each thread has a condition of its own, and only the next one is woken. Each works a third of the run then.
 */
#include <pthread.h>
#include "work.h"

enum { THREADS = 16, TURNS = 400 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed[THREADS];
static int turn, is_one_woken;

NOINLINE void work(void) { BURN(0.02); }

static void *take_turns(void *of)
{
    int self = (int)(long)of;
    pthread_cond_t *own = &changed[is_one_woken ? self : 0];
    for (int round = 0; round < TURNS; round++) {
        pthread_mutex_lock(&lock);
        while (turn != self)
            pthread_cond_wait(own, &lock);
        work();
        turn = (turn + 1) % THREADS;
        if (is_one_woken)
            pthread_cond_signal(&changed[turn]);
        else
            pthread_cond_broadcast(&changed[0]);
        pthread_mutex_unlock(&lock);
    }
    return NULL;
}

int main(int argc, char **argv)
{
    pthread_t threads[THREADS];
    is_one_woken = argc > 1 && argv[1][0] != 0;
    for (int i = 0; i < THREADS; i++)
        CHECK(pthread_cond_init(&changed[i], NULL) == 0);
    for (long i = 0; i < THREADS; i++)
        CHECK(pthread_create(&threads[i], NULL, take_turns, (void *)i) == 0);
    for (int i = 0; i < THREADS; i++)
        CHECK(pthread_join(threads[i], NULL) == 0);
    return 0;
}
