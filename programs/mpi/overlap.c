/* Work while a message is under way. In each of 5 rounds both ranks meet at a barrier; rank 1 computes 40 ms of its own processor
 * time in `compute_sender` and sends to rank 0, which has begun to receive, computes 30 ms in `compute_meanwhile`, and waits in
 * `finish`: for 10 ms, as max(0, 40 − 30), 50 ms in all. With the argument `long` it computes 60 ms, and waits for nothing. */
#include <mpi.h>
#include <string.h>

#include "../work.h"

enum { ROUNDS = 5 };

NOINLINE static void compute_sender(void) { BURN(40); }

NOINLINE static void compute_meanwhile(int milliseconds) { BURN(milliseconds); }

NOINLINE static void finish(MPI_Request *request) {
    MPI_Wait(request, MPI_STATUS_IGNORE);
    CHECK(*request == MPI_REQUEST_NULL);
}

int main(int argc, char **argv) {
    int rank, value;
    MPI_Request request;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    int milliseconds = argc > 1 && strcmp(argv[1], "long") == 0 ? 60 : 30;
    for (int round = 0; round < ROUNDS; round++) {
        MPI_Barrier(MPI_COMM_WORLD);
        if (rank == 1) {
            compute_sender();
            MPI_Send(&round, 1, MPI_INT, 0, 3, MPI_COMM_WORLD);
        } else {
            MPI_Irecv(&value, 1, MPI_INT, 1, 3, MPI_COMM_WORLD, &request);
            compute_meanwhile(milliseconds);
            finish(&request);
            CHECK(value == round);
        }
    }
    MPI_Finalize();
    return 0;
}
