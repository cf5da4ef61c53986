/* Who comes second to last. Before each of 10 barriers rank 0 computes 5 ms of its own processor time in `compute_short`, rank 1 30 ms
 * in `compute_middle` and rank 2 60 ms in `compute_long`. Without `compute_long` the ranks wait for rank 1: the run takes
 * 10 × (60 − 30) = 300 ms less, not 600, as it would if they waited for rank 2 alone. Built with
 * -DSCALED=\"compute_long\" -DFACTOR=0 it is that run. */
#include <mpi.h>

#include "../work.h"

enum { ROUNDS = 10 };

NOINLINE static void compute_short(void) { BURN(5); }

NOINLINE static void compute_middle(void) { BURN(30); }

NOINLINE static void compute_long(void) { BURN(60); }

int main(int argc, char **argv) {
    int rank;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    for (int round = 0; round < ROUNDS; round++) {
        if (rank == 0)
            compute_short();
        else if (rank == 1)
            compute_middle();
        else
            compute_long();
        MPI_Barrier(MPI_COMM_WORLD);
    }
    MPI_Finalize();
    return 0;
}
