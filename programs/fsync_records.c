/* One thread that waits for a disk most of the time.
 *
 *   main   100 x ( compute_record 1 | write_record: 4 x (write and fsync) )
 *
 * CPU time: compute_record 100 ms, and what the kernel does for the writes. Blocked in write_record, cause io, as long as
 * the disk takes. The program prints `write_seconds S`, elapsed seconds in write_record. Argument: the file's path.
 * An engineer's answer: it waits for the disk in write_record, unless the disk is faster than the computing.
 */
#include <fcntl.h>
#include <unistd.h>
#include "work.h"

static char page[4096];

NOINLINE void compute_record(void) { BURN(1); }

NOINLINE void write_record(int descriptor)
{
    for (int i = 0; i < 4; i++) {
        CHECK(write(descriptor, page, sizeof page) == sizeof page);
        CHECK(fsync(descriptor) == 0);
    }
}

int main(int argc, char **argv)
{
    struct timespec from, to;
    double written = 0;
    int descriptor = open(argc > 1 ? argv[1] : "records", O_WRONLY | O_CREAT | O_TRUNC, 0600);
    CHECK(descriptor >= 0);
    for (int i = 0; i < 100; i++) {
        compute_record();
        clock_gettime(CLOCK_MONOTONIC, &from);
        write_record(descriptor);
        clock_gettime(CLOCK_MONOTONIC, &to);
        written += to.tv_sec - from.tv_sec + (to.tv_nsec - from.tv_nsec) / 1e9;
    }
    printf("write_seconds %.6f\n", written);
    return 0;
}
