/* A process that waits for its child, which works and then dies of a fault of its own.
 *
 *   parent  | prepare 50 | wait ............. | report 50
 *   child   | child_work 200 ........ crash × |
 *
 * Nobody stopped it: the run waits for its work. Critical path 250 ms, without child_work 100.
 */
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>
#include "work.h"

NOINLINE void prepare(void) { BURN(50); }
NOINLINE void child_work(void) { BURN(200); }
NOINLINE void report(void) { BURN(50); }

int main(void)
{
    pid_t child = fork();
    if (child == 0) {
        child_work();
        *(volatile int *)8 = 1;
    }
    prepare();
    CHECK(waitpid(child, NULL, 0) == child);
    report();
    return 0;
}
