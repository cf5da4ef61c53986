/* Two workers compute items of uneven length and write the results in the items' order: who is early waits for its turn.
 *
 *   worker  compute 14 | [its turn] write_result 1 | compute 3 | ...     80 items, every fourth of 14 ms
 *
 * in_order any: in any order, so that nobody waits.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdlib.h>
#include <stdatomic.h>
#include "work.h"

enum { ITEMS = 80, WORKERS = 2 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t turn = PTHREAD_COND_INITIALIZER;
static atomic_int next_item;
static int next_out, any;

NOINLINE void compute(int item) { BURN(item % 4 ? 3 : 14); }
NOINLINE void write_result(void) { BURN(1); }

static void *worker(void *unused)
{
    for (int i; (i = atomic_fetch_add(&next_item, 1)) < ITEMS; ) {
        compute(i);
        pthread_mutex_lock(&lock);
        while (!any && next_out != i)
            pthread_cond_wait(&turn, &lock);
        write_result();
        next_out++;
        pthread_cond_broadcast(&turn);
        pthread_mutex_unlock(&lock);
    }
    return unused;
}

int main(int argc, char **argv)
{
    pthread_t threads[WORKERS];
    (void)argv;
    any = argc > 1;
    for (int i = 0; i < WORKERS; i++)
        CHECK(pthread_create(&threads[i], NULL, worker, NULL) == 0);
    for (int i = 0; i < WORKERS; i++)
        CHECK(pthread_join(threads[i], NULL) == 0);
    return 0;
}
