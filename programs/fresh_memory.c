/* Two threads that map memory, touch all of it, compute and unmap it again, time after time. The kernel's lock of the memory map is asked
 * for by each step but compute: by map and unmap, which change the map, and by the page faults of touch while one does.
 *
 *   worker1  | map, touch, compute 0.4, unmap | ... 400 times
 *   worker2  | map, touch, compute 0.4, unmap | ... 400 times
 *
 * CPU time of compute: 160 ms in each thread. Without touch the critical path has one thread's compute, 160 ms: the threads exclude
 * each other for moments, in whatever order. An arc at each hand-off of the lock would lead the path through most of both computes.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <sys/mman.h>
#include "work.h"

enum { THREADS = 2, PIECES = 400, PAGES = 512, PAGE = 4096 };

NOINLINE void compute(void) { BURN(0.4); }

NOINLINE void touch(char *piece)
{
    for (int page = 0; page < PAGES; page++)
        ((volatile char *)piece)[page * PAGE] = 1;
}

NOINLINE void use_piece(void)
{
    char *piece = mmap(NULL, PAGES * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(piece != MAP_FAILED);
    /* One fault for each page; kernels without large pages refuse, and have them anyway. */
    madvise(piece, PAGES * PAGE, MADV_NOHUGEPAGE);
    touch(piece);
    compute();
    CHECK(munmap(piece, PAGES * PAGE) == 0);
}

static void *worker(void *unused)
{
    for (int piece = 0; piece < PIECES; piece++)
        use_piece();
    return unused;
}

int main(void)
{
    pthread_t threads[THREADS];
    for (int i = 0; i < THREADS; i++)
        CHECK(pthread_create(&threads[i], NULL, worker, NULL) == 0);
    for (int i = 0; i < THREADS; i++)
        CHECK(pthread_join(threads[i], NULL) == 0);
    return 0;
}
