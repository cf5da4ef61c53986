/* One procedure that two others call, 30 and 5 times; it calls `leaf` twice each time, for 2 ms of work.
 *
 *   main   often | 30 × shared | seldom | 5 × shared |        shared   2 × leaf 2
 *
 * Compiled with -finstrument-functions: `shared` is called 35 times, `leaf` 70 times. Of the 140 ms, 30/35 are for `often`.
 */
#define _GNU_SOURCE
#include "work.h"

NOINLINE void leaf(void) { BURN(2); }

NOINLINE void shared(void)
{
    leaf();
    leaf();
}

NOINLINE void often(void)
{
    for (int i = 0; i < 30; i++)
        shared();
}

NOINLINE void seldom(void)
{
    for (int i = 0; i < 5; i++)
        shared();
}

int main(void)
{
    often();
    seldom();
    return 0;
}
