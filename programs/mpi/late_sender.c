/* A late sender. Rank 1 computes 60 ms of its own processor time in `compute_late` before each of 10 messages to rank 0,
 * rank 0 computes 20 ms in `compute_early` before each receive; rank 2 does nothing. Each round rank 0 waits 40 ms in
 * MPI_Recv for rank 1, whatever Open MPI does meanwhile (it polls): 10 × (60 − 20) = 400 ms in all.
 * Useful work: 600 ms in compute_late, 200 ms in compute_early; the critical path is compute_late (600 ms).
 * With fewer processors than ranks both compute in turn: rank 0 then waits longer, never less. */
#include <mpi.h>

#include "../work.h"

enum { ROUNDS = 10, EARLY_MS = 20, LATE_MS = 60 };

NOINLINE static void compute_late(void) { BURN(LATE_MS); }

NOINLINE static void compute_early(void) { BURN(EARLY_MS); }

NOINLINE static void receive_result(int *value) {
    MPI_Recv(value, 1, MPI_INT, 1, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    CHECK(*value >= 0);
}

int main(int argc, char **argv) {
    int rank, value = 0;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    for (int round = 0; round < ROUNDS; round++) {
        if (rank == 1) {
            compute_late();
            MPI_Send(&round, 1, MPI_INT, 0, 7, MPI_COMM_WORLD);
        } else if (rank == 0) {
            compute_early();
            receive_result(&value);
            CHECK(value == round);
        }
    }
    MPI_Finalize();
    return 0;
}
