/* A thread and a child process are joined long after they ended: nobody waits.
 *
 *   worker  A 100 |
 *   child   C 60 |
 *   main    sleep 700 ............ | join, waitpid | D 100
 *
 * Critical path (CPU): A 100, D 100 = 200 ms. Logical zeroing: A 40 (then C's 60 ms are the longest), C 0, D 100.
 * A at 0: 160 ms. With -DTRY the thread is joined by a function that few programs use; with an argument it is joined so by that
 * library, which is loaded at the start.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>
#include "work.h"

NOINLINE void A(void) { BURN(100); }
NOINLINE void C(void) { BURN(60); }
NOINLINE void D(void) { BURN(100); }

static void *worker(void *unused) { A(); return unused; }

#ifdef TRY
static int join(pthread_t thread) { return pthread_tryjoin_np(thread, NULL); }
#else
static int join(pthread_t thread) { return pthread_join(thread, NULL); }
#endif

int main(int argc, char **argv)
{
    int (*join_by)(pthread_t) = join;
    pthread_t thread;
    if (argc > 1) {
        void *library = dlopen(argv[1], RTLD_NOW);
        CHECK(library != NULL);
        join_by = (int (*)(pthread_t))dlsym(library, "join_by_library");
        CHECK(join_by != NULL);
    }
    pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
        C();
        _exit(0);
    }
    CHECK(pthread_create(&thread, NULL, worker, NULL) == 0);
    usleep(700000);
    CHECK(join_by(thread) == 0);
    CHECK(waitpid(child, NULL, 0) == child);
    D();
    return 0;
}
