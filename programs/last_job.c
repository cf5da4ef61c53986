/* Six short jobs and a long one, two at a time, the long one last: as a build with -j2 whose largest file comes last.
 *
 *   main   start 2 | wait, start ... | wait
 *   job 1  short_job 100 | job 3 | job 5 | long_job 500 ..................
 *   job 2  short_job 100 | job 4 | job 6 |
 *
 * On two processors the run takes 800 ms: 300 ms of short_job, then 500 ms of long_job alone. Without long_job 300 ms are left, without
 * short_job 500 ms.
 */
#include <sys/wait.h>
#include <unistd.h>
#include "work.h"

enum { JOBS = 7, AT_ONCE = 2 };

NOINLINE void short_job(void) { BURN(100); }
NOINLINE void long_job(void) { BURN(500); }

int main(void)
{
    for (int job = 0; job < JOBS; job++) {
        if (job >= AT_ONCE)
            CHECK(wait(NULL) > 0);
        pid_t child = fork();
        CHECK(child >= 0);
        if (child == 0) {
            if (job == JOBS - 1)
                long_job();
            else
                short_job();
            _exit(0);
        }
    }
    while (wait(NULL) > 0) {
    }
    return 0;
}
