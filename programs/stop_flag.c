// Two threads work under a lock that a third one holds for 12 of each 40 ms, until it is told to stop and joined.
//
//   worker     handle lock handle lock ...                end
//   worker     handle lock handle lock ...                end
//   refresher  [lock sleep 12] sleep 28 [lock sleep 12] sleep 28 ...... end
//   main       join, join,                                stop = 1, join
//
// How often the refresher sleeps follows from how long the workers work. With an argument there is no refresher: the time that
// its lock costs. Its last sleep, up to 28 ms, is all that its own end costs.

#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <time.h>

enum { ITEMS = 800, WORK = 300000 };

static pthread_mutex_t table_lock = PTHREAD_MUTEX_INITIALIZER;
static atomic_int stop;
static volatile uint64_t sink;

static void pause_for(long milliseconds)
{
    struct timespec time = {0, milliseconds * 1000000};
    nanosleep(&time, NULL);
}

__attribute__((noinline)) static void handle(int work)
{
    uint64_t value = 1;
    for (int i = 0; i < work; i++) {
        value = value * 6364136223846793005u + 1;
    }
    sink = value;
}

__attribute__((noinline)) static void look_up(void)
{
    pthread_mutex_lock(&table_lock);
    handle(WORK / 20);
    pthread_mutex_unlock(&table_lock);
}

static void *worker(void *unused)
{
    for (int i = 0; i < ITEMS; i++) {
        look_up();
        handle(WORK);
        struct timespec time = {0, 200000};
        nanosleep(&time, NULL);
    }
    return unused;
}

__attribute__((noinline)) static void refresh(void)
{
    pthread_mutex_lock(&table_lock);
    pause_for(12);
    pthread_mutex_unlock(&table_lock);
    sink++;
}

static void *refresher(void *unused)
{
    while (!atomic_load(&stop)) {
        refresh();
        pause_for(28);
    }
    return unused;
}

int main(int argc, char **argv)
{
    (void)argv;
    pthread_t workers[2], other;
    for (int i = 0; i < 2; i++) {
        pthread_create(&workers[i], NULL, worker, NULL);
    }
    if (argc < 2) {
        pthread_create(&other, NULL, refresher, NULL);
    }
    for (int i = 0; i < 2; i++) {
        pthread_join(workers[i], NULL);
    }
    atomic_store(&stop, 1);
    if (argc < 2) {
        pthread_join(other, NULL);
    }
    printf("%d\n", 2 * ITEMS);
    return 0;
}
