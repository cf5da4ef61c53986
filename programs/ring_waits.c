/* Two threads that wait at an io_uring: one that has asked for something itself, and one that only collects what others ask for.
 *
 *   own        ask_and_wait: a timeout of 20 ms, 5 times                      100 ms
 *   collector  collect_events: waits until another thread asks for nothing    150 ms
 *
 * Prints `done`; `none` where the kernel has no io_uring.
 */
#define _GNU_SOURCE
#include <linux/io_uring.h>
#include <linux/time_types.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>
#include "work.h"

struct ring {
    int descriptor;
    unsigned *tail, *array, mask;
    struct io_uring_sqe *entries;
};

static int set_up(struct ring *ring)
{
    struct io_uring_params made;
    memset(&made, 0, sizeof made);
    ring->descriptor = (int)syscall(SYS_io_uring_setup, 8, &made);
    if (ring->descriptor < 0)
        return -1;
    int flags = MAP_SHARED | MAP_POPULATE, access = PROT_READ | PROT_WRITE;
    char *queue = mmap(NULL, 1 << 16, access, flags, ring->descriptor, IORING_OFF_SQ_RING);
    ring->entries = mmap(NULL, 8 * sizeof *ring->entries, access, flags, ring->descriptor, IORING_OFF_SQES);
    CHECK(queue != MAP_FAILED && ring->entries != MAP_FAILED);
    ring->tail = (unsigned *)(queue + made.sq_off.tail);
    ring->array = (unsigned *)(queue + made.sq_off.array);
    ring->mask = *(unsigned *)(queue + made.sq_off.ring_mask);
    return 0;
}

static void ask(struct ring *ring, int operation, const void *address, unsigned wait)
{
    unsigned tail = *ring->tail, index = tail & ring->mask;
    struct io_uring_sqe *entry = &ring->entries[index];
    memset(entry, 0, sizeof *entry);
    entry->opcode = (unsigned char)operation;
    entry->addr = (unsigned long)address;
    entry->len = address != NULL;
    ring->array[index] = index;
    __atomic_store_n(ring->tail, tail + 1, __ATOMIC_RELEASE);
    unsigned flags = wait > 0 ? IORING_ENTER_GETEVENTS : 0;
    CHECK(syscall(SYS_io_uring_enter, ring->descriptor, 1, wait, flags, NULL, 0) == 1);
}

NOINLINE void ask_and_wait(struct ring *ring, unsigned round)
{
    struct __kernel_timespec after = {0, 20000000};
    ask(ring, IORING_OP_TIMEOUT, &after, round);
}

NOINLINE void collect_events(struct ring *ring)
{
    CHECK(syscall(SYS_io_uring_enter, ring->descriptor, 0, 1, IORING_ENTER_GETEVENTS, NULL, 0) >= 0);
    __asm__ volatile("");
}

static void *collector(void *ring)
{
    collect_events(ring);
    return NULL;
}

int main(void)
{
    struct ring own, shared;
    pthread_t thread;
    if (set_up(&own) < 0 || set_up(&shared) < 0) {
        puts("none");
        return 0;
    }
    CHECK(pthread_create(&thread, NULL, collector, &shared) == 0);
    for (unsigned round = 1; round <= 5; round++)
        ask_and_wait(&own, round);
    usleep(50000);
    ask(&shared, IORING_OP_NOP, NULL, 0);
    CHECK(pthread_join(thread, NULL) == 0);
    puts("done");
    return 0;
}
