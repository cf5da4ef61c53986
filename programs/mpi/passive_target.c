/* Locks of all windows, and the bytes of accesses, between two ranks. In each of 5 rounds rank 0 locks all windows (MPI_Win_lock_all),
 * writes 400 bytes into the window of rank 1 and reads 40 from it, says so to rank 1 (a message of 4 bytes), computes 20 ms by its
 * own processor time in `compute_in_epoch`, and unlocks them. Rank 1 then wants the window of rank 1 for itself alone, and adds 1 to a
 * number there, in `add_alone`: it waits there 5 × 20 = 100 ms for rank 0, in MPI_Win_lock or in a later call, as the implementation
 * has it.
 * Rank 0 to rank 1: 5 × 400 bytes written in one MPI_Put and one MPI_Rput each, 5 messages. Rank 1 to rank 0: 5 × 40 read.
 * Rank 1 to itself: 5 × 4 bytes each way (MPI_Fetch_and_op). */
#include <mpi.h>

#include "../work.h"

enum { ROUNDS = 5, WRITTEN = 50, READ = 10, WINDOW_BYTES = 4096 };

NOINLINE static void compute_in_epoch(void) { BURN(20); }

NOINLINE static int add_alone(MPI_Win window) {
    int one = 1, before = -1;
    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 1, 0, window);
    MPI_Fetch_and_op(&one, &before, MPI_INT, 1, 200, MPI_SUM, window);
    MPI_Win_flush(1, window);
    CHECK(MPI_Win_unlock(1, window) == MPI_SUCCESS);
    return before;
}

int main(int argc, char **argv) {
    int rank, *memory, numbers[2 * WRITTEN] = {0}, found[READ];
    MPI_Win window;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Win_allocate(WINDOW_BYTES, sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &window);
    if (rank == 1) {
        MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 1, 0, window);
        memory[200] = 0;
        MPI_Win_unlock(1, window);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    for (int round = 0; round < ROUNDS; round++) {
        if (rank == 0) {
            MPI_Request request;
            MPI_Win_lock_all(0, window);
            MPI_Put(numbers, WRITTEN, MPI_INT, 1, 0, WRITTEN, MPI_INT, window);
            MPI_Rput(numbers + WRITTEN, WRITTEN, MPI_INT, 1, WRITTEN, WRITTEN, MPI_INT, window, &request);
            MPI_Wait(&request, MPI_STATUS_IGNORE);
            MPI_Win_flush(1, window);
            MPI_Get(found, READ, MPI_INT, 1, 0, READ, MPI_INT, window);
            MPI_Win_flush_all(window);
            MPI_Send(&round, 1, MPI_INT, 1, 7, MPI_COMM_WORLD);
            compute_in_epoch();
            MPI_Win_unlock_all(window);
        } else {
            int value;
            MPI_Recv(&value, 1, MPI_INT, 0, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            CHECK(add_alone(window) == round);
        }
        MPI_Barrier(MPI_COMM_WORLD);
    }
    MPI_Win_free(&window);
    MPI_Finalize();
    return 0;
}
