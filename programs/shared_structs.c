// Two threads take turns to update structs of their own, which lie one after the other at a chosen offset in a line.
//
// A struct has 64 bytes, of which the last 40 are updated (five sums, after an id, a pointer and a count). K rounds of each
// thread, by a lock. At the offsets 0 and 48 the updated bytes of the two are on different lines: no transfers. At 16 and 32 a
// line has bytes of both: 2 K - 2 transfers, all of them false sharing.
#include <pthread.h>
#include <stdlib.h>

struct part {
    long id, address, count, sums[5];
};

static _Alignas(64) char memory[256];
static _Alignas(64) pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static _Alignas(64) long rounds;
static _Alignas(64) long offset;

static void update(struct part *part) {
    for (int i = 0; i < 5; i++)
        part->sums[i]++;
}

static void *work(void *number) {
    long mine = rounds;
    struct part *part = (struct part *)(memory + offset) + (long)number;
    for (long round = 0; round < mine; round++) {
        pthread_mutex_lock(&lock);
        update(part);
        pthread_mutex_unlock(&lock);
    }
    return NULL;
}

int main(int argc, char **argv) {
    offset = argc > 1 ? atol(argv[1]) : 16;
    rounds = argc > 2 ? atol(argv[2]) : 100;
    pthread_t ids[2];
    for (long i = 0; i < 2; i++)
        pthread_create(&ids[i], NULL, work, (void *)i);
    for (long i = 0; i < 2; i++)
        pthread_join(ids[i], NULL);
    return 0;
}
