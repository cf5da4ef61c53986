/* Four pairs of threads that hand a turn to each other through a futex as fast as they can: more events than a recorder keeps up with.
 *
 *   ping   pass_turn, wait | ...
 *   pong   wait, pass_turn | ...             four times, on all processors
 *
 * Argument: milliseconds (default 2000). Prints `handovers COUNT`, of all pairs.
 */
#define _GNU_SOURCE
#include <linux/futex.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <sys/syscall.h>
#include <unistd.h>
#include "work.h"

enum { PAIRS = 4, OVER = 2 };

struct pair {
    _Alignas(128) atomic_int turn;
    long handovers;
    pthread_t threads[2];
};

static struct pair pairs[PAIRS];
static double end_seconds;

static double seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec + now.tv_nsec / 1e9;
}

/* Whether the turn has come; otherwise the other one has ended. */
NOINLINE bool wait_for_turn(struct pair *pair, int mine)
{
    int turn;
    while ((turn = atomic_load(&pair->turn)) == !mine)
        syscall(SYS_futex, &pair->turn, FUTEX_WAIT_PRIVATE, !mine, NULL, NULL, 0);
    return turn == mine;
}

NOINLINE void pass_turn(struct pair *pair, int turn)
{
    atomic_store(&pair->turn, turn);
    syscall(SYS_futex, &pair->turn, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
}

static void *ping(void *argument)
{
    struct pair *pair = argument;
    pthread_setname_np(pthread_self(), "ping");
    while (wait_for_turn(pair, 0)) {
        pair->handovers += 2;
        bool is_over = pair->handovers % 128 == 0 && seconds() >= end_seconds;
        pass_turn(pair, is_over ? OVER : 1);
        if (is_over)
            break;
    }
    return NULL;
}

static void *pong(void *argument)
{
    struct pair *pair = argument;
    pthread_setname_np(pthread_self(), "pong");
    while (wait_for_turn(pair, 1))
        pass_turn(pair, 0);
    return NULL;
}

int main(int argc, char **argv)
{
    long handovers = 0;
    end_seconds = seconds() + (argc > 1 ? atol(argv[1]) : 2000) / 1e3;
    for (int i = 0; i < PAIRS; i++) {
        CHECK(pthread_create(&pairs[i].threads[0], NULL, ping, &pairs[i]) == 0);
        CHECK(pthread_create(&pairs[i].threads[1], NULL, pong, &pairs[i]) == 0);
    }
    for (int i = 0; i < PAIRS; i++) {
        CHECK(pthread_join(pairs[i].threads[0], NULL) == 0);
        CHECK(pthread_join(pairs[i].threads[1], NULL) == 0);
        handovers += pairs[i].handovers;
    }
    printf("handovers %ld\n", handovers);
    return 0;
}
