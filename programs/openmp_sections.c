/* Three OpenMP sections of 120, 90 and 30 ms, then 100 ms in the first thread.
 *
 *   thread  P1 120 | end of the sections
 *   thread  P2 90 .| end
 *   thread  P3 30 .| end | D 100 in the first one
 *
 * Critical path (CPU): P1 120, D 100 = 220 ms, whoever is last on a clock.
 * Logical zeroing: P1 30, P2 0, P3 0, D 100. P1 at 0: 190 ms.
 */
#include "work.h"

NOINLINE void P1(void) { BURN(120); }
NOINLINE void P2(void) { BURN(90); }
NOINLINE void P3(void) { BURN(30); }
NOINLINE void D(void) { BURN(100); }

int main(void)
{
#pragma omp parallel sections num_threads(3)
    {
#pragma omp section
        P1();
#pragma omp section
        P2();
#pragma omp section
        P3();
    }
    D();
    return 0;
}
