/* Five stages, each a thread, with a queue of two places between two of them.
 *
 *   read_block 3 → split_block 2 → compress_block 9 → check_block 4 → write_block 5          30 blocks
 *
 * All work is 30 x 23 = 690 ms, 345 on two processors; the slowest stage has 30 x 9 = 270. So the processors limit it: each stage
 * is worth its share of the CPU time, until the slowest one that is left is the limit. Without compress_block 30 x 14 / 2 = 210.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include "work.h"

enum { BLOCKS = 30, STAGES = 5, PLACES = 2 };

struct queue {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    int filled;
};

static struct queue queues[STAGES - 1];

NOINLINE void read_block(void) { BURN(3); }
NOINLINE void split_block(void) { BURN(2); }
NOINLINE void compress_block(void) { BURN(9); }
NOINLINE void check_block(void) { BURN(4); }
NOINLINE void write_block(void) { BURN(5); }

static void (*const stages[STAGES])(void) = {read_block, split_block, compress_block, check_block, write_block};

NOINLINE void put_block(struct queue *queue)
{
    CHECK(pthread_mutex_lock(&queue->lock) == 0);
    while (queue->filled == PLACES)
        CHECK(pthread_cond_wait(&queue->changed, &queue->lock) == 0);
    queue->filled++;
    CHECK(pthread_cond_signal(&queue->changed) == 0);
    CHECK(pthread_mutex_unlock(&queue->lock) == 0);
}

NOINLINE void take_block(struct queue *queue)
{
    CHECK(pthread_mutex_lock(&queue->lock) == 0);
    while (!queue->filled)
        CHECK(pthread_cond_wait(&queue->changed, &queue->lock) == 0);
    queue->filled--;
    CHECK(pthread_cond_signal(&queue->changed) == 0);
    CHECK(pthread_mutex_unlock(&queue->lock) == 0);
}

static void *stage(void *index)
{
    int number = (int)(long)index;
    for (int block = 0; block < BLOCKS; block++) {
        if (number > 0)
            take_block(&queues[number - 1]);
        stages[number]();
        if (number < STAGES - 1)
            put_block(&queues[number]);
    }
    return NULL;
}

int main(void)
{
    pthread_t threads[STAGES];
    for (int i = 0; i < STAGES - 1; i++) {
        CHECK(pthread_mutex_init(&queues[i].lock, NULL) == 0);
        CHECK(pthread_cond_init(&queues[i].changed, NULL) == 0);
    }
    for (long i = 0; i < STAGES; i++)
        CHECK(pthread_create(&threads[i], NULL, stage, (void *)i) == 0);
    for (int i = 0; i < STAGES; i++)
        CHECK(pthread_join(threads[i], NULL) == 0);
    return 0;
}
