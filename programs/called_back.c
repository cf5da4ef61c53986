// A datum that is changed in a procedure which the C library calls, and in one behind a pointer: who calls the places.
//
// T threads (8 at most), K rounds each, taking turns by a lock. In a turn a thread sorts two numbers of its own: `compare`, which
// qsort calls once, counts in `comparisons`. Then it calls one of two procedures by a pointer, `add`, which counts in `sum`. So there
// are T * K - T transfers of each, in `compare` below `sort` and in `add` below `turn`, both below `work`.
#include <pthread.h>
#include <stdlib.h>

static _Alignas(64) long comparisons;
static _Alignas(64) long sum;
static _Alignas(64) pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static _Alignas(64) long rounds;

__attribute__((noinline)) static int compare(const void *one, const void *other) {
    comparisons++;
    return (*(const int *)one > *(const int *)other) - (*(const int *)one < *(const int *)other);
}

__attribute__((noinline)) static void sort(int *numbers) {
    qsort(numbers, 2, sizeof *numbers, compare);
    numbers[0]++;
}

__attribute__((noinline)) static void add(void) { sum++; }

__attribute__((noinline)) static void subtract(void) { sum--; }

static void (*volatile steps[])(void) = {add, subtract};

__attribute__((noinline)) static void turn(int *numbers) {
    sort(numbers);
    steps[0]();
    numbers[1] = 0;
}

static void *work(void *none) {
    int numbers[2] = {2, 1};
    for (long round = 0; round < rounds; round++) {
        pthread_mutex_lock(&lock);
        turn(numbers);
        pthread_mutex_unlock(&lock);
    }
    return none;
}

int main(int argc, char **argv) {
    long threads = argc > 1 ? atol(argv[1]) : 2;
    rounds = argc > 2 ? atol(argv[2]) : 100;
    pthread_t ids[8];
    for (long i = 0; i < threads; i++)
        pthread_create(&ids[i], NULL, work, NULL);
    for (long i = 0; i < threads; i++)
        pthread_join(ids[i], NULL);
    return 0;
}
