/* A lock of a window. Ranks 0 and 1 take turns: in each of 5 rounds rank 0 locks the window of rank 0 for itself alone, says so to
 * rank 1 (a message), computes 20 ms by its own processor time in `compute_locked`, and unlocks it; rank 1 then wants the lock in
 * `take_lock`, and waits there 5 × 20 = 100 ms for rank 0. With the argument `shared` both share the lock, and nobody waits. */
#include <mpi.h>
#include <string.h>

#include "../work.h"

/* MPICH 4.0.2 loses what is put into windows of 4 bytes that it allocates. */
enum { ROUNDS = 5, WINDOW_BYTES = 4096 };

NOINLINE static void compute_locked(void) { BURN(20); }

NOINLINE static void take_lock(int kind, MPI_Win window) { CHECK(MPI_Win_lock(kind, 0, 0, window) == MPI_SUCCESS); }

int main(int argc, char **argv) {
    int rank, *memory, value = 0;
    MPI_Win window;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    int kind = argc > 1 && strcmp(argv[1], "shared") == 0 ? MPI_LOCK_SHARED : MPI_LOCK_EXCLUSIVE;
    MPI_Win_allocate(WINDOW_BYTES, sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &window);
    for (int round = 0; round < ROUNDS; round++) {
        if (rank == 0) {
            MPI_Win_lock(kind, 0, 0, window);
            MPI_Get(&value, 1, MPI_INT, 0, 0, 1, MPI_INT, window);
            MPI_Win_flush(0, window);
            MPI_Send(&round, 1, MPI_INT, 1, 7, MPI_COMM_WORLD);
            compute_locked();
        } else {
            MPI_Recv(&value, 1, MPI_INT, 0, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            take_lock(kind, window);
            MPI_Get(&value, 1, MPI_INT, 0, 0, 1, MPI_INT, window);
        }
        MPI_Win_unlock(0, window);
        MPI_Barrier(MPI_COMM_WORLD);
    }
    MPI_Win_free(&window);
    MPI_Finalize();
    return 0;
}
