/* Six threads factor a matrix whose columns depend on each other, between a serial start and a serial end.
 *
 *   main       read_matrix 60 | order_columns 30 | join ................................. | print_matrix 50
 *   worker k                                     | its columns k, k + 6, ... of 24: update_column 9,
 *                                                |   wait for the column before, scale_column 7, announce,
 *                                                |   lock count_entries 1 unlock
 *
 * The columns are scaled one after the other: 9 + 24 x 7 = 177 ms at least. All work of the workers is 24 x 17 = 408 ms, 204 on
 * two processors. So both limit it, and elapsed is a little more than 60 + 30 + 204 + 50 = 344 ms. Without scale_column it is
 * 60 + 30 + 24 x 10 / 2 + 50 = 260, without update_column the chain is left: 60 + 30 + 24 x 7 + 1 + 50 = 309.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include "work.h"

enum { THREADS = 6, COLUMNS = 24 };

static pthread_mutex_t columns_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t column_done = PTHREAD_COND_INITIALIZER;
static pthread_mutex_t entries_lock = PTHREAD_MUTEX_INITIALIZER;
static int done;

NOINLINE void read_matrix(void) { BURN(60); }
NOINLINE void order_columns(void) { BURN(30); }
NOINLINE void update_column(void) { BURN(9); }
NOINLINE void scale_column(void) { BURN(7); }
NOINLINE void count_entries(void) { BURN(1); }
NOINLINE void print_matrix(void) { BURN(50); }

NOINLINE void wait_for_column(int column)
{
    CHECK(pthread_mutex_lock(&columns_lock) == 0);
    while (done < column)
        CHECK(pthread_cond_wait(&column_done, &columns_lock) == 0);
    CHECK(pthread_mutex_unlock(&columns_lock) == 0);
}

NOINLINE void announce_column(int column)
{
    CHECK(pthread_mutex_lock(&columns_lock) == 0);
    done = column + 1;
    CHECK(pthread_cond_broadcast(&column_done) == 0);
    CHECK(pthread_mutex_unlock(&columns_lock) == 0);
}

static void *worker(void *first)
{
    for (int column = (int)(long)first; column < COLUMNS; column += THREADS) {
        update_column();
        wait_for_column(column);
        scale_column();
        announce_column(column);
        CHECK(pthread_mutex_lock(&entries_lock) == 0);
        count_entries();
        CHECK(pthread_mutex_unlock(&entries_lock) == 0);
    }
    return NULL;
}

int main(void)
{
    read_matrix();
    order_columns();
    pthread_t threads[THREADS];
    for (long i = 0; i < THREADS; i++)
        CHECK(pthread_create(&threads[i], NULL, worker, (void *)i) == 0);
    for (int i = 0; i < THREADS; i++)
        CHECK(pthread_join(threads[i], NULL) == 0);
    print_matrix();
    return 0;
}
