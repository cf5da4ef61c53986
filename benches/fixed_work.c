/* As many threads as processors, each with the same fixed amount of work and no system calls: what recording
 * costs shows as more processor time. Argument: millions of steps per thread. Prints `cpu_seconds S`. */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

static long steps = 400000000;
static volatile unsigned long sink;

static void *work(void *unused)
{
    unsigned long value = 1;
    for (long i = 0; i < steps; i++)
        value = value * 6364136223846793005UL + (value >> 33);
    sink += value;
    return unused;
}

int main(int argc, char **argv)
{
    struct rusage usage;
    int count = (int)sysconf(_SC_NPROCESSORS_ONLN);
    pthread_t *threads = calloc(count, sizeof *threads);
    if (argc > 1)
        steps = atol(argv[1]) * 1000000;
    for (int i = 0; i < count; i++)
        if (threads == NULL || pthread_create(&threads[i], NULL, work, NULL) != 0)
            return 1;
    for (int i = 0; i < count; i++)
        pthread_join(threads[i], NULL);
    getrusage(RUSAGE_SELF, &usage);
    double user = usage.ru_utime.tv_sec + usage.ru_utime.tv_usec / 1e6;
    double system = usage.ru_stime.tv_sec + usage.ru_stime.tv_usec / 1e6;
    printf("cpu_seconds %.6f\n", user + system);
    return 0;
}
