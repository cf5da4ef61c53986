/* Long messages that are under way while both ranks compute. In each of 10 rounds the two ranks begin to receive from and to send to each
 * other 20,000 numbers, compute 20 ms of their own processor time in `interior`, rank 1 another 20 ms in `extra`, and both wait in
 * `exchange` for the messages. So long ones move on only while both are in calls of MPI: rank 0 waits for rank 1 for 10 x 20 = 200 ms,
 * though all sends and receives were posted long ago. With the argument `short` they are single numbers, which are there when rank 0
 * looks: it waits in the next round's barrier instead, where the rounds are told apart. */
#include <mpi.h>
#include <string.h>

#include "../work.h"

enum { ROUNDS = 10, LENGTH = 20000 };

NOINLINE static void interior(void) { BURN(20); }

NOINLINE static void extra(void) { BURN(20); }

NOINLINE static void exchange(MPI_Request *requests) { MPI_Waitall(2, requests, MPI_STATUSES_IGNORE); }

int main(int argc, char **argv) {
    static double received[LENGTH], sent[LENGTH];
    int rank;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    int length = argc > 1 && strcmp(argv[1], "short") == 0 ? 1 : LENGTH;
    for (int round = 0; round < ROUNDS; round++) {
        MPI_Request requests[2];
        sent[length - 1] = round;
        MPI_Irecv(received, length, MPI_DOUBLE, 1 - rank, 5, MPI_COMM_WORLD, &requests[0]);
        MPI_Isend(sent, length, MPI_DOUBLE, 1 - rank, 5, MPI_COMM_WORLD, &requests[1]);
        interior();
        if (rank == 1)
            extra();
        exchange(requests);
        CHECK(received[length - 1] == round);
        if (length == 1)
            MPI_Barrier(MPI_COMM_WORLD);
    }
    MPI_Finalize();
    return 0;
}
