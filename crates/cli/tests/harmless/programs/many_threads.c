/* 10,000 threads, one after another, and as many at once as the machine lets a program have, up to 10,000. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <limits.h>
#include <unistd.h>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
static int is_over, count;

static void *add(void *argument) {
    pthread_mutex_lock(&mutex);
    count++;
    pthread_mutex_unlock(&mutex);
    return argument;
}

static void *stay(void *argument) {
    pthread_mutex_lock(&mutex);
    count++;
    while (!is_over) pthread_cond_wait(&condition, &mutex);
    pthread_mutex_unlock(&mutex);
    return argument;
}

int main(int arguments, char **values) {
    static pthread_t threads[10000];
    int wanted = arguments > 1 ? atoi(values[1]) : 10000;
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, 16384);
    int failed = 0;
    for (int i = 0; i < wanted; i++) {
        failed += pthread_create(&threads[0], &attributes, add, NULL) != 0;
        pthread_join(threads[0], NULL);
    }
    printf("%d joined, %d failed\n", count, failed);
    count = 0;
    int made = 0;
    while (made < wanted && pthread_create(&threads[made], &attributes, stay, NULL) == 0) made++;
    while (pthread_mutex_lock(&mutex), count < made) {
        pthread_mutex_unlock(&mutex);
        usleep(1000);
    }
    is_over = 1;
    pthread_cond_broadcast(&condition);
    pthread_mutex_unlock(&mutex);
    for (int i = 0; i < made; i++)
        if (pthread_join(threads[i], NULL)) return 1;
    printf("%d at once\n", count);
    return 8;
}
