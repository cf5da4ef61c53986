/* A chain of three. In each of 10 rounds rank 0 computes 40 ms of its own processor time in `prepare` and sends to rank 1, which
 * receives, computes 5 ms in `pass_on` and sends to rank 2, which receives. Rank 2 waits for rank 1, which itself waited for rank 0:
 * what holds rank 2 back is rank 0's `prepare` (40 of 45 ms) and rank 1's `pass_on` (5 of 45 ms).
 * Rank 1 waits 10 × 40 ms. Nothing flows back, so that rank 0 goes on at once. */
#include <mpi.h>

#include "../work.h"

enum { ROUNDS = 10, PREPARE_MS = 40, PASS_ON_MS = 5 };

NOINLINE static void prepare(void) { BURN(PREPARE_MS); }

NOINLINE static void pass_on(void) { BURN(PASS_ON_MS); }

int main(int argc, char **argv) {
    int rank, value = 0;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    for (int round = 0; round < ROUNDS; round++) {
        if (rank == 0)
            prepare();
        if (rank > 0 && rank < 3) {
            MPI_Recv(&value, 1, MPI_INT, rank - 1, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            CHECK(value == round);
        }
        if (rank == 1)
            pass_on();
        if (rank < 2)
            MPI_Send(&round, 1, MPI_INT, rank + 1, 5, MPI_COMM_WORLD);
    }
    MPI_Finalize();
    return 0;
}
