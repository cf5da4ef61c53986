/* The same wait by every call that can wait. In each of 5 rounds of each way both ranks meet at a barrier, then rank 1 computes
 * 20 ms of its own processor time in `compute` before it sends (or meets rank 0); rank 0 computes nothing. So rank 0 waits 5 × 20 =
 * 100 ms in each of the procedures `by_…` for rank 1, in `meets_by_…` for the communicator of both, whether or not it polls.
 * In `between_looks` it computes 5 ms before each look at its receives, until rank 1 has computed 100 ms and sent: that is work,
 * and no wait. Nor is most of `between_bursts`, where it computes some 50 us after every 100 looks, until the same. */
#include <mpi.h>
#include <string.h>

#include "../work.h"

enum { ROUNDS = 5, COMPUTE_MS = 20, TAG = 3, SEVERAL = 3 };

static int rank;
static int value[SEVERAL];
static MPI_Request requests[SEVERAL];

NOINLINE static void compute(void) { BURN(COMPUTE_MS); }

static void send_values(void) {
    compute();
    for (int index = 0; index < SEVERAL; index++)
        MPI_Send(&index, 1, MPI_INT, 0, TAG + index, MPI_COMM_WORLD);
}

static void begin_receives(void) {
    for (int index = 0; index < SEVERAL; index++) {
        value[index] = -1;
        int from = index == 1 ? MPI_ANY_SOURCE : 1;
        MPI_Irecv(&value[index], 1, MPI_INT, from, TAG + index, MPI_COMM_WORLD, &requests[index]);
    }
}

static void check_values(void) {
    for (int index = 0; index < SEVERAL; index++)
        CHECK(value[index] == index);
}

NOINLINE static void by_waitall(void) {
    MPI_Waitall(SEVERAL, requests, MPI_STATUSES_IGNORE);
    check_values();
}

NOINLINE static void by_waitany(void) {
    for (int index, left = SEVERAL; left > 0; left--)
        MPI_Waitany(SEVERAL, requests, &index, MPI_STATUS_IGNORE);
    check_values();
}

NOINLINE static void by_waitsome(void) {
    int many, indices[SEVERAL];
    MPI_Status statuses[SEVERAL];
    for (int left = SEVERAL; left > 0; left -= many)
        MPI_Waitsome(SEVERAL, requests, &many, indices, statuses);
    check_values();
}

NOINLINE static void by_test(void) {
    for (int index = 0, done = 0; index < SEVERAL; index += done)
        MPI_Test(&requests[index], &done, MPI_STATUS_IGNORE);
    check_values();
}

NOINLINE static void by_testall(void) {
    for (int done = 0; !done;)
        MPI_Testall(SEVERAL, requests, &done, MPI_STATUSES_IGNORE);
    check_values();
}

NOINLINE static void by_testany(void) {
    for (int index, done, left = SEVERAL; left > 0; left -= done)
        MPI_Testany(SEVERAL, requests, &index, &done, MPI_STATUS_IGNORE);
    check_values();
}

NOINLINE static void by_testsome(void) {
    int many, indices[SEVERAL];
    for (int left = SEVERAL; left > 0; left -= many)
        MPI_Testsome(SEVERAL, requests, &many, indices, MPI_STATUSES_IGNORE);
    check_values();
}

