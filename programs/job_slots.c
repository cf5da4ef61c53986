/* Jobs, two at a time: the next one begins when any has ended, as by `xargs -P2`.
 *
 *   parent   fork fork wait ....... fork wait ....... fork …
 *   job 1         long_job 400 ms
 *   job 2         100 ms   job 3: 200 ms     job 4: 150 ms …      600 ms; without long_job 400 ms
 *
 * -DSIGNALLED: the parent polls a pipe until the signal of a child's end comes, as make does for its `-j2`.
 * -DCERTAIN: it waits for the older one of the two. */
#include <signal.h>
#include <sys/select.h>
#include <sys/wait.h>
#include <unistd.h>

#include "work.h"

NOINLINE static void long_job(void) { BURN(400); }
NOINLINE static void job(int milliseconds) { BURN(milliseconds); }

static const int others[] = {100, 200, 150, 100, 150};
enum { JOBS = 1 + sizeof others / sizeof *others };

static pid_t start(int number)
{
    pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
        if (number == 0)
            long_job();
        else
            job(others[number - 1]);
        _exit(0);
    }
    return child;
}

static void on_end(int signal) { (void)signal; }

static void wait_for_one(pid_t oldest, int tokens)
{
#if defined CERTAIN
    (void)tokens;
    CHECK(waitpid(oldest, NULL, 0) == oldest);
#elif defined SIGNALLED
    (void)oldest;
    sigset_t none;
    sigemptyset(&none);
    while (waitpid(-1, NULL, WNOHANG) == 0) {
        fd_set readable;
        FD_ZERO(&readable);
        FD_SET(tokens, &readable);
        pselect(tokens + 1, &readable, NULL, NULL, NULL, &none);
    }
#else
    (void)oldest, (void)tokens;
    CHECK(waitpid(-1, NULL, 0) > 0);
#endif
}

int main(void)
{
    int tokens[2];
    CHECK(pipe(tokens) == 0);
    struct sigaction action = {.sa_handler = on_end};
    sigset_t ends;
    sigemptyset(&ends);
    sigaddset(&ends, SIGCHLD);
    CHECK(sigprocmask(SIG_BLOCK, &ends, NULL) == 0 && sigaction(SIGCHLD, &action, NULL) == 0);
    pid_t started[JOBS];
    for (int next = 0; next < JOBS; next++) {
        if (next >= 2)
            wait_for_one(started[next - 2], tokens[0]);
        started[next] = start(next);
    }
    wait_for_one(started[JOBS - 2], tokens[0]);
    wait_for_one(started[JOBS - 1], tokens[0]);
    return 0;
}
