/* Two ranks that wait for each other in turn, as on two machines. In each of 10 rounds rank 1 computes 20 ms of its own processor time in
 * `compute_remote` and sends; rank 0 waits for that in `await_remote`, computes 10 ms in `compute_local` and sends; rank 1 waits for
 * that in `await_local`. Before each round they send 100 messages to and fro, in `ping`, by which clocks can be compared.
 * The critical path goes to and fro, 10 × (20 + 10) ms: compute_remote 200 ms, compute_local 100 ms. Rank 0 waits 200 ms in await_remote,
 * rank 1 waits 100 ms in await_local. 2 × 10 × 100 + 2 × 10 messages of 4 bytes. */
#include <mpi.h>

#include "../work.h"

enum { ROUNDS = 10, PINGS = 100 };

static int value;

NOINLINE static void compute_remote(void) { BURN(20); }
NOINLINE static void compute_local(void) { BURN(10); }

NOINLINE static void await(int source) {
    MPI_Recv(&value, 1, MPI_INT, source, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

NOINLINE static void await_remote(void) {
    await(1);
    CHECK(value >= 0);
}

NOINLINE static void await_local(void) {
    await(0);
    CHECK(value >= 0);
}

NOINLINE static void ping(int rank) {
    for (int count = 0; count < PINGS; count++) {
        if (rank == 0)
            MPI_Send(&value, 1, MPI_INT, 1, 4, MPI_COMM_WORLD);
        MPI_Recv(&value, 1, MPI_INT, 1 - rank, 4, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        if (rank == 1)
            MPI_Send(&value, 1, MPI_INT, 0, 4, MPI_COMM_WORLD);
    }
}

int main(int argc, char **argv) {
    int rank;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    for (int round = 0; round < ROUNDS; round++) {
        ping(rank);
        if (rank == 1) {
            compute_remote();
            MPI_Send(&value, 1, MPI_INT, 0, 5, MPI_COMM_WORLD);
            await_local();
        } else {
            await_remote();
            compute_local();
            MPI_Send(&value, 1, MPI_INT, 1, 5, MPI_COMM_WORLD);
        }
    }
    MPI_Finalize();
    return 0;
}
