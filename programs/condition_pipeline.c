/* Three stages joined by queues of one place each; the middle stage is the slow one.
 *
 *   reader       read_stage 10 per item
 *   transformer  transform_stage 40 per item         25 items
 *   writer       write_stage 15 per item
 *
 * Critical path (CPU): 10 + 25 x 40 + 15 = 1025 ms: transform_stage 97.6 %.
 * CPU time: 25 x 65 = 1625 ms: transform_stage 61.5 %, write_stage 23.1 %, read_stage 15.4 %.
 * reader waits about 30 ms per item for room (in put_item), writer about 25 ms per item for work (in
 * take_item): cause `condition`, ended by thread `transformer`.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include "work.h"

enum { ITEMS = 25 };

struct queue {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    int filled;
};

static struct queue raw = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, 0};
static struct queue done = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, 0};

NOINLINE void read_stage(void) { BURN(10); }
NOINLINE void transform_stage(void) { BURN(40); }
NOINLINE void write_stage(void) { BURN(15); }

NOINLINE void put_item(struct queue *queue)
{
    pthread_mutex_lock(&queue->lock);
    while (queue->filled)
        pthread_cond_wait(&queue->changed, &queue->lock);
    queue->filled = 1;
    pthread_cond_signal(&queue->changed);
    pthread_mutex_unlock(&queue->lock);
}

NOINLINE void take_item(struct queue *queue)
{
    pthread_mutex_lock(&queue->lock);
    while (!queue->filled)
        pthread_cond_wait(&queue->changed, &queue->lock);
    queue->filled = 0;
    pthread_cond_signal(&queue->changed);
    pthread_mutex_unlock(&queue->lock);
}

static void *reader(void *unused)
{
    pthread_setname_np(pthread_self(), "reader");
    for (int i = 0; i < ITEMS; i++) {
        read_stage();
        put_item(&raw);
    }
    return unused;
}

static void *transformer(void *unused)
{
    pthread_setname_np(pthread_self(), "transformer");
    for (int i = 0; i < ITEMS; i++) {
        take_item(&raw);
        transform_stage();
        put_item(&done);
    }
    return unused;
}

static void *writer(void *unused)
{
    pthread_setname_np(pthread_self(), "writer");
    for (int i = 0; i < ITEMS; i++) {
        take_item(&done);
        write_stage();
    }
    return unused;
}

int main(void)
{
    void *(*stages[3])(void *) = {reader, transformer, writer};
    pthread_t threads[3];
    for (int i = 0; i < 3; i++)
        CHECK(pthread_create(&threads[i], NULL, stages[i], NULL) == 0);
    for (int i = 0; i < 3; i++)
        CHECK(pthread_join(threads[i], NULL) == 0);
    return 0;
}
