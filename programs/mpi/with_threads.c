/* MPI with threads. In each of 5 rounds rank 1 starts two threads in turn that compute 20 ms of their own processor time each in
 * `compute_part`, joins each, and sends; rank 0 waits 5 × 40 = 200 ms in `receive_sum` for rank 1. The critical path is compute_part,
 * 200 ms, in threads that never call MPI. */
#include <mpi.h>
#include <pthread.h>

#include "../work.h"

enum { ROUNDS = 5 };

NOINLINE static void compute_part(void) { BURN(20); }

static void *work(void *nothing) {
    compute_part();
    return nothing;
}

NOINLINE static void receive_sum(int *sum) {
    MPI_Recv(sum, 1, MPI_INT, 1, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    CHECK(*sum >= 0);
}

int main(int argc, char **argv) {
    int rank, provided, sum;
    pthread_t thread;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    for (int round = 0; round < ROUNDS; round++) {
        MPI_Barrier(MPI_COMM_WORLD);
        if (rank == 0) {
            receive_sum(&sum);
            continue;
        }
        for (int index = 0; index < 2; index++) {
            CHECK(pthread_create(&thread, NULL, work, NULL) == 0);
            pthread_join(thread, NULL);
        }
        MPI_Send(&round, 1, MPI_INT, 0, 3, MPI_COMM_WORLD);
    }
    MPI_Finalize();
    return 0;
}
