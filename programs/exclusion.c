/* Two threads with work of their own that take one lock for moments all the while: exclusion is not order.
 *
 *   left    60 x (A 5 | lock H 0.2 unlock) | X 150
 *   right   50 x (B 5 | lock H 0.2 unlock)
 *
 * Critical path (CPU): left, 60 x 5.2 + 150 = 462 ms. Without A the left thread has 162 and the right one 260 ms: the run takes
 * 260, A gains 202 (and the holds, 22 ms, limit nothing). An arc at each hand-off, in the order of the recorded run, would
 * let the left thread wait for the right one's last holds before X: 260 + 150 = 410, A gains 52.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include "work.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

NOINLINE void A(void) { BURN(5); }
NOINLINE void B(void) { BURN(5); }
NOINLINE void H(void) { BURN(0.2); }
NOINLINE void X(void) { BURN(150); }

static void hold(void)
{
    CHECK(pthread_mutex_lock(&lock) == 0);
    H();
    CHECK(pthread_mutex_unlock(&lock) == 0);
}

static void *left(void *unused)
{
    for (int piece = 0; piece < 60; piece++) {
        A();
        hold();
    }
    X();
    return unused;
}

static void *right(void *unused)
{
    for (int piece = 0; piece < 50; piece++) {
        B();
        hold();
    }
    return unused;
}

int main(void)
{
    pthread_t threads[2];
    CHECK(pthread_create(&threads[0], NULL, left, NULL) == 0);
    CHECK(pthread_create(&threads[1], NULL, right, NULL) == 0);
    for (int i = 0; i < 2; i++)
        CHECK(pthread_join(threads[i], NULL) == 0);
    return 0;
}
