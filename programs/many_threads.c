/* Very many threads, a wave of them at a time: each works for a moment under one lock and ends.
 *
 *   main     create 500 threads, join them | ...         until there were N
 *   worker   [lock] count [unlock]
 *
 * Argument: N (default 2000). Prints the count, which is N. `cargo xtask soak` watches with it what a recorder keeps of
 * threads that have ended.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include "work.h"

#define WAVE 500

static pthread_mutex_t count_lock = PTHREAD_MUTEX_INITIALIZER;
static long count;

static void *worker(void *unused)
{
    pthread_mutex_lock(&count_lock);
    count++;
    pthread_mutex_unlock(&count_lock);
    return unused;
}

int main(int arguments, char **argument)
{
    long wanted = arguments > 1 ? atol(argument[1]) : 2000;
    for (long made = 0; made < wanted;) {
        pthread_t threads[WAVE];
        int wave = 0;
        for (; wave < WAVE && made < wanted; wave++, made++)
            if (pthread_create(&threads[wave], NULL, worker, NULL) != 0)
                return 1;
        while (wave > 0)
            pthread_join(threads[--wave], NULL);
    }
    printf("%ld\n", count);
    return 0;
}
