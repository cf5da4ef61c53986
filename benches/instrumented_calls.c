/* What a call of an instrumented procedure takes: THREADSxCALLS (8x1000000) threads that make so many calls each of a
 * procedure that does nothing. The time is of the threads' processors, so that more threads than processors do no harm. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define PLAIN __attribute__((no_instrument_function))

enum { MOST_THREADS = 64 };

static long calls;
static double nanoseconds[MOST_THREADS];

__attribute__((noinline)) void nothing(void) { __asm__ volatile(""); }

PLAIN static double processor_time(void)
{
    struct timespec time;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return time.tv_sec * 1e9 + time.tv_nsec;
}

PLAIN static void *caller(void *own)
{
    double begin = processor_time();
    for (long call = 0; call < calls; call++)
        nothing();
    *(double *)own = processor_time() - begin;
    return NULL;
}

PLAIN int main(int count, char **arguments)
{
    pthread_t thread[MOST_THREADS];
    int threads = 0;
    double sum = 0;
    if (count < 2 || sscanf(arguments[1], "%dx%ld", &threads, &calls) != 2 || threads < 1 || threads > MOST_THREADS)
        return 2;
    for (int index = 0; index < threads; index++)
        pthread_create(&thread[index], NULL, caller, &nanoseconds[index]);
    for (int index = 0; index < threads; index++) {
        pthread_join(thread[index], NULL);
        sum += nanoseconds[index];
    }
    printf("nanoseconds_per_call %.3f\n", sum / threads / calls);
    return 0;
}
