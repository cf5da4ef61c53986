/* Uneven shares of one work. Before each of 10 calls of MPI_Allreduce in `meet` each rank computes its share of it in `compute_part`, by
 * its own processor time: rank 0 20 ms, the last rank 60 ms, all others 40 ms. Built with -DEVEN_SHARES all compute 40 ms: where each
 * rank has a processor the run takes 10 × (60 − 40) = 200 ms less. On two processors four ranks take 10 × (20 + 40 + 40 + 60) / 2 =
 * 800 ms either way, and gain nothing.
 * With the argument `send` two ranks meet otherwise: rank 1 sends to rank 0, which receives in `receive_result`. As before the run
 * takes 600 ms, and 400 ms with even shares.
 * Rank 0 prints the seconds from the first meeting to the last. */
#include <mpi.h>
#include <string.h>

#include "../work.h"

enum { ROUNDS = 10 };

NOINLINE static void compute_part(int rank, int size) {
#ifdef EVEN_SHARES
    BURN(40);
#else
    BURN(rank == 0 ? 20 : rank == size - 1 ? 60 : 40);
#endif
}

NOINLINE static void meet(void) {
    double own = 1, sum = 0;
    MPI_Allreduce(&own, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    CHECK(sum > 0);
}

NOINLINE static void receive_result(int *value) {
    MPI_Recv(value, 1, MPI_INT, 1, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    CHECK(*value >= 0);
}

int main(int argc, char **argv) {
    int rank, size, value;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    int sends = argc > 1 && strcmp(argv[1], "send") == 0;
    meet();
    double begin = MPI_Wtime();
    for (int round = 0; round < ROUNDS; round++) {
        compute_part(rank, size);
        if (!sends)
            meet();
        else if (rank == 1)
            MPI_Send(&round, 1, MPI_INT, 0, 7, MPI_COMM_WORLD);
        else
            receive_result(&value);
    }
    if (rank == 0)
        printf("%.3f\n", MPI_Wtime() - begin);
    MPI_Finalize();
    return 0;
}
