/* Seconds of a fixed amount of work by threads that contend for one lock: contended [percent inside [threads]]. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static volatile unsigned long total;
static int rounds, inside, outside;

static unsigned long work(int steps) {
    unsigned long value = 1;
    for (int i = 0; i < steps; i++) {
        value = value * 6364136223846793005UL + 1442695040888963407UL;
        __asm__ volatile("" : "+r"(value));
    }
    return value;
}

static void *run(void *argument) {
    for (int i = 0; i < rounds; i++) {
        unsigned long value = work(outside);
        pthread_mutex_lock(&mutex);
        total += value + work(inside);
        pthread_mutex_unlock(&mutex);
    }
    return argument;
}

int main(int count, char **arguments) {
    enum { STEPS = 20000, ROUNDS = 12000 };
    int percent = count > 1 ? atoi(arguments[1]) : 30, number = count > 2 ? atoi(arguments[2]) : 4;
    rounds = ROUNDS / number;
    inside = STEPS * percent / 100;
    outside = STEPS - inside;
    pthread_t threads[64];
    struct timespec begin, end;
    clock_gettime(CLOCK_MONOTONIC, &begin);
    for (int i = 0; i < number; i++) pthread_create(&threads[i], NULL, run, NULL);
    for (int i = 0; i < number; i++) pthread_join(threads[i], NULL);
    clock_gettime(CLOCK_MONOTONIC, &end);
    printf("seconds %.6f\n", (end.tv_sec - begin.tv_sec) + (end.tv_nsec - begin.tv_nsec) / 1e9);
    return 0;
}
