/* A reader fills a buffer, a writer empties it: with one buffer they work in turns, with more beside each other.
 *
 *   reader  read_block 6 | [wait until it is empty] ...     100 blocks
 *   writer  [wait until it is full] pack_block 5 | ...
 *
 * one_buffer N: N buffers.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdlib.h>
#include "work.h"

enum { ITEMS = 50 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t filled = PTHREAD_COND_INITIALIZER, emptied = PTHREAD_COND_INITIALIZER;
static int full, buffers;

NOINLINE void read_block(void) { BURN(6); }
NOINLINE void pack_block(void) { BURN(5); }

static void *writer(void *unused)
{
    pthread_setname_np(pthread_self(), "writer");
    for (int i = 0; i < ITEMS; i++) {
        pthread_mutex_lock(&lock);
        while (full == 0)
            pthread_cond_wait(&filled, &lock);
        pthread_mutex_unlock(&lock);
        pack_block();
        pthread_mutex_lock(&lock);
        full--;
        pthread_cond_signal(&emptied);
        pthread_mutex_unlock(&lock);
    }
    return unused;
}

int main(int argc, char **argv)
{
    pthread_t thread;
    buffers = argc > 1 ? atoi(argv[1]) : 1;
    CHECK(pthread_create(&thread, NULL, writer, NULL) == 0);
    for (int i = 0; i < ITEMS; i++) {
        pthread_mutex_lock(&lock);
        while (full == buffers)
            pthread_cond_wait(&emptied, &lock);
        pthread_mutex_unlock(&lock);
        read_block();
        pthread_mutex_lock(&lock);
        full++;
        pthread_cond_signal(&filled);
        pthread_mutex_unlock(&lock);
    }
    CHECK(pthread_join(thread, NULL) == 0);
    return 0;
}
