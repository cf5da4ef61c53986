// Memory that threads have one after the other.
//
// `own T`: each of T threads allocates 64 bytes, works on it, and frees it. Nothing is shared, though later threads get the memory
// and the stacks of earlier ones. `handed T`: the main thread allocates and writes 64 bytes T times, and hands them each time to a new thread that reads
// and frees it: each of these asks for it once.
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum { WORDS = 8 };

static void __attribute__((noinline)) fill(volatile long *line) {
    for (int round = 0; round < 500; round++)
        line[round % WORDS] += round;
}

static long __attribute__((noinline)) take(const volatile long *line) { return line[0]; }

static void *own(void *unused) {
    long *line = malloc(64);
    fill(line);
    free(line);
    return unused;
}

static void *handed(void *line) {
    long first = take(line);
    free(line);
    return (void *)(first * 0);
}

int main(int count, char **arguments) {
    int threads = count > 2 ? atoi(arguments[2]) : 8;
    if (count > 1 && strcmp(arguments[1], "handed") == 0) {
        for (int thread = 0; thread < threads; thread++) {
            pthread_t one;
            long *line = malloc(64);
            fill(line);
            pthread_create(&one, NULL, handed, line);
            pthread_join(one, NULL);
        }
        return 0;
    }
    pthread_t all[threads];
    for (int thread = 0; thread < threads; thread++)
        pthread_create(&all[thread], NULL, own, NULL);
    for (int thread = 0; thread < threads; thread++)
        pthread_join(all[thread], NULL);
    return 0;
}
