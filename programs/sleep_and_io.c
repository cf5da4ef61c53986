/* One thread that mostly waits: for a clock, and for a disk.
 *
 *   main   20 x ( checksum 10 | write_journal: write and fsync | pause_between: sleep 25 )
 *
 * CPU time: checksum 200 ms and little else; the critical path (CPU) is that too.
 * Blocked: 20 x 25 = 500 ms, cause `sleep`, suffered in pause_between; and as long as the disk takes,
 * cause `io`, suffered in write_journal. The program prints the seconds of both as it measured them:
 * `sleep_seconds S` and `journal_seconds S`. Argument: the journal's path.
 */
#include <fcntl.h>
#include <unistd.h>
#include "work.h"

static char page[65536];

#define WALL_SECONDS()                                                                                       \
    __extension__({                                                                                          \
        struct timespec now_;                                                                                \
        clock_gettime(CLOCK_MONOTONIC, &now_);                                                               \
        now_.tv_sec + now_.tv_nsec / 1e9;                                                                    \
    })

NOINLINE void checksum(void) { BURN(10); }

NOINLINE void write_journal(int descriptor)
{
    CHECK(write(descriptor, page, sizeof page) == sizeof page);
    CHECK(fsync(descriptor) == 0);
}

NOINLINE void pause_between(void)
{
    struct timespec time = {0, 25 * 1000 * 1000};
    nanosleep(&time, NULL);
}

int main(int argc, char **argv)
{
    double slept = 0, written = 0;
    int descriptor = open(argc > 1 ? argv[1] : "journal", O_WRONLY | O_CREAT | O_TRUNC, 0600);
    CHECK(descriptor >= 0);
    for (int i = 0; i < 20; i++) {
        checksum();
        double before = WALL_SECONDS();
        write_journal(descriptor);
        double between = WALL_SECONDS();
        pause_between();
        written += between - before;
        slept += WALL_SECONDS() - between;
    }
    printf("sleep_seconds %.6f\njournal_seconds %.6f\n", slept, written);
    return 0;
}
