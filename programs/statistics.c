/* One thread that solves, and one in the background that makes statistics all the while, until the program ends.
 *
 *   main        load 60 | solve 240 | end
 *   background  refresh, refresh, refresh, ...
 *
 * Whenever main is done the run is over: the background thread is killed by the end of the process, or, with -DJOINED, told to end by a flag
 * and joined. With -DPROCESS it is a process, which main kills as scripts do. Critical path (CPU): 300 ms; without solve 60. That refresh
 * took as long does not matter: with less to solve it makes less of its statistics.
 */
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/wait.h>
#include <unistd.h>
#include "work.h"

static atomic_int stops;

NOINLINE void load(void) { BURN(60); }
NOINLINE void solve(void) { BURN(240); }
NOINLINE void refresh(void) { BURN(1); }

static void *make_statistics(void *unused)
{
    while (!stops)
        refresh();
    return unused;
}

int main(void)
{
#ifdef PROCESS
    pid_t background = fork();
    if (background == 0)
        make_statistics(NULL);
#else
    pthread_t background;
    CHECK(pthread_create(&background, NULL, make_statistics, NULL) == 0);
#endif
    load();
    solve();
#ifdef PROCESS
    CHECK(kill(background, SIGTERM) == 0 && waitpid(background, NULL, 0) == background);
#endif
#ifdef JOINED
    stops = 1;
    CHECK(pthread_join(background, NULL) == 0);
#endif
    return 0;
}
