/* One-sided communication between two ranks, in 5 rounds of each kind. Ranks compute by their own processor time.
 * `fences`: rank 0 computes 10 ms, rank 1 30 ms, then both come to MPI_Win_fence in `meet_at_fence`, and rank 0 waits there
 *   5 × (30 − 10) = 100 ms for rank 1.
 * `late_post`: rank 1 opens its window to rank 0 (MPI_Win_post) once it has computed 20 ms. Rank 0 waits in `access_window` 5 × 20 =
 *   100 ms for that: in MPI_Win_start, or in MPI_Win_complete, as the implementation has it.
 * `late_complete`: rank 1 opens its window at once; rank 0 puts a number there, computes 20 ms, and ends its access
 *   (MPI_Win_complete). Rank 1 waits 5 × 20 = 100 ms in MPI_Win_wait in `close_window`.
 * `late_complete` in the last 5 rounds closes it by a loop of MPI_Win_test in `test_window`: 100 ms again.
 * What rank 0 puts is what rank 1 finds. */
#include <mpi.h>
#include <string.h>

#include "../work.h"

/* MPICH 4.0.2 loses what is put into windows of 4 bytes that it allocates. */
enum { ROUNDS = 5, WINDOW_BYTES = 4096 };

static int *memory;
static MPI_Win window;
static MPI_Group other;

NOINLINE static void compute_early(void) { BURN(10); }

NOINLINE static void compute_late(void) { BURN(30); }

NOINLINE static void compute_before_post(void) { BURN(20); }

NOINLINE static void compute_before_complete(void) { BURN(20); }

NOINLINE static void meet_at_fence(void) { CHECK(MPI_Win_fence(0, window) == MPI_SUCCESS); }

static void fences(int rank) {
    MPI_Win_fence(MPI_MODE_NOPRECEDE, window);
    for (int round = 0; round < ROUNDS; round++) {
        if (rank == 0) {
            MPI_Put(&round, 1, MPI_INT, 1, 0, 1, MPI_INT, window);
            compute_early();
        } else {
            compute_late();
        }
        meet_at_fence();
        CHECK(rank == 0 || *memory == round);
        meet_at_fence();
    }
    MPI_Win_fence(MPI_MODE_NOSUCCEED, window);
}

NOINLINE static void access_window(int value) {
    MPI_Win_start(other, 0, window);
    MPI_Put(&value, 1, MPI_INT, 1, 0, 1, MPI_INT, window);
    CHECK(MPI_Win_complete(window) == MPI_SUCCESS);
}

NOINLINE static void close_window(void) { CHECK(MPI_Win_wait(window) == MPI_SUCCESS); }

NOINLINE static void test_window(void) {
    int is_over = 0;
    while (!is_over)
        MPI_Win_test(window, &is_over);
}

static void late_post(int rank) {
    for (int round = 0; round < ROUNDS; round++) {
        if (rank == 0) {
            access_window(round);
        } else {
            compute_before_post();
            MPI_Win_post(other, 0, window);
            close_window();
            CHECK(*memory == round);
        }
    }
}

static void late_complete(int rank, void (*closes)(void)) {
    for (int round = 0; round < ROUNDS; round++) {
        if (rank == 0) {
            MPI_Win_start(other, 0, window);
            MPI_Put(&round, 1, MPI_INT, 1, 0, 1, MPI_INT, window);
            compute_before_complete();
            MPI_Win_complete(window);
        } else {
            MPI_Win_post(other, 0, window);
            closes();
            CHECK(*memory == round);
        }
    }
}

int main(int argc, char **argv) {
    int rank;
    MPI_Group all;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_group(MPI_COMM_WORLD, &all);
    int other_rank = 1 - rank;
    MPI_Group_incl(all, 1, &other_rank, &other);
    MPI_Win_allocate(WINDOW_BYTES, sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &window);
    fences(rank);
    late_post(rank);
    late_complete(rank, close_window);
    late_complete(rank, test_window);
    MPI_Group_free(&other);
    MPI_Group_free(&all);
    MPI_Win_free(&window);
    MPI_Finalize();
    return 0;
}
