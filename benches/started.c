/* Prints `started NANOSECONDS`, the CLOCK_MONOTONIC time at which its main began. */
#include <stdio.h>
#include <time.h>

int main(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    printf("started %lld\n", now.tv_sec * 1000000000LL + now.tv_nsec);
    return 0;
}
