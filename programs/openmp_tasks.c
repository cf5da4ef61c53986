/* OpenMP tasks: made by one thread, run by both of a team; the answer is under the procedure that made them.
 *
 *   thread 0   make_small: 6 tasks | make_large: 6 tasks | taskwait: both threads run the 12 tasks | sum_up 60
 *   thread 1   ..................................................................................| barrier
 *
 * A small task is work_on 10, a large one work_on 30: 240 in all. Inclusive CPU time: make_small 60 of 300 (20 %),
 * make_large 180 (60 %), sum_up 60 (20 %), work_on 240 (80 %), though work_on is called by neither. Critical path:
 * between 120 + 60 = 180 (tasks shared evenly) and 140 + 60.
 */
#include <omp.h>
#include "work.h"

/* The last call of a loop is to be no jump: who makes a task must be on the stack. */
#define STAY() __asm__ volatile("")

NOINLINE void work_on(int milliseconds) { BURN(milliseconds); }
NOINLINE void sum_up(void) { BURN(60); }

NOINLINE void make_small(void)
{
    for (int i = 0; i < 6; i++) {
#pragma omp task
        work_on(10);
    }
    STAY();
}

NOINLINE void make_large(void)
{
    for (int i = 0; i < 6; i++) {
#pragma omp task
        work_on(30);
    }
    STAY();
}

int main(void)
{
    omp_set_dynamic(0);
#pragma omp parallel num_threads(2)
#pragma omp single
    {
        make_small();
        make_large();
#pragma omp taskwait
        sum_up();
    }
    return 0;
}
