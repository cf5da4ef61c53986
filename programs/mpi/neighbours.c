/* Operations among neighbours, by four ranks in a ring. In each of 5 rounds all meet at a barrier, rank 0 computes 20 ms by its own
 * processor time in `compute_late`, and all exchange a number with their neighbours. Only those wait for rank 0 that it sends to:
 * `exchanges` and `exchanges_later` (a ring in which both neighbours send): ranks 1 and 3, 2 × 5 × 20 = 200 ms in all; rank 2 does not.
 * `passes_on` (each sends to the next one only): rank 1, 100 ms; ranks 2 and 3 do not.
 * Without operations among neighbours that are prepared (Open MPI 4 calls them MPIX_) there is nothing else. */
#include <mpi.h>
#if defined(OPEN_MPI) && MPI_VERSION < 4
#include <mpi-ext.h>
#define MPI_Neighbor_allgather_init MPIX_Neighbor_allgather_init
#endif

#include "../work.h"

enum { ROUNDS = 5, RANKS = 4 };

NOINLINE static void compute_late(void) { BURN(20); }

static void begin_round(int rank) {
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0)
        compute_late();
}

NOINLINE static void exchanges(int rank, MPI_Comm ring) {
    int found[2];
    CHECK(MPI_Neighbor_allgather(&rank, 1, MPI_INT, found, 1, MPI_INT, ring) == MPI_SUCCESS);
    CHECK(found[0] == (rank + RANKS - 1) % RANKS && found[1] == (rank + 1) % RANKS);
}

NOINLINE static void exchanges_later(int rank, MPI_Comm ring) {
    int found[2];
    MPI_Request request;
    MPI_Ineighbor_allgather(&rank, 1, MPI_INT, found, 1, MPI_INT, ring, &request);
    CHECK(MPI_Wait(&request, MPI_STATUS_IGNORE) == MPI_SUCCESS);
    CHECK(found[0] == (rank + RANKS - 1) % RANKS && found[1] == (rank + 1) % RANKS);
}

NOINLINE static void passes_on(MPI_Request *request) {
    MPI_Start(request);
    CHECK(MPI_Wait(request, MPI_STATUS_IGNORE) == MPI_SUCCESS);
}

int main(int argc, char **argv) {
    int rank, found = -1, length = RANKS, yes = 1;
    MPI_Comm ring, line;
    MPI_Request request;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    int before = (rank + RANKS - 1) % RANKS, next = (rank + 1) % RANKS;
    MPI_Cart_create(MPI_COMM_WORLD, 1, &length, &yes, 0, &ring);
    MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 1, &before, MPI_UNWEIGHTED, 1, &next, MPI_UNWEIGHTED,
                                   MPI_INFO_NULL, 0, &line);
    MPI_Neighbor_allgather_init(&rank, 1, MPI_INT, &found, 1, MPI_INT, line, MPI_INFO_NULL, &request);
    for (int round = 0; round < ROUNDS; round++) {
        begin_round(rank);
        exchanges(rank, ring);
        begin_round(rank);
        exchanges_later(rank, ring);
        begin_round(rank);
        passes_on(&request);
        CHECK(found == before);
    }
    MPI_Request_free(&request);
    MPI_Comm_free(&ring);
    MPI_Comm_free(&line);
    MPI_Finalize();
    return 0;
}
