/* Two threads meet at a barrier after every round; one has three times the work of the other.
 *
 *   heavy  compute_share 90 | compute_share 90 | ...      10 rounds
 *   light  compute_share 30 | barrier 60 ..... | ...
 *
 * Critical path (CPU): 10 x 90 = 900 ms, all compute_share, all on thread `heavy`.
 * CPU time: 1200 ms, 75 % on heavy, 25 % on light.
 * NPT with two free processors: per round 30 ms at U = 2 and 60 ms at U = 1; by thread: heavy 15 + 60 = 75
 * (83.3 %), light 15 (16.7 %).
 * light is blocked 10 x 60 = 600 ms, cause `barrier`, ended by heavy.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include "work.h"

static pthread_barrier_t barrier;

NOINLINE void compute_share(double milliseconds) { BURN(milliseconds); }

NOINLINE void rounds_of(double milliseconds)
{
    for (int round = 0; round < 10; round++) {
        compute_share(milliseconds);
        pthread_barrier_wait(&barrier);
    }
}

static void *heavy(void *unused)
{
    pthread_setname_np(pthread_self(), "heavy");
    rounds_of(90);
    return unused;
}

static void *light(void *unused)
{
    pthread_setname_np(pthread_self(), "light");
    rounds_of(30);
    return unused;
}

int main(void)
{
    pthread_t threads[2];
    CHECK(pthread_barrier_init(&barrier, NULL, 2) == 0);
    CHECK(pthread_create(&threads[0], NULL, heavy, NULL) == 0);
    CHECK(pthread_create(&threads[1], NULL, light, NULL) == 0);
    for (int i = 0; i < 2; i++)
        CHECK(pthread_join(threads[i], NULL) == 0);
    return 0;
}
