/* An OpenMP loop of two iterations on two threads, one of which is long; libgomp's barrier ends each loop.
 *
 *   thread 0   long_iteration 75  | ...                 12 loops
 *   thread 1   short_iteration 25 | barrier 50 ... | ...
 *
 * Critical path (CPU): 12 x 75 = 900 ms, all long_iteration. CPU time without spinning: 1200 ms:
 * long_iteration 75 %, short_iteration 25 %. Thread 1 waits 12 x 50 = 600 ms, in part spinning in libgomp.
 */
#include <omp.h>
#include "work.h"

NOINLINE void long_iteration(void) { BURN(75); }
NOINLINE void short_iteration(void) { BURN(25); }

int main(void)
{
    omp_set_dynamic(0);
    for (int loop = 0; loop < 12; loop++) {
#pragma omp parallel for schedule(static, 1) num_threads(2)
        for (int i = 0; i < 2; i++) {
            if (i == 0)
                long_iteration();
            else
                short_iteration();
        }
    }
    return 0;
}
