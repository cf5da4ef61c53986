/* A process that looks every 10 ms whether its child has ended, and waits for nothing.
 *
 *   child  child_work 300 | ends              with `asleep`: child_pause 300, child_work 30 | ends
 *   main   look, sleep 10 | look, sleep 10 | ... | looks, ends
 */
#define _GNU_SOURCE
#include <sys/wait.h>
#include <unistd.h>
#include "work.h"

NOINLINE void child_work(int milliseconds) { BURN(milliseconds); }
NOINLINE void child_pause(void) { usleep(300000); }
NOINLINE void look_again(void) { usleep(10000); }

int main(int count, char **arguments)
{
    (void)arguments;
    pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
        if (count > 1)
            child_pause();
        child_work(count > 1 ? 30 : 300);
        _exit(0);
    }
    while (waitpid(child, NULL, WNOHANG) == 0)
        look_again();
    return 0;
}
