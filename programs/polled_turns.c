// Two threads take turns: each computes, hands over by a flag, and sleeps until the other one's flag is there.
//
//   one    compute 1 ms | flag | sleep 0.2, look, sleep 0.2, look ...   | compute 1 ms
//   other  sleep, look ...     | compute 1 ms                    | flag |
//
// All CPU time is work: the loop around it pauses, and the loop within computes.

#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <unistd.h>

enum { ROUNDS = 150, WORK = 700000 };

static atomic_int turn;
static volatile uint64_t sums[2];

__attribute__((noinline)) static void wait_for(int own)
{
    while (atomic_load(&turn) != own) {
        usleep(200);
    }
}

static void *take_turns(void *argument)
{
    int own = (int)(intptr_t)argument;
    for (int round = 0; round < ROUNDS; round++) {
        wait_for(own);
        uint64_t sum = sums[own];
        for (int i = 0; i < WORK; i++) {
            sum = sum * 1103515245u + (uint64_t)i;
        }
        sums[own] = sum;
        atomic_store(&turn, !own);
    }
    return NULL;
}

int main(void)
{
    pthread_t other;
    pthread_create(&other, NULL, take_turns, (void *)1);
    take_turns((void *)0);
    pthread_join(other, NULL);
    printf("%lu\n", (unsigned long)(sums[0] + sums[1]));
    return 0;
}
