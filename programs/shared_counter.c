// Threads take turns with one counter under a lock: the counter's cache line migrates.
//
// T threads, K rounds each. In every round a thread takes the lock, reads and writes the counter, and gives the lock back.
// By virtual time each asks while the others hold or wait, so they take turns: T * K accesses to the line by another
// thread than before. The first of each thread is cold: T * K - T requests are transfers, all of them migratory.
#include <pthread.h>
#include <stdlib.h>

static _Alignas(64) long counter;
static _Alignas(64) pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static long rounds;

static void count(void) {
    pthread_mutex_lock(&lock);
    counter++;
    pthread_mutex_unlock(&lock);
}

static void *work(void *none) {
    long mine = rounds;
    for (long round = 0; round < mine; round++)
        count();
    return none;
}

int main(int argc, char **argv) {
    int threads = argc > 1 ? atoi(argv[1]) : 2;
    rounds = argc > 2 ? atol(argv[2]) : 100;
    pthread_t ids[64];
    for (int i = 0; i < threads; i++)
        pthread_create(&ids[i], NULL, work, NULL);
    for (int i = 0; i < threads; i++)
        pthread_join(ids[i], NULL);
    return 0;
}
