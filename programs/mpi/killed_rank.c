/* A rank that is killed in mid-run. Rank 1 sends 3 messages to rank 0, computes 100 ms of its own processor time in `compute_last`
 * and kills itself; rank 0 waits in MPI_Recv, in `wait_for_ever`, for a message that never comes, until the launcher ends it: three
 * messages are known at both ends, and the last wait at one. */
#include <mpi.h>
#include <signal.h>

#include "../work.h"

NOINLINE static void compute_last(void) { BURN(100); }

NOINLINE static void wait_for_ever(int *value) {
    MPI_Recv(value, 1, MPI_INT, 1, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    CHECK(*value < 3);
}

int main(int argc, char **argv) {
    int rank, value = 0;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    for (int round = 0; round < 4; round++) {
        if (rank == 1 && round == 3) {
            compute_last();
            raise(SIGKILL);
        }
        if (rank == 1)
            MPI_Send(&round, 1, MPI_INT, 0, 3, MPI_COMM_WORLD);
        else
            wait_for_ever(&value);
    }
    MPI_Finalize();
    return 0;
}
