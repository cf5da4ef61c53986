/* A late receiver. Rank 1 sends 10 messages to rank 0 with MPI_Ssend, which returns when the receive is posted; rank 0 computes
 * 40 ms of its own processor time in `compute_before` before each receive. So rank 1 waits 10 × 40 = 400 ms in MPI_Ssend for rank 0.
 * With the argument `eager` it sends with MPI_Send: a message this short is sent whether or not it is received, and no send waits.
 * Rank 1 then waits in MPI_Finalize only, 400 ms, for rank 0. */
#include <mpi.h>
#include <string.h>

#include "../work.h"

enum { ROUNDS = 10, BEFORE_MS = 40 };

NOINLINE static void compute_before(void) { BURN(BEFORE_MS); }

NOINLINE static void send_result(const int *value, int waits) {
    if (waits)
        MPI_Ssend(value, 1, MPI_INT, 0, 3, MPI_COMM_WORLD);
    else
        MPI_Send(value, 1, MPI_INT, 0, 3, MPI_COMM_WORLD);
    CHECK(*value >= 0);
}

int main(int argc, char **argv) {
    int rank, value = 0;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    int waits = argc < 2 || strcmp(argv[1], "eager") != 0;
    for (int round = 0; round < ROUNDS; round++) {
        if (rank == 1) {
            send_result(&round, waits);
        } else if (rank == 0) {
            compute_before();
            MPI_Recv(&value, 1, MPI_INT, 1, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            CHECK(value == round);
        }
    }
    MPI_Finalize();
    return 0;
}
