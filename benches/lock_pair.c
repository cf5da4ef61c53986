/* Nanoseconds of one uncontended lock and unlock, the best of rounds: lock_pair [mutex|rwlock|spin|semaphore|once|c11]. */
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <threads.h>
#include <time.h>

enum { ROUNDS = 101, PAIRS = 200000 };

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_rwlock_t rwlock = PTHREAD_RWLOCK_INITIALIZER;
static pthread_spinlock_t spin;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static sem_t semaphore;
static mtx_t c11;

static void initialise(void) {}
static void use_mutex(void) { pthread_mutex_lock(&mutex), pthread_mutex_unlock(&mutex); }
static void use_rwlock(void) { pthread_rwlock_rdlock(&rwlock), pthread_rwlock_unlock(&rwlock); }
static void use_spin(void) { pthread_spin_lock(&spin), pthread_spin_unlock(&spin); }
static void use_semaphore(void) { sem_post(&semaphore), sem_wait(&semaphore); }
static void use_once(void) { pthread_once(&once, initialise); }
static void use_c11(void) { mtx_lock(&c11), mtx_unlock(&c11); }

static const struct { const char *name; void (*use)(void); } uses[] = {
    {"mutex", use_mutex}, {"rwlock", use_rwlock}, {"spin", use_spin}, {"semaphore", use_semaphore}, {"once", use_once}, {"c11", use_c11},
};

static double now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec * 1e9 + time.tv_nsec;
}

static int compare(const void *a, const void *b) { return (*(double *)a > *(double *)b) - (*(double *)a < *(double *)b); }

int main(int count, char **arguments) {
    void (*use)(void) = use_mutex;
    for (size_t i = 0; i < sizeof uses / sizeof *uses; i++)
        if (count > 1 && strcmp(arguments[1], uses[i].name) == 0) use = uses[i].use;
    pthread_spin_init(&spin, 0);
    sem_init(&semaphore, 0, 0);
    mtx_init(&c11, mtx_plain);
    double times[ROUNDS];
    for (int round = 0; round < ROUNDS; round++) {
        double begin = now();
        for (int i = 0; i < PAIRS; i++) use();
        times[round] = (now() - begin) / PAIRS;
    }
    qsort(times, ROUNDS, sizeof *times, compare);
    printf("nanoseconds %.2f\n", times[0]);
    return 0;
}
