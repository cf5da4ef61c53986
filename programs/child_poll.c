/* A process that looks every 10 ms whether its child has ended, and waits for nothing.
 *
 *   child  child_work 300 | ends
 *   main   look, sleep 10 | look, sleep 10 | ... | looks, ends
 */
#define _GNU_SOURCE
#include <sys/wait.h>
#include <unistd.h>
#include "work.h"

NOINLINE void child_work(void) { BURN(300); }

int main(void)
{
    pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
        child_work();
        _exit(0);
    }
    while (waitpid(child, NULL, WNOHANG) == 0)
        usleep(10000);
    return 0;
}
