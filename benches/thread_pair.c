/* Microseconds of creating and joining one thread, the best of rounds. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { ROUNDS = 101, PAIRS = 100 };

static void *nothing(void *argument) { return argument; }

static double now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec * 1e6 + time.tv_nsec / 1e3;
}

static int compare(const void *a, const void *b) { return (*(double *)a > *(double *)b) - (*(double *)a < *(double *)b); }

int main(void) {
    double times[ROUNDS];
    for (int round = 0; round < ROUNDS; round++) {
        double begin = now();
        for (int i = 0; i < PAIRS; i++) {
            pthread_t thread;
            if (pthread_create(&thread, NULL, nothing, NULL) || pthread_join(thread, NULL)) return 1;
        }
        times[round] = (now() - begin) / PAIRS;
    }
    qsort(times, ROUNDS, sizeof *times, compare);
    printf("microseconds %.2f\n", times[0]);
    return 0;
}
