/* A consumer that waits for items with a time limit, and a producer that does not signal: each item lies until the limit.
 *
 *   producer  | make 5 | wait until the consumer waits again ............ | make 5 | ...
 *   consumer  | wait ......................... 60 ms, limit! take | use 5 | wait ...
 *
 * Without an argument 8 items take 8 x 65 ms; with one the producer signals, and they take 8 x 10 ms.
 */
#include <errno.h>
#include <pthread.h>
#include "work.h"

enum { ITEMS = 8, WORK_MS = 5, LIMIT_MS = 60 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t filled = PTHREAD_COND_INITIALIZER, asked = PTHREAD_COND_INITIALIZER;
static int items, is_asking;

NOINLINE void make_item(void) { BURN(WORK_MS); }
NOINLINE void use_item(void) { BURN(WORK_MS); }

/* Whether there was one. */
NOINLINE int take_item(void)
{
    struct timespec limit;
    clock_gettime(CLOCK_REALTIME, &limit);
    limit.tv_nsec += LIMIT_MS * 1000000L;
    limit.tv_sec += limit.tv_nsec / 1000000000L;
    limit.tv_nsec %= 1000000000L;
    CHECK(pthread_mutex_lock(&lock) == 0);
    is_asking = 1;
    CHECK(pthread_cond_signal(&asked) == 0);
    int result = pthread_cond_timedwait(&filled, &lock, &limit);
    CHECK(result == 0 || result == ETIMEDOUT);
    int has_item = items > 0;
    if (has_item) {
        items = 0;
        is_asking = 0;
    }
    CHECK(pthread_mutex_unlock(&lock) == 0);
    return has_item;
}

static void *consume(void *unused)
{
    for (int used = 0; used < ITEMS;)
        if (take_item()) {
            use_item();
            used++;
        }
    return unused;
}

int main(int argc, char **argv)
{
    (void)argv;
    pthread_t consumer;
    CHECK(pthread_create(&consumer, NULL, consume, NULL) == 0);
    for (int item = 0; item < ITEMS; item++) {
        CHECK(pthread_mutex_lock(&lock) == 0);
        while (items > 0 || !is_asking)
            CHECK(pthread_cond_wait(&asked, &lock) == 0);
        CHECK(pthread_mutex_unlock(&lock) == 0);
        make_item();
        CHECK(pthread_mutex_lock(&lock) == 0);
        items = 1;
        if (argc > 1)
            CHECK(pthread_cond_signal(&filled) == 0);
        CHECK(pthread_mutex_unlock(&lock) == 0);
    }
    CHECK(pthread_join(consumer, NULL) == 0);
    return 0;
}
