// C11's threads: a counter under a mutex, and a table that the first who comes fills.
//
// T threads, K rounds. The counter migrates T * K - T times. All threads read the table's line and meet; then one of them
// fills it and all read it again: T - 1 transfers, which `call_once` orders. `posix`: the same by `pthread_once`.
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <threads.h>

static struct line {
    _Alignas(64) long value;
} counter, table;
static _Alignas(64) mtx_t lock;
static _Alignas(64) once_flag once = ONCE_FLAG_INIT;
static _Alignas(64) pthread_once_t posix_once = PTHREAD_ONCE_INIT;
static _Alignas(64) pthread_barrier_t barrier;
static _Alignas(64) long rounds;
static int is_posix;

static void fill(void) { table.value = 1; }

__attribute__((noinline)) static long look(const volatile long *value) { return *value; }

static int work(void *unused) {
    (void)unused;
    look(&table.value);
    pthread_barrier_wait(&barrier);
    if (is_posix)
        pthread_once(&posix_once, fill);
    else
        call_once(&once, fill);
    long sum = look(&table.value);
    for (long round = 0; round < rounds; round++) {
        mtx_lock(&lock);
        counter.value += sum;
        mtx_unlock(&lock);
    }
    return 0;
}

int main(int argc, char **argv) {
    int count = argc > 1 ? atoi(argv[1]) : 2;
    rounds = argc > 2 ? atol(argv[2]) : 100;
    is_posix = argc > 3 && strcmp(argv[3], "posix") == 0;
    thrd_t threads[64];
    mtx_init(&lock, mtx_plain);
    pthread_barrier_init(&barrier, NULL, count);
    for (int i = 0; i < count; i++)
        thrd_create(&threads[i], work, NULL);
    for (int i = 0; i < count; i++)
        thrd_join(threads[i], NULL);
    return 0;
}
