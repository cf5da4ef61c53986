/* `last` waits for `middle`, which waits for `first`: the root of last's wait is the work of first.
 *
 *   first   start_work 10 | root_work 60 [signal]      |                      10 rounds, all begin together
 *   middle  start_work 10 | wait 60 ............ | finish_work 20 [signal]
 *   last    start_work 10 | wait 60 + 20 .........................  |
 *
 * Critical path (CPU): 10 x (10 + 60 + 20) = 900 ms: root_work 66.7 %, finish_work 22.2 %, start_work 11.1 %.
 * CPU time: 10 x (30 + 60 + 20) = 1100 ms.
 * last waits 800 ms in wait_for. Direct: 600 ms that middle waited, 200 ms of finish_work. To the roots: 600 ms of root_work
 * and 200 ms of finish_work, in threads first and middle.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include "work.h"

enum { ROUNDS = 10 };

struct event {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    int count;
};

static struct event root_done = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, 0};
static struct event all_done = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, 0};
static struct event begun = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, 0};

NOINLINE void start_work(void) { BURN(10); }
NOINLINE void root_work(void) { BURN(60); }
NOINLINE void finish_work(void) { BURN(20); }

NOINLINE void wait_for(struct event *event, int count)
{
    pthread_mutex_lock(&event->lock);
    while (event->count < count)
        pthread_cond_wait(&event->changed, &event->lock);
    pthread_mutex_unlock(&event->lock);
}

NOINLINE void announce(struct event *event)
{
    pthread_mutex_lock(&event->lock);
    event->count++;
    pthread_cond_broadcast(&event->changed);
    pthread_mutex_unlock(&event->lock);
}

static void *first(void *unused)
{
    pthread_setname_np(pthread_self(), "first");
    for (int round = 0; round < ROUNDS; round++) {
        wait_for(&begun, round);
        start_work();
        root_work();
        announce(&root_done);
    }
    return unused;
}

static void *middle(void *unused)
{
    pthread_setname_np(pthread_self(), "middle");
    for (int round = 0; round < ROUNDS; round++) {
        start_work();
        wait_for(&root_done, round + 1);
        finish_work();
        announce(&all_done);
    }
    return unused;
}

static void *last(void *unused)
{
    pthread_setname_np(pthread_self(), "last");
    for (int round = 0; round < ROUNDS; round++) {
        start_work();
        wait_for(&all_done, round + 1);
        announce(&begun);
    }
    return unused;
}

int main(void)
{
    void *(*const starts[])(void *) = {first, middle, last};
    pthread_t threads[3];
    for (int i = 0; i < 3; i++)
        CHECK(pthread_create(&threads[i], NULL, starts[i], NULL) == 0);
    for (int i = 0; i < 3; i++)
        CHECK(pthread_join(threads[i], NULL) == 0);
    return 0;
}
