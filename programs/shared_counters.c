// Each thread counts in an element of its own of one array: no datum is shared, but the cache line is.
//
// T threads (8 at most), K rounds each, taking turns by a lock: as in shared_counter.c there are T * K - T transfers, and
// all of them are false sharing. With the third argument `padded` the elements lie on lines of their own: no transfers.
// With `free` as the third argument nobody takes turns; the elements share the line, and nothing orders the threads.
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

static _Alignas(64) long counters[64];
static _Alignas(64) pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static _Alignas(64) long rounds;
static long distance = 1;
static int takes_turns = 1;

static void count(long *counter) { ++*counter; }

static void *work(void *number) {
    long mine = rounds;
    int locks = takes_turns;
    long *counter = &counters[(long)number * distance];
    for (long round = 0; round < mine; round++) {
        if (locks)
            pthread_mutex_lock(&lock);
        count(counter);
        if (locks)
            pthread_mutex_unlock(&lock);
    }
    return NULL;
}

int main(int argc, char **argv) {
    long threads = argc > 1 ? atol(argv[1]) : 2;
    rounds = argc > 2 ? atol(argv[2]) : 100;
    if (argc > 3 && strcmp(argv[3], "padded") == 0)
        distance = 8;
    if (argc > 3 && strcmp(argv[3], "free") == 0)
        takes_turns = 0;
    pthread_t ids[8];
    for (long i = 0; i < threads; i++)
        pthread_create(&ids[i], NULL, work, (void *)i);
    for (long i = 0; i < threads; i++)
        pthread_join(ids[i], NULL);
    return 0;
}
