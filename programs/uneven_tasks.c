/* One large task and twenty small ones, which two workers take from a queue.
 *
 *   main       wait 20 | put 21 tasks, close | join
 *   worker 1   take | solve_large 400 ........................ | take nothing
 *   worker 2   take | solve_small 20 | take | solve_small 20 ...| take nothing
 *
 * On two processors both workers are busy for 400 ms. Without solve_large they share the small tasks: 200 ms, since a task goes to whoever
 * is free. Without solve_small 400 ms are left. The queue is a mutex and a condition, with -DSEMAPHORE a mutex and a semaphore.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <semaphore.h>
#include <unistd.h>
#include "work.h"

enum { WORKERS = 2, TASKS = 21 };

static pthread_mutex_t tasks_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t task_made = PTHREAD_COND_INITIALIZER;
static sem_t tasks_left;
static int made, taken, closed;

NOINLINE void solve_large(void) { BURN(400); }
NOINLINE void solve_small(void) { BURN(20); }

NOINLINE void put_task(int last)
{
    CHECK(pthread_mutex_lock(&tasks_lock) == 0);
    made += !last;
    closed = last;
#ifndef SEMAPHORE
    CHECK((last ? pthread_cond_broadcast(&task_made) : pthread_cond_signal(&task_made)) == 0);
#endif
    CHECK(pthread_mutex_unlock(&tasks_lock) == 0);
#ifdef SEMAPHORE
    for (int post = 0; post < (last ? WORKERS : 1); post++)
        CHECK(sem_post(&tasks_left) == 0);
#endif
}

/* The number of a task, or -1 when all are taken. */
NOINLINE int take_task(void)
{
#ifdef SEMAPHORE
    CHECK(sem_wait(&tasks_left) == 0);
#endif
    CHECK(pthread_mutex_lock(&tasks_lock) == 0);
#ifndef SEMAPHORE
    while (taken == made && !closed)
        CHECK(pthread_cond_wait(&task_made, &tasks_lock) == 0);
#endif
    int task = taken < made ? taken++ : -1;
    CHECK(pthread_mutex_unlock(&tasks_lock) == 0);
    return task;
}

static void *worker(void *unused)
{
    for (int task; (task = take_task()) >= 0;) {
        if (task == 0)
            solve_large();
        else
            solve_small();
    }
    return unused;
}

int main(void)
{
    pthread_t threads[WORKERS];
    CHECK(sem_init(&tasks_left, 0, 0) == 0);
    for (int i = 0; i < WORKERS; i++)
        CHECK(pthread_create(&threads[i], NULL, worker, NULL) == 0);
    usleep(20000);
    for (int task = 0; task < TASKS; task++)
        put_task(0);
    put_task(1);
    for (int i = 0; i < WORKERS; i++)
        CHECK(pthread_join(threads[i], NULL) == 0);
    return 0;
}
