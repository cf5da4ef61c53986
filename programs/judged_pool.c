/* Eight workers that take tasks of two sizes from a queue, and add each result behind a lock.
 *
 *   main          48 x make_task 1.5, put | join .......................... | report_all 30
 *   worker 1..8   take | solve_large 16 (each third) or solve_small 5 | lock add_result ADD_MS unlock | take ...
 *
 * ADD_MS is 2 unless -DADD_MS: all work is 48 x 1.5 + 16 x 16 + 32 x 5 + 48 x 2 = 584 ms, 292 on two processors, then 30. The holds
 * are 96 ms. With -DADD_MS=11 all work is 1016, 508 on two processors, and the holds are 528 ms: the lock limits it. Without the lock
 * (-DNO_LOCK) the processors do. Which worker has which task is a matter of time.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include "work.h"

#ifndef ADD_MS
#define ADD_MS 2
#endif
enum { THREADS = 8, TASKS = 48 };

static pthread_mutex_t tasks_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t task_made = PTHREAD_COND_INITIALIZER;
static pthread_mutex_t results_lock = PTHREAD_MUTEX_INITIALIZER;
static int made, taken;

NOINLINE void make_task(void) { BURN(1.5); }
NOINLINE void solve_small(void) { BURN(5); }
NOINLINE void solve_large(void) { BURN(16); }
NOINLINE void add_result(void) { BURN(ADD_MS); }
NOINLINE void report_all(void) { BURN(30); }

NOINLINE void put_task(void)
{
    CHECK(pthread_mutex_lock(&tasks_lock) == 0);
    made++;
    CHECK(pthread_cond_signal(&task_made) == 0);
    CHECK(pthread_mutex_unlock(&tasks_lock) == 0);
}

/* The number of a task, or -1 when all are taken. */
NOINLINE int take_task(void)
{
    CHECK(pthread_mutex_lock(&tasks_lock) == 0);
    while (taken == made && made < TASKS)
        CHECK(pthread_cond_wait(&task_made, &tasks_lock) == 0);
    int task = taken < made ? taken++ : -1;
    if (made == TASKS)
        CHECK(pthread_cond_broadcast(&task_made) == 0);
    CHECK(pthread_mutex_unlock(&tasks_lock) == 0);
    return task;
}

static void *worker(void *unused)
{
    for (int task; (task = take_task()) >= 0;) {
        if (task % 3 == 0)
            solve_large();
        else
            solve_small();
#ifndef NO_LOCK
        CHECK(pthread_mutex_lock(&results_lock) == 0);
#endif
        add_result();
#ifndef NO_LOCK
        CHECK(pthread_mutex_unlock(&results_lock) == 0);
#endif
    }
    return unused;
}

int main(void)
{
    pthread_t threads[THREADS];
    for (int i = 0; i < THREADS; i++)
        CHECK(pthread_create(&threads[i], NULL, worker, NULL) == 0);
    for (int task = 0; task < TASKS; task++) {
        make_task();
        put_task();
    }
    for (int i = 0; i < THREADS; i++)
        CHECK(pthread_join(threads[i], NULL) == 0);
    report_all();
    return 0;
}
