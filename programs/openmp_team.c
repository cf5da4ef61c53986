/* An OpenMP team of two with 120 and 90 ms, then 100 ms in the first thread.
 *
 *   first thread   P1 120 ......| end | D 100
 *   second thread  P2 90 .| end
 *
 * Critical path (CPU): P1 120, D 100 = 220 ms. The second thread comes to the end of the region before the first one waits there.
 * Logical zeroing: P1 30, P2 0, D 100. P1 at 0: 190 ms.
 */
#include <omp.h>
#include "work.h"

NOINLINE void P1(void) { BURN(120); }
NOINLINE void P2(void) { BURN(90); }
NOINLINE void D(void) { BURN(100); }

int main(void)
{
#pragma omp parallel num_threads(2)
    {
        if (omp_get_thread_num() == 0)
            P1();
        else
            P2();
    }
    D();
    return 0;
}
