/* What a call costs: a process alone sends itself 20,000 messages, 7 times, by MPI_Irecv, MPI_Send and MPI_Wait, and prints the processor
 * time of one call of these in nanoseconds, each time. Bare and recorded, in turn, the difference is what a recorded call costs. */
#include <mpi.h>

#include "../work.h"

enum { ROUNDS = 7, MESSAGES = 20000, CALLS = 3, TAG = 1 };

NOINLINE static void send_to_itself(void) {
    int sent = 1, received = 0;
    MPI_Request request;
    MPI_Irecv(&received, 1, MPI_INT, 0, TAG, MPI_COMM_WORLD, &request);
    MPI_Send(&sent, 1, MPI_INT, 0, TAG, MPI_COMM_WORLD);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    CHECK(received == 1);
}

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    for (int round = 0; round < ROUNDS; round++) {
        long begin = CPU_NANOSECONDS();
        for (int message = 0; message < MESSAGES; message++)
            send_to_itself();
        printf("%.0f\n", (double)(CPU_NANOSECONDS() - begin) / MESSAGES / CALLS);
        /* The recorder keeps up. */
        struct timespec pause = {0, 300000000};
        nanosleep(&pause, NULL);
    }
    MPI_Finalize();
    return 0;
}
