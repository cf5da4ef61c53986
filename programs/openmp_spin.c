/* OpenMP threads that spin while they wait: two threads on work of 3 to 1, then a serial part, then a critical section.
 * Run it with OMP_WAIT_POLICY=active: no wait below gets off its processor, so the kernel sees none of them.
 *
 *   master   long_half 60 | critical: ............ update 20 |  serial_part 40 | ...        6 loops
 *   worker   short_half 20 | end of the region ......        |  next region .. | ...
 *
 * In detail each loop is: region one: long_half 60 beside short_half 20; serial_part 40; region two: both update_total
 * 20 in a critical section, one after the other.
 *
 *   master   long_half 60      | serial_part 40 | update_total 20 | end ...           or the other way about
 *   worker   short_half 20 ... | ...            | critical ...... | update_total 20
 *
 * CPU time without spinning, a loop: 60 + 20 + 40 + 20 + 20 = 160: long_half 37.5 %, short_half 12.5 %, serial_part 25 %,
 * update_total 25 %. Critical path: 60 + 40 + 20 + 20 = 140: long_half 42.9 %, serial_part 28.6 %, update_total 28.6 %.
 * Spinning: the worker 40 for the end of region one and 40 for the next; one of both 20 for the section, the
 * other 20 for the end: 120 of 280, 43 %.
 */
#include <omp.h>
#include "work.h"

NOINLINE void long_half(void) { BURN(60); }
NOINLINE void short_half(void) { BURN(20); }
NOINLINE void serial_part(void) { BURN(40); }
NOINLINE void update_total(void) { BURN(20); }

int main(void)
{
    omp_set_dynamic(0);
    for (int loop = 0; loop < 6; loop++) {
#pragma omp parallel num_threads(2)
        {
            if (omp_get_thread_num() == 0)
                long_half();
            else
                short_half();
        }
        serial_part();
#pragma omp parallel num_threads(2)
        {
#pragma omp critical(total)
            update_total();
        }
    }
    return 0;
}
