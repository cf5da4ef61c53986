/* Calls of MPI that are not followed, by two ranks. Before each of 5 rounds rank 1 computes 20 ms by its own processor time; rank 0
 * comes at once, and polls for it 5 × 20 = 100 ms in each of these, which is no work of it:
 * `makes_group`: MPI_Comm_create_group, of which nothing is known: 5 calls of each rank.
 * `meets_unknown`: a barrier on what that made, a communicator that is not known.
 * `waits_unknown`: MPI_Wait for a barrier that was begun on it.
 * `compute_late` is work of rank 1: 5 × 3 × 20 = 300 ms. */
#include <mpi.h>

#include "../work.h"

enum { ROUNDS = 5 };

NOINLINE static void compute_late(void) { BURN(20); }

NOINLINE static void makes_group(MPI_Group group, MPI_Comm *made) {
    CHECK(MPI_Comm_create_group(MPI_COMM_WORLD, group, 7, made) == MPI_SUCCESS);
}

NOINLINE static void meets_unknown(MPI_Comm made) { CHECK(MPI_Barrier(made) == MPI_SUCCESS); }

NOINLINE static void waits_unknown(MPI_Comm made) {
    MPI_Request request;
    MPI_Ibarrier(made, &request);
    CHECK(MPI_Wait(&request, MPI_STATUS_IGNORE) == MPI_SUCCESS);
}

int main(int argc, char **argv) {
    int rank;
    MPI_Group group;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_group(MPI_COMM_WORLD, &group);
    for (int round = 0; round < ROUNDS; round++) {
        MPI_Comm made;
        if (rank == 1)
            compute_late();
        makes_group(group, &made);
        if (rank == 1)
            compute_late();
        meets_unknown(made);
        if (rank == 1)
            compute_late();
        waits_unknown(made);
        MPI_Comm_free(&made);
    }
    MPI_Group_free(&group);
    MPI_Finalize();
    return 0;
}
