/* Wildcards, waited for in reverse, on communicators of halves. Ranks 0 and 1 make one half, 2 and 3 the other, in reverse order. In each
 * of 5 rounds the second rank of a half (0 or 2) begins 3 receives from any source with any tag, and waits for them from the last to
 * the first; the first one (1 or 3) computes 30 ms of its own processor time in `compute` and sends 1, 2 and 3 integers. So the second
 * waits 5 × 30 = 150 ms for the rank of its own half alone, 3 × 5 messages of 6 integers a round are known at both ends in each half,
 * and all have the length that they were sent with. */
#include <mpi.h>

#include "../work.h"

enum { ROUNDS = 5, SEVERAL = 3 };

NOINLINE static void compute(void) { BURN(30); }

NOINLINE static void wait_in_reverse(MPI_Request *requests) {
    for (int index = SEVERAL - 1; index >= 0; index--)
        MPI_Wait(&requests[index], MPI_STATUS_IGNORE);
    CHECK(requests[0] == MPI_REQUEST_NULL);
}

int main(int argc, char **argv) {
    int rank, values[SEVERAL][SEVERAL] = {{0}};
    MPI_Comm half;
    MPI_Request requests[SEVERAL];
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_split(MPI_COMM_WORLD, rank / 2, -rank, &half);
    for (int round = 0; round < ROUNDS; round++) {
        MPI_Barrier(half);
        if (rank % 2 == 1) {
            compute();
            for (int index = 0; index < SEVERAL; index++)
                MPI_Send(values[index], index + 1, MPI_INT, 1, 5 + index, half);
        } else {
            for (int index = 0; index < SEVERAL; index++)
                MPI_Irecv(values[index], SEVERAL, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, half, &requests[index]);
            wait_in_reverse(requests);
        }
    }
    MPI_Finalize();
    return 0;
}
