/* Parallel regions that do not pay, beside one that does. The inner loop of `smooth` is a region of its own, entered 20,000 times for
 * 3 to 10 us of work; `integrate` is entered once, and divides 240 ms.
 *
 *   master   |smooth: region|region|region| ... 20,000 times ... |integrate 60            |
 *   others   | ..  =   ..  =   ..  =      ...                    |integrate 60 | (4 threads)
 *
 * Each entry wakes three threads and waits for them: with more threads than processors, or with OMP_WAIT_POLICY=passive, that
 * takes longer than the loop. -DSERIAL builds the program with the loop of `smooth` executed by the thread that calls it: the
 * same work without the regions. So elapsed time (this program) less elapsed time (that one) is what the regions of `smooth` cost.
 * The results of both are the same.
 */
#include <omp.h>
#include "work.h"

#define CELLS 4096
#define ROUNDS 20000

static double cells[2][CELLS + 2];

NOINLINE void smooth(const double *from, double *to)
{
#ifndef SERIAL
#pragma omp parallel for schedule(static) num_threads(4)
#endif
    for (int i = 1; i <= CELLS; i++)
        to[i] = 0.25 * from[i - 1] + 0.5 * from[i] + 0.25 * from[i + 1] + 1.0 / (1.0 + from[i] * from[i]);
}

NOINLINE void integrate(void)
{
#pragma omp parallel for schedule(static) num_threads(4)
    for (int part = 0; part < 4; part++)
        BURN(60);
}

int main(void)
{
    omp_set_dynamic(0);
    for (int round = 0; round < ROUNDS; round++)
        smooth(cells[round & 1], cells[~round & 1]);
    integrate();
    printf("%.6f\n", cells[0][CELLS / 2]);
    return 0;
}
