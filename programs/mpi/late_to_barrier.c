/* A barrier to which one comes late. Before each of 10 barriers rank 0 computes 10 ms of its own processor time, rank 1 20 ms and
 * rank 2 60 ms, in `compute_part`: ranks 0 and 1 wait 50 and 40 ms in MPI_Barrier for rank 2, 10 × (50 + 40) = 900 ms in all, and
 * rank 2 never. With the argument `allreduce` they meet in MPI_Allreduce, to the same effect.
 * The critical path is rank 2's compute_part, 600 ms. */
#include <mpi.h>
#include <string.h>

#include "../work.h"

enum { ROUNDS = 10 };

NOINLINE static void compute_part(int rank) {
    static const int milliseconds[] = {10, 20, 60};
    BURN(milliseconds[rank % 3]);
}

NOINLINE static void meet(int adds) {
    double own = 1, sum = 0;
    if (adds)
        MPI_Allreduce(&own, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    else
        MPI_Barrier(MPI_COMM_WORLD);
    CHECK(!adds || sum > 0);
}

int main(int argc, char **argv) {
    int rank;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    int adds = argc > 1 && strcmp(argv[1], "allreduce") == 0;
    for (int round = 0; round < ROUNDS; round++) {
        compute_part(rank);
        meet(adds);
    }
    MPI_Finalize();
    return 0;
}
