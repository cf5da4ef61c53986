/* Three workers take tasks from a list. One that finds none sleeps for a millisecond and looks again, until all tasks are done.
 *
 *   worker 1   large_task 300 ...........................................................
 *   worker 2   small_task 2 | small_task 2 | ...           | look, sleep 1 | look, sleep 1 | ...
 *   worker 3   small_task 2 | small_task 2 | ...           | look, sleep 1 | look, sleep 1 | ...
 *
 * On two processors the run takes 350 ms: 100 ms of small tasks beside the large one, which has half of a processor's time meanwhile or all
 * of one. Without large_task 50 ms are left: what the sleeping workers look for is the end of that task, and nothing shows it.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <unistd.h>
#include "work.h"

enum { WORKERS = 3, TASKS = 51 };

static pthread_mutex_t tasks_lock = PTHREAD_MUTEX_INITIALIZER;
static int taken;
static atomic_int done;

NOINLINE void large_task(void) { BURN(300); }
NOINLINE void small_task(void) { BURN(2); }

/* The number of a task, or -1 when all are taken. */
NOINLINE int take_task(void)
{
    CHECK(pthread_mutex_lock(&tasks_lock) == 0);
    int task = taken < TASKS ? taken++ : -1;
    CHECK(pthread_mutex_unlock(&tasks_lock) == 0);
    return task;
}

static void *worker(void *unused)
{
    while (atomic_load(&done) < TASKS) {
        int task = take_task();
        if (task < 0) {
            usleep(1000);
            continue;
        }
        if (task == 0)
            large_task();
        else
            small_task();
        atomic_fetch_add(&done, 1);
    }
    return unused;
}

int main(void)
{
    pthread_t threads[WORKERS];
    for (int i = 0; i < WORKERS; i++)
        CHECK(pthread_create(&threads[i], NULL, worker, NULL) == 0);
    for (int i = 0; i < WORKERS; i++)
        CHECK(pthread_join(threads[i], NULL) == 0);
    return 0;
}
