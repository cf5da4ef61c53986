/* 64 threads that are in ten instrumented procedures each, and neither wait in a way that the agent sees nor use
 * a processor: the most that a sampling thread finds to do, with nobody in its way. */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>

enum { THREADS = 64 };

static long seconds;

/* The kernel's nanosleep, past the C library. */
__attribute__((no_instrument_function)) static void rest(void)
{
    struct timespec time = {seconds, 0};
    long result;
    __asm__ volatile("syscall"
                     : "=a"(result)
                     : "a"(SYS_nanosleep), "D"(&time), "S"((void *)0)
                     : "rcx", "r11", "memory");
}

#define LEVEL(name, next) \
    __attribute__((noinline)) void name(void) \
    { \
        next(); \
        __asm__ volatile(""); \
    }
LEVEL(level_9, rest)
LEVEL(level_8, level_9)
LEVEL(level_7, level_8)
LEVEL(level_6, level_7)
LEVEL(level_5, level_6)
LEVEL(level_4, level_5)
LEVEL(level_3, level_4)
LEVEL(level_2, level_3)
LEVEL(level_1, level_2)

static void *work(void *unused)
{
    level_1();
    return unused;
}

int main(int count, char **arguments)
{
    pthread_t threads[THREADS];
    seconds = count > 1 ? atol(arguments[1]) : 5;
    for (int i = 0; i < THREADS; i++)
        if (pthread_create(&threads[i], NULL, work, NULL) != 0)
            return 1;
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    printf("threads %d\n", THREADS);
    return 0;
}
