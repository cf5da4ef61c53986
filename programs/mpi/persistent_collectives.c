/* Collective operations that are prepared once and started again and again, by two ranks. Before each of 5 rounds rank 0 computes
 * 10 ms by its own processor time, rank 1 30 ms; then both start the operation and wait for it, and rank 0 waits 5 × (30 − 10) = 100 ms
 * for rank 1: in `meets_by_barrier`, in `meets_by_allreduce`, and in `meets_by_bcast` (rank 1 is the root).
 * `overlaps`: rank 0 starts the operation first, computes 10 ms, and waits; rank 1 computes 30 ms, and starts it: 100 ms again.
 * In `late_leaf` rank 0 is the root of a broadcast, and comes first: nobody waits for it. */
#include <mpi.h>
#if defined(OPEN_MPI) && MPI_VERSION < 4
#include <mpi-ext.h>
#define MPI_Barrier_init MPIX_Barrier_init
#define MPI_Allreduce_init MPIX_Allreduce_init
#define MPI_Bcast_init MPIX_Bcast_init
#endif

#include "../work.h"

enum { ROUNDS = 5 };

NOINLINE static void compute_early(void) { BURN(10); }

NOINLINE static void compute_late(void) { BURN(30); }

static void compute(int rank) {
    if (rank == 0)
        compute_early();
    else
        compute_late();
}

NOINLINE static void meets_by_barrier(MPI_Request *request) {
    MPI_Start(request);
    CHECK(MPI_Wait(request, MPI_STATUS_IGNORE) == MPI_SUCCESS);
}

NOINLINE static void meets_by_allreduce(MPI_Request *request) {
    MPI_Startall(1, request);
    CHECK(MPI_Waitall(1, request, MPI_STATUSES_IGNORE) == MPI_SUCCESS);
}

NOINLINE static void meets_by_bcast(MPI_Request *request) {
    MPI_Start(request);
    CHECK(MPI_Wait(request, MPI_STATUS_IGNORE) == MPI_SUCCESS);
}

NOINLINE static void late_leaf(MPI_Request *request) {
    MPI_Start(request);
    CHECK(MPI_Wait(request, MPI_STATUS_IGNORE) == MPI_SUCCESS);
}

NOINLINE static void overlaps(MPI_Request *request, int rank) {
    if (rank == 0)
        MPI_Start(request);
    compute(rank);
    if (rank == 1)
        MPI_Start(request);
    CHECK(MPI_Wait(request, MPI_STATUS_IGNORE) == MPI_SUCCESS);
}

int main(int argc, char **argv) {
    int rank, own, sum, value = 0;
    MPI_Request barrier, reduction, late, early;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Barrier_init(MPI_COMM_WORLD, MPI_INFO_NULL, &barrier);
    MPI_Allreduce_init(&own, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, MPI_INFO_NULL, &reduction);
    MPI_Bcast_init(&value, 1, MPI_INT, 1, MPI_COMM_WORLD, MPI_INFO_NULL, &late);
    MPI_Bcast_init(&value, 1, MPI_INT, 0, MPI_COMM_WORLD, MPI_INFO_NULL, &early);
    for (int round = 0; round < ROUNDS; round++) {
        compute(rank);
        meets_by_barrier(&barrier);
        compute(rank);
        own = rank + round;
        meets_by_allreduce(&reduction);
        CHECK(sum == 1 + 2 * round);
        compute(rank);
        meets_by_bcast(&late);
        overlaps(&barrier, rank);
        compute(rank);
        late_leaf(&early);
        MPI_Barrier(MPI_COMM_WORLD);
    }
    MPI_Request_free(&barrier);
    MPI_Request_free(&reduction);
    MPI_Request_free(&late);
    MPI_Request_free(&early);
    MPI_Finalize();
    return 0;
}
