/* Two threads hand work to each other after every few microseconds: far more switches and wakes than timer samples.
 *
 *   main      hash, post | wait ...... | hash, post | wait ...
 *   worker    wait ....... | look_up, post | wait ............
 *
 * hash takes a few times as long as look_up; how long both take differs by machine, so the program measures it: it prints the
 * processor time of both and of all of its threads, in nanoseconds. What is left is the kernel's for semaphores and clocks.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <semaphore.h>
#include "work.h"

static sem_t requests, replies;
static long rounds;
static volatile unsigned long cells[64];

#define MIX(steps)                                                                                           \
    do {                                                                                                     \
        unsigned long value_ = cells[0];                                                                     \
        for (long step_ = 0; step_ < (steps); step_++) {                                                     \
            value_ = value_ * 6364136223846793005UL + 1442695040888963407UL;                                 \
            cells[step_ & 63] = value_;                                                                      \
        }                                                                                                    \
    } while (0)

NOINLINE void hash(void) { MIX(20000); }
NOINLINE void look_up(void) { MIX(6000); }
NOINLINE void post_request(void) { CHECK(sem_post(&requests) == 0); }
NOINLINE void await_request(void) { CHECK(sem_wait(&requests) == 0); }
NOINLINE void post_reply(void) { CHECK(sem_post(&replies) == 0); }
NOINLINE void await_reply(void) { CHECK(sem_wait(&replies) == 0); }

static long looking, working;

static void *worker(void *unused)
{
    for (long i = 0; i < rounds; i++) {
        await_request();
        long begin = CPU_NANOSECONDS();
        look_up();
        looking += CPU_NANOSECONDS() - begin;
        post_reply();
    }
    working = CPU_NANOSECONDS();
    return unused;
}

int main(int count, char **arguments)
{
    pthread_t thread;
    long hashing = 0;
    rounds = count > 1 ? atol(arguments[1]) : 30000;
    CHECK(sem_init(&requests, 0, 0) == 0 && sem_init(&replies, 0, 0) == 0);
    CHECK(pthread_create(&thread, NULL, worker, NULL) == 0);
    for (long i = 0; i < rounds; i++) {
        long begin = CPU_NANOSECONDS();
        hash();
        hashing += CPU_NANOSECONDS() - begin;
        post_request();
        await_reply();
    }
    CHECK(pthread_join(thread, NULL) == 0);
    printf("%ld %ld %ld\n", hashing, looking, CPU_NANOSECONDS() + working);
    return 0;
}
