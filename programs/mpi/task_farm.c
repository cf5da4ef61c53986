/* A rank that hands out tasks, and others that do them: whoever waits for a message polls for it. Rank 0 makes each of 200 tasks in 0.5 ms
 * and keeps its result in 1 ms, the others do one in 3 ms.
 *
 * On more processors than ranks the polls cost nothing. Three ranks on two processors: where all wait for the one whose message is there,
 * it may have no processor before another one has polled for all of its turn. With -DYIELDS they sleep a little between two looks, and the
 * run is a third shorter. */
#include <mpi.h>
#include <unistd.h>

#include "../work.h"

enum { TASKS = 200, TASK = 1, RESULT, END };

NOINLINE static void make_task(void) { BURN(0.5); }
NOINLINE static void do_task(void) { BURN(3); }
NOINLINE static void keep_result(void) { BURN(1); }

/* Waits for a message of any kind; its kind, and whom it is from. */
static int receive(int from, int *sender) {
    int number, is_there = 0;
    MPI_Status status;
#ifdef YIELDS
    for (;;) {
        MPI_Iprobe(from, MPI_ANY_TAG, MPI_COMM_WORLD, &is_there, MPI_STATUS_IGNORE);
        if (is_there)
            break;
        usleep(20);
    }
#endif
    (void)is_there;
    MPI_Recv(&number, 1, MPI_INT, from, MPI_ANY_TAG, MPI_COMM_WORLD, &status);
    *sender = status.MPI_SOURCE;
    return status.MPI_TAG;
}

static void tell(int to, int kind) {
    int number = 0;
    MPI_Send(&number, 1, MPI_INT, to, kind, MPI_COMM_WORLD);
}

static void hand_out(int workers) {
    for (int made = 0, worker; workers > 0;) {
        if (receive(MPI_ANY_SOURCE, &worker) == RESULT)
            keep_result();
        if (made < TASKS) {
            make_task();
            made++;
            tell(worker, TASK);
        } else {
            tell(worker, END);
            workers--;
        }
    }
}

int main(int argc, char **argv) {
    int rank, ranks, master;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    if (rank == 0) {
        hand_out(ranks - 1);
    } else {
        tell(0, TASK);
        while (receive(0, &master) == TASK) {
            do_task();
            tell(0, RESULT);
        }
    }
    MPI_Finalize();
    return 0;
}
