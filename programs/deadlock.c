/* Threads that wait for each other for ever, in the way that the first argument names:
 *
 *   two        first  [accounts  wants journal        journal -> accounts -> journal: a cycle of two
 *              second [journal   wants accounts
 *   three      one [a wants b, two [b wants c, three [c wants a: a cycle of three
 *   self       main [accounts  wants accounts again
 *   signal     a thread waits for a condition that nobody signals: no cycle
 *   held       a thread waits for a mutex whose holder sleeps: no cycle
 *
 * Each thread works 10 ms before it wants its second lock, and all of them have their first lock by then. The program
 * never ends by itself. It writes a line when all threads are about to wait.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <string.h>
#include <unistd.h>
#include "work.h"

static pthread_mutex_t accounts = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t journal = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t index_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t filled = PTHREAD_COND_INITIALIZER;
static pthread_barrier_t all_have_one;

struct pair {
    pthread_mutex_t *holds, *wants;
};

NOINLINE void take_second(pthread_mutex_t *second)
{
    pthread_mutex_lock(second);
    pthread_mutex_unlock(second);
    __asm__ volatile("");
}

NOINLINE void transfer(const struct pair *pair)
{
    pthread_mutex_lock(pair->holds);
    pthread_barrier_wait(&all_have_one);
    BURN(10);
    take_second(pair->wants);
    pthread_mutex_unlock(pair->holds);
}

static void *worker(void *pair)
{
    transfer(pair);
    return NULL;
}

static void *holder(void *unused)
{
    pthread_mutex_lock(&accounts);
    pthread_barrier_wait(&all_have_one);
    for (;;)
        pause();
    return unused;
}

static void *waits_for_filled(void *unused)
{
    pthread_mutex_lock(&accounts);
    pthread_barrier_wait(&all_have_one);
    for (;;)
        pthread_cond_wait(&filled, &accounts);
    return unused;
}

NOINLINE void cycle(struct pair *pairs, int count)
{
    static const char *const names[] = { "first", "second", "third" };
    pthread_t threads[3];
    CHECK(pthread_barrier_init(&all_have_one, NULL, (unsigned)count) == 0);
    for (int i = 0; i < count; i++) {
        CHECK(pthread_create(&threads[i], NULL, worker, &pairs[i]) == 0);
        CHECK(pthread_setname_np(threads[i], names[i]) == 0);
    }
    for (int i = 0; i < count; i++)
        CHECK(pthread_join(threads[i], NULL) == 0);
}

NOINLINE void with(void *(*routine)(void *), const char *name)
{
    pthread_t thread;
    CHECK(pthread_barrier_init(&all_have_one, NULL, 2) == 0);
    CHECK(pthread_create(&thread, NULL, routine, NULL) == 0);
    CHECK(pthread_setname_np(thread, name) == 0);
    pthread_barrier_wait(&all_have_one);
    BURN(10);
    if (routine == holder)
        take_second(&accounts);
    CHECK(pthread_join(thread, NULL) == 0);
}

int main(int count, char **arguments)
{
    const char *way = count > 1 ? arguments[1] : "two";
    puts("about to wait");
    fflush(stdout);
    BURN(20);
    if (strcmp(way, "two") == 0)
        cycle((struct pair[]){ { &accounts, &journal }, { &journal, &accounts } }, 2);
    else if (strcmp(way, "three") == 0)
        cycle((struct pair[]){ { &accounts, &journal }, { &journal, &index_lock }, { &index_lock, &accounts } }, 3);
    else if (strcmp(way, "self") == 0) {
        pthread_mutex_lock(&accounts);
        BURN(10);
        take_second(&accounts);
    } else if (strcmp(way, "signal") == 0)
        with(waits_for_filled, "waiter");
    else if (strcmp(way, "held") == 0)
        with(holder, "holder");
    else
        return 2;
    return 0;
}
