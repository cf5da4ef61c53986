/* A tree of processes, each of which executes this program again.
 *
 *   root ── branch ── leaf (leaf_work 300), then leaf (leaf_work 300)
 *       └── branch ── leaf, then leaf
 *
 * 7 processes. The two branches run beside each other, the leaves of one branch one after the other.
 * Critical path (CPU): 2 x 300 = 600 ms of leaf_work and what starting programs costs.
 * CPU time: 4 x 300 = 1200 ms, leaf_work. root and the branches are blocked, cause `child process`.
 */
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include "work.h"

NOINLINE void leaf_work(void) { BURN(300); }

static pid_t start(const char *role)
{
    pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
        execl("/proc/self/exe", role, role, (char *)NULL);
        _exit(127);
    }
    return child;
}

NOINLINE void await_child(pid_t child)
{
    int status;
    CHECK(waitpid(child, &status, 0) == child);
    CHECK(status == 0);
}

int main(int argc, char **argv)
{
    const char *role = argc > 1 ? argv[1] : "root";
    if (strcmp(role, "leaf") == 0) {
        leaf_work();
    } else if (strcmp(role, "branch") == 0) {
        await_child(start("leaf"));
        await_child(start("leaf"));
    } else {
        pid_t first = start("branch"), second = start("branch");
        await_child(first);
        await_child(second);
    }
    return 0;
}
