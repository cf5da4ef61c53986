/* A lock that some thread holds nearly all the time: its holds follow each other, and their sum limits the run.
 *
 *   left    20 x (lock A 10 unlock | U 2)
 *   right   20 x (lock B 9 unlock | V 3)
 *
 * Critical path (CPU): the holds, 380 ms, and at most the U or V of one thread beside them. Without A the right thread alone
 * counts: 20 x (9 + 3) = 240; without B the left one, 20 x (10 + 2) = 240. Without U the holds are still 380 ms.
 * The amounts differ, as compilers merge procedures that are alike.
 *
 * So it is in the recorded order. Executed anew without U (-DSCALED=\"U\" -DFACTOR=0) the left thread has the lock again before the right one is awake:
 * its 200 ms of holds come first, and then the right one's 240: the run gets longer. Likewise without V: 180, then 240.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include "work.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

NOINLINE void A(void) { BURN(10); }
NOINLINE void B(void) { BURN(9); }
NOINLINE void U(void) { BURN(2); }
NOINLINE void V(void) { BURN(3); }

static void *left(void *unused)
{
    for (int piece = 0; piece < 20; piece++) {
        CHECK(pthread_mutex_lock(&lock) == 0);
        A();
        CHECK(pthread_mutex_unlock(&lock) == 0);
        U();
    }
    return unused;
}

static void *right(void *unused)
{
    for (int piece = 0; piece < 20; piece++) {
        CHECK(pthread_mutex_lock(&lock) == 0);
        B();
        CHECK(pthread_mutex_unlock(&lock) == 0);
        V();
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
