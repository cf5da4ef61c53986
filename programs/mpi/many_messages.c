/* Two ranks send to and fro, N round trips in `exchange`, while the recorder is stopped; it goes on afterwards, and 100 round trips
 * follow in `afterwards`. N is the argument; the recorder's process id is in LONGPOLE_RECORDER, where there is none nobody is stopped.
 * The n-th message of each rank has 4 × (n mod 1,000 + 1) bytes, so that messages which are matched wrongly have other lengths. */
#include <mpi.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#include "../work.h"

enum { AFTERWARDS = 100, LENGTHS = 1000 };

static int values[LENGTHS];
static long sent;

static void round_trips(int rank, long count) {
    for (long trip = 0; trip < count; trip++) {
        int length = (int)(sent++ % LENGTHS) + 1;
        if (rank == 0)
            MPI_Send(values, length, MPI_INT, 1, 4, MPI_COMM_WORLD);
        MPI_Recv(values, length, MPI_INT, 1 - rank, 4, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        if (rank == 1)
            MPI_Send(values, length, MPI_INT, 0, 4, MPI_COMM_WORLD);
    }
}

NOINLINE static void exchange(int rank, long count) { round_trips(rank, count); }
NOINLINE static void afterwards(int rank) { round_trips(rank, AFTERWARDS); }

int main(int argc, char **argv) {
    const char *recorder = getenv("LONGPOLE_RECORDER");
    pid_t stopped = recorder ? (pid_t)atol(recorder) : 0;
    int rank;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0 && stopped > 0)
        CHECK(kill(stopped, SIGSTOP) == 0);
    MPI_Barrier(MPI_COMM_WORLD);
    exchange(rank, argc > 1 ? atol(argv[1]) : 1000);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0 && stopped > 0)
        CHECK(kill(stopped, SIGCONT) == 0);
    /* Time in which the recorder reads what it has missed. */
    usleep(500 * 1000);
    afterwards(rank);
    MPI_Finalize();
    return 0;
}
