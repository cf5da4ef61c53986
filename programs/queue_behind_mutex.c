/* A producer makes ten items, which a consumer takes from a queue behind a mutex; it waits for the first item only.
 *
 *   producer  P 20 put | P 20 put | ... 10 items
 *   consumer  get .....| Q 25 get | Q 25 ... 10 items | D 150
 *
 * Critical path (CPU): P 20, ten times Q 25, D 150 = 420 ms. With Q at a fifth (5 ms) the consumer waits for each item:
 * 10 x 20 + 5 + 150 = 355 ms. Without an arc for each item it would seem to be 20 + 50 + 150 = 220 ms.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include "work.h"

#define ITEMS 10

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t not_empty = PTHREAD_COND_INITIALIZER;
static int queued;

NOINLINE void P(void) { BURN(20); }
NOINLINE void Q(void) { BURN(25); }
NOINLINE void D(void) { BURN(150); }

NOINLINE void put(void)
{
    CHECK(pthread_mutex_lock(&lock) == 0);
    queued++;
    CHECK(pthread_cond_signal(&not_empty) == 0);
    CHECK(pthread_mutex_unlock(&lock) == 0);
}

NOINLINE void get(void)
{
    CHECK(pthread_mutex_lock(&lock) == 0);
    while (queued == 0)
        CHECK(pthread_cond_wait(&not_empty, &lock) == 0);
    queued--;
    CHECK(pthread_mutex_unlock(&lock) == 0);
}

static void *producer(void *unused)
{
    for (int item = 0; item < ITEMS; item++) {
        P();
        put();
    }
    return unused;
}

int main(void)
{
    pthread_t thread;
    CHECK(pthread_create(&thread, NULL, producer, NULL) == 0);
    for (int item = 0; item < ITEMS; item++) {
        get();
        Q();
    }
    D();
    CHECK(pthread_join(thread, NULL) == 0);
    return 0;
}
