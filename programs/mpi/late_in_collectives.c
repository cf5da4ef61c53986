/* Who waits for whom in a collective operation. Before each of 5 rounds of each part the three ranks meet in MPI_Barrier, in `line_up`;
 * then one of them computes 40 ms of its own processor time in `compute`, and all enter the operation:
 *   late_root        the root of a broadcast computes: the two others wait 5 × 40 = 200 ms for it each
 *   late_leaf        one that receives computes: nobody waits for it in MPI_Bcast, as a message this short is sent whether or not it
 *                    is received
 *   early_root       two that send to the root of a reduction compute, 20 and 40 ms: the root waits 5 × 40 = 200 ms, and nobody else
 *   late_gather      the root of a gather computes: nobody waits for it
 *   scan_of_first    the first rank of a scan computes: the two others wait 200 ms each
 *   scan_of_last     the last rank of a scan computes: nobody waits for it */
#include <mpi.h>

#include "../work.h"

enum { ROUNDS = 5, COMPUTE_MS = 40 };

static int rank;

NOINLINE static void compute(double part) { BURN(part * COMPUTE_MS); }

NOINLINE static void line_up(void) {
    MPI_Barrier(MPI_COMM_WORLD);
    CHECK(rank >= 0);
}

NOINLINE static void late_root(void) {
    int value = rank;
    MPI_Bcast(&value, 1, MPI_INT, 1, MPI_COMM_WORLD);
    CHECK(value == 1);
}

NOINLINE static void late_leaf(void) {
    int value = rank;
    MPI_Bcast(&value, 1, MPI_INT, 0, MPI_COMM_WORLD);
    CHECK(value == 0);
}

NOINLINE static void early_root(void) {
    int sum = 0;
    MPI_Reduce(&rank, &sum, 1, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD);
    CHECK(rank != 0 || sum == 3);
}

NOINLINE static void late_gather(void) {
    int all[3] = {0, 0, 0};
    MPI_Gather(&rank, 1, MPI_INT, all, 1, MPI_INT, 2, MPI_COMM_WORLD);
    CHECK(rank != 2 || all[1] == 1);
}

NOINLINE static void scan_of_first(void) {
    int sum = 0;
    MPI_Scan(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    CHECK(sum == rank * (rank + 1) / 2);
}

NOINLINE static void scan_of_last(void) {
    int sum = 0;
    MPI_Scan(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    CHECK(sum == rank * (rank + 1) / 2);
}

static void part(void (*operation)(void), double first, double second, double third) {
    double parts[] = {first, second, third};
    for (int round = 0; round < ROUNDS; round++) {
        line_up();
        if (parts[rank] > 0)
            compute(parts[rank]);
        operation();
    }
}

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    part(late_root, 0, 1, 0);
    part(late_leaf, 0, 0, 1);
    part(early_root, 0, 0.5, 1);
    part(late_gather, 0, 0, 1);
    part(scan_of_first, 1, 0, 0);
    part(scan_of_last, 0, 0, 1);
    MPI_Finalize();
    return 0;
}
