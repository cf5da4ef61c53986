/* Two threads meet at a barrier after every round; who has most to do changes from round to round.
 *
 *   one  load_tile 9 .......... | draw_tile 3 | barrier 6 .. | ...      60 rounds
 *   two  draw_tile 3 | barrier 6 ... | load_tile 9 ......... | ...
 *
 * Each thread has as much to do as the other one, and waits for 6 ms in every second round: 60 x 9 = 540 ms, and with -DEVEN, where both
 * do half of both in each round, 60 x 6 = 360.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include "work.h"

enum { ROUNDS = 60 };

static pthread_barrier_t barrier;

NOINLINE void load_tile(double milliseconds) { BURN(milliseconds); }
NOINLINE void draw_tile(double milliseconds) { BURN(milliseconds); }

static void *draw(void *first)
{
    for (int round = 0; round < ROUNDS; round++) {
#ifdef EVEN
        load_tile(4.5);
        draw_tile(1.5);
#else
        if (round % 2 == (first != NULL))
            load_tile(9);
        else
            draw_tile(3);
#endif
        pthread_barrier_wait(&barrier);
    }
    return NULL;
}

int main(void)
{
    pthread_t threads[2];
    CHECK(pthread_barrier_init(&barrier, NULL, 2) == 0);
    for (int i = 0; i < 2; i++)
        CHECK(pthread_create(&threads[i], NULL, draw, i ? threads : NULL) == 0);
    for (int i = 0; i < 2; i++)
        CHECK(pthread_join(threads[i], NULL) == 0);
    return 0;
}
