/* A job of so many milliseconds, its argument: for scripts that start several.
 *
 *   echo 60 60 60 60 300 | xargs -n1 -P2 job        the long one last: 120 + 300 = 420 ms; first: 300 ms
 */
#include "work.h"

NOINLINE static void work(int milliseconds) { BURN(milliseconds); }

int main(int argc, char **argv)
{
    work(argc > 1 ? atoi(argv[1]) : 0);
    return 0;
}