static void receive_all(int from) {
    for (int index = 0; index < SEVERAL; index++)
        MPI_Recv(&value[index], 1, MPI_INT, from, TAG + index, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    check_values();
}

NOINLINE static void by_probe(void) {
    MPI_Status status;
    MPI_Probe(MPI_ANY_SOURCE, TAG, MPI_COMM_WORLD, &status);
    receive_all(status.MPI_SOURCE);
}

NOINLINE static void by_iprobe(void) {
    for (int found = 0; !found;)
        MPI_Iprobe(MPI_ANY_SOURCE, TAG + 1, MPI_COMM_WORLD, &found, MPI_STATUS_IGNORE);
    receive_all(1);
}

NOINLINE static void by_mprobe(void) {
    MPI_Message message;
    for (int index = 0; index < SEVERAL; index++) {
        MPI_Mprobe(MPI_ANY_SOURCE, TAG + index, MPI_COMM_WORLD, &message, MPI_STATUS_IGNORE);
        MPI_Mrecv(&value[index], 1, MPI_INT, &message, MPI_STATUS_IGNORE);
    }
    check_values();
}

NOINLINE static void by_improbe(void) {
    MPI_Message message;
    for (int index = 0, found = 0; index < SEVERAL; index += found) {
        MPI_Improbe(1, TAG + index, MPI_COMM_WORLD, &found, &message, MPI_STATUS_IGNORE);
        if (found) {
            MPI_Imrecv(&value[index], 1, MPI_INT, &message, requests);
            MPI_Wait(requests, MPI_STATUS_IGNORE);
        }
    }
    check_values();
}

NOINLINE static void by_persistent(void) {
    MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
    CHECK(value[0] == 7);
}

NOINLINE static void by_sendrecv(void) {
    int sent = 1;
    MPI_Sendrecv(&sent, 1, MPI_INT, 1, TAG, value, 1, MPI_INT, 1, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    CHECK(value[0] == 2);
}

NOINLINE static void meets_by_ibarrier(MPI_Comm both) {
    MPI_Ibarrier(both, requests);
    MPI_Wait(requests, MPI_STATUS_IGNORE);
    CHECK(requests[0] == MPI_REQUEST_NULL);
}

NOINLINE static void meets_by_iallreduce(MPI_Comm both) {
    int sum = 0, done = 0;
    MPI_Iallreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, both, requests);
    while (!done)
        MPI_Test(requests, &done, MPI_STATUS_IGNORE);
    CHECK(sum == 1);
}

NOINLINE static void meets_by_ibcast(MPI_Comm both) {
    int sent = 5 * rank;
    MPI_Ibcast(&sent, 1, MPI_INT, 1, both, requests);
    MPI_Waitall(1, requests, MPI_STATUSES_IGNORE);
    CHECK(sent == 5);
}

NOINLINE static void look_and_compute(void) { BURN(5); }

NOINLINE static void between_looks(void) {
    begin_receives();
    for (int done = 0; !done;) {
        look_and_compute();
        MPI_Testall(SEVERAL, requests, &done, MPI_STATUSES_IGNORE);
    }
    check_values();
}

NOINLINE static void burst_and_compute(void) {
    volatile unsigned long cells[16] = {0};
    for (unsigned long step = 0; step < 20000; step++)
        cells[step & 15] += step * step;
}

NOINLINE static void between_bursts(void) {
    begin_receives();
    for (int done = 0; !done;) {
        burst_and_compute();
        for (int look = 0; look < 100 && !done; look++)
            MPI_Testall(SEVERAL, requests, &done, MPI_STATUSES_IGNORE);
    }
    check_values();
}

/* Rank 0 does this, while rank 1 computes as much as in all rounds before it sends. */
static void overlap(void (*receive)(void)) {
    if (rank == 1) {
        for (int part = 1; part < ROUNDS; part++)
            compute();
        send_values();
    } else {
        receive();
    }
}

static void exchange(void (*receive)(void), int begins) {
    for (int round = 0; round < ROUNDS; round++) {
        MPI_Barrier(MPI_COMM_WORLD);
        if (rank == 1) {
            send_values();
        } else {
            if (begins)
                begin_receives();
            receive();
        }
    }
    MPI_Barrier(MPI_COMM_WORLD);
}

static void persist(void) {
    int sent = 7;
    if (rank == 1)
        MPI_Send_init(&sent, 1, MPI_INT, 0, TAG, MPI_COMM_WORLD, requests);
    else
        MPI_Recv_init(value, 1, MPI_INT, 1, TAG, MPI_COMM_WORLD, requests);
    for (int round = 0; round < ROUNDS; round++) {
        value[0] = -1;
        MPI_Barrier(MPI_COMM_WORLD);
        if (rank == 1)
            compute();
        if (round % 2 == 0)
            MPI_Start(requests);
        else
            MPI_Startall(1, requests);
        if (rank == 1)
            MPI_Wait(requests, MPI_STATUS_IGNORE);
        else
            by_persistent();
    }
    MPI_Request_free(requests);
    /* A receive that is begun, cancelled, and gets nothing: the next one gets the next message. */
    if (rank == 0) {
        MPI_Irecv(value, 1, MPI_INT, 1, TAG, MPI_COMM_WORLD, requests);
        MPI_Cancel(requests);
        MPI_Wait(requests, MPI_STATUS_IGNORE);
    }
    MPI_Barrier(MPI_COMM_WORLD);
}

static void swap_values(void) {
    int sent = 2, got;
    for (int round = 0; round < ROUNDS; round++) {
        MPI_Barrier(MPI_COMM_WORLD);
        if (rank == 1) {
            compute();
            MPI_Sendrecv(&sent, 1, MPI_INT, 0, TAG, &got, 1, MPI_INT, 0, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        } else {
            by_sendrecv();
        }
    }
    MPI_Barrier(MPI_COMM_WORLD);
}

static void meet(void (*meets)(MPI_Comm), MPI_Comm both) {
    for (int round = 0; round < ROUNDS; round++) {
        MPI_Barrier(MPI_COMM_WORLD);
        if (rank == 1)
            compute();
        meets(both);
    }
    MPI_Barrier(both);
    MPI_Comm_free(&both);
}

int main(int argc, char **argv) {
    MPI_Comm made;
    MPI_Group group;
    int lengths[] = {2}, periods[] = {0};
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    exchange(by_waitall, 1);
    exchange(by_waitany, 1);
    exchange(by_waitsome, 1);
    exchange(by_test, 1);
    exchange(by_testall, 1);
    exchange(by_testany, 1);
    exchange(by_testsome, 1);
    exchange(by_probe, 0);
    exchange(by_iprobe, 0);
    exchange(by_mprobe, 0);
    exchange(by_improbe, 0);
    persist();
    swap_values();
    MPI_Comm_dup(MPI_COMM_WORLD, &made);
    meet(meets_by_ibarrier, made);
    MPI_Comm_group(MPI_COMM_WORLD, &group);
    MPI_Comm_create(MPI_COMM_WORLD, group, &made);
    meet(meets_by_iallreduce, made);
    MPI_Cart_create(MPI_COMM_WORLD, 1, lengths, periods, 0, &made);
    meet(meets_by_ibcast, made);
    overlap(between_looks);
    overlap(between_bursts);
    MPI_Finalize();
    return 0;
}
