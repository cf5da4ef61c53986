/* Four threads compute, then load pieces into fresh memory one at a time, then compute again: between, the
 * kernel finds a page for each that is touched, and little runs beside it.
 *
 *            compute      load_all                         compute
 *   worker1  compute 50 | [arena] load_piece x 75 ....... | compute 50
 *   worker2  compute 50 | ....... [arena] load_piece .... | compute 50
 *   worker3  compute 50 | ............... [arena] ....... | compute 50
 *   worker4  compute 50 | ....................... [arena] | compute 50
 *
 * A piece is mapped, touched page by page (256 pages of 4 KiB), read for 1 ms and unmapped, all under the lock `arena`;
 * then whoever gets it goes on. Page faults: 4 x 75 x 256 = 76,800 in load_all (and a few for stacks and the first
 * calls of procedures, below 500), below 500 in each of the others: all of them minor.
 * CPU time: compute 4 x 50 + 4 x 50 = 400 ms; digest 300 x 1 = 300 ms; touch: what 76,800 faults take (half a
 * microsecond to two each, nearly all of it in the kernel).
 * Effective parallelism: as many as there are processors, at most 4, in compute; 1 in load_all, where the other three
 * wait for `arena`: cause `lock`, suffered in load_piece.
 *
 * The program counts its pieces itself: the metric `pieces` comes to 4 x 75 = 300, all of them in load_all.
 *
 * Prints a line for each phase: its name, the page faults that getrusage(2) counted in it, its seconds.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>
#include "../runtime/c/longpole_series.h"
#include "work.h"

enum { THREADS = 4, PIECES = 75, PAGES = 256, PAGE = 4096 };

static pthread_mutex_t arena = PTHREAD_MUTEX_INITIALIZER;
/* Between the phases all threads and main() meet twice: main() looks when nobody works. */
static pthread_barrier_t meeting;
static struct longpole_metric *pieces;

NOINLINE void compute(void) { BURN(50); }
NOINLINE void digest(void) { BURN(1); }

NOINLINE void touch(char *piece)
{
    for (int page = 0; page < PAGES; page++)
        ((volatile char *)piece)[page * PAGE] = 1;
}

NOINLINE void load_piece(void)
{
    CHECK(pthread_mutex_lock(&arena) == 0);
    char *piece = mmap(NULL, PAGES * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(piece != MAP_FAILED);
    /* One fault for each page; kernels without large pages refuse, and have them anyway. */
    madvise(piece, PAGES * PAGE, MADV_NOHUGEPAGE);
    touch(piece);
    digest();
    longpole_add(pieces, 1);
    CHECK(munmap(piece, PAGES * PAGE) == 0);
    CHECK(pthread_mutex_unlock(&arena) == 0);
}

NOINLINE void load_all(void)
{
    for (int piece = 0; piece < PIECES; piece++)
        load_piece();
}

static void meet(void)
{
    pthread_barrier_wait(&meeting);
    pthread_barrier_wait(&meeting);
}

static void *worker(void *unused)
{
    pthread_setname_np(pthread_self(), "worker");
    meet();
    compute();
    meet();
    load_all();
    meet();
    compute();
    meet();
    return unused;
}

struct look {
    long faults;
    double seconds;
};

static struct look look(void)
{
    struct rusage usage;
    struct timespec now;
    CHECK(getrusage(RUSAGE_SELF, &usage) == 0);
    CHECK(clock_gettime(CLOCK_MONOTONIC, &now) == 0);
    return (struct look){usage.ru_minflt + usage.ru_majflt, now.tv_sec + now.tv_nsec / 1e9};
}

int main(void)
{
    static const char *const phases[] = {"compute", "load_all", "compute"};
    pthread_t threads[THREADS];
    struct look looks[4];
    CHECK(sysconf(_SC_PAGESIZE) == PAGE);
    pieces = longpole_metric("pieces", "pieces", LONGPOLE_COUNTER);
    CHECK(pthread_barrier_init(&meeting, NULL, THREADS + 1) == 0);
    for (int i = 0; i < THREADS; i++)
        CHECK(pthread_create(&threads[i], NULL, worker, NULL) == 0);
    for (int i = 0; i < 4; i++) {
        pthread_barrier_wait(&meeting);
        looks[i] = look();
        pthread_barrier_wait(&meeting);
    }
    for (int i = 0; i < THREADS; i++)
        CHECK(pthread_join(threads[i], NULL) == 0);
    for (int i = 0; i < 3; i++)
        printf("%s %ld %.3f\n", phases[i], looks[i + 1].faults - looks[i].faults,
               looks[i + 1].seconds - looks[i].seconds);
    return 0;
}
