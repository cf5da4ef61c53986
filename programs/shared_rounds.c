// Threads meet at a barrier after they have written, and after they have read: a broadcast, or an exchange of neighbours.
//
// T threads, K rounds. `broadcast`: thread 0 writes a line, all others read it: each reader's first reference is cold, then
// there is a transfer for each reader and round: (T - 1)(K - 1). `neighbours`: each thread writes a line of its own and
// reads those of the threads before and after it: 2(T - 1) reads of a round, 2(T - 1)(K - 1) transfers.
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

static struct line {
    _Alignas(64) long value;
} lines[65];
static _Alignas(64) pthread_barrier_t barrier;
static _Alignas(64) long rounds;
static long threads;
static int is_broadcast;

static void put(struct line *line, long value) { line->value = value; }

static long take(struct line *line) { return line->value; }

static void *work(void *number) {
    long own = (long)number, all = threads, count = rounds, sum = 0;
    int broadcasts = is_broadcast;
    for (long round = 0; round < count; round++) {
        if (own == 0 || !broadcasts)
            put(&lines[own], round);
        pthread_barrier_wait(&barrier);
        if (broadcasts && own > 0)
            sum += take(&lines[0]);
        if (!broadcasts && own > 0)
            sum += take(&lines[own - 1]);
        if (!broadcasts && own + 1 < all)
            sum += take(&lines[own + 1]);
        pthread_barrier_wait(&barrier);
    }
    return (void *)sum;
}

int main(int argc, char **argv) {
    is_broadcast = argc > 1 && strcmp(argv[1], "broadcast") == 0;
    threads = argc > 2 ? atol(argv[2]) : 2;
    rounds = argc > 3 ? atol(argv[3]) : 50;
    pthread_barrier_init(&barrier, NULL, threads);
    pthread_t ids[64];
    for (long i = 0; i < threads; i++)
        pthread_create(&ids[i], NULL, work, (void *)i);
    for (long i = 0; i < threads; i++)
        pthread_join(ids[i], NULL);
    return 0;
}
