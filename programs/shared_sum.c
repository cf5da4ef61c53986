// Threads add to a sum under a lock, meet at a barrier, look at the sum, and meet again: a causality graph with a lock and a
// barrier that can be derived by hand.
//
// T threads, K rounds. The sum's line in a round: each thread adds (reads and writes) once, in any order.
//
//   add   In the first round T first references. In a later one all have a copy, from looking or from having added last: the
//         first thread that adds asks for nothing, each later one asks for what those before it wrote, learnt by the lock:
//         T - 1 requests, with 1 + 2 + ... + (T - 1) writes behind them.
//   look  All but the thread that added last ask for what was added after them, learnt by the barrier: T - 1 requests, with
//         as many writes behind them.
//
// So there are two edges: add -> add through the lock, (K - 1)(T - 1) requests with (K - 1) T (T - 1) / 2 writes, and
// add -> look through the first barrier, K (T - 1) requests with K T (T - 1) / 2 writes.
#include <pthread.h>
#include <stdlib.h>

static _Alignas(64) long sum;
static _Alignas(64) pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static _Alignas(64) pthread_barrier_t meeting;
static _Alignas(64) long rounds;

static void add(long value) {
    pthread_mutex_lock(&lock);
    sum += value;
    pthread_mutex_unlock(&lock);
}

static long look(void) { return sum; }

static void *work(void *number) {
    long mine = rounds, seen = 0;
    for (long round = 0; round < mine; round++) {
        add((long)number);
        pthread_barrier_wait(&meeting);
        seen += look();
        pthread_barrier_wait(&meeting);
    }
    return (void *)seen;
}

int main(int argc, char **argv) {
    long threads = argc > 1 ? atol(argv[1]) : 2;
    rounds = argc > 2 ? atol(argv[2]) : 50;
    pthread_barrier_init(&meeting, NULL, threads);
    pthread_t ids[64];
    for (long i = 0; i < threads; i++)
        pthread_create(&ids[i], NULL, work, (void *)i);
    for (long i = 0; i < threads; i++)
        pthread_join(ids[i], NULL);
    return 0;
}
