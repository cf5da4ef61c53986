/* MPI with two threads that share a lock, in one process or in ranks. Each thread makes 10 sections in `compute_part`, of 10 ms of its own
 * processor time each, with one mutex: never two at a time, so compute_part is 200 ms on the critical path of each rank, however
 * long MPI_Init and MPI_Finalize take. */
#include <mpi.h>
#include <pthread.h>

#include "../work.h"

enum { SECTIONS = 10 };

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

NOINLINE static void compute_part(void) { BURN(10); }

static void *work(void *nothing) {
    for (int section = 0; section < SECTIONS; section++) {
        pthread_mutex_lock(&mutex);
        compute_part();
        pthread_mutex_unlock(&mutex);
    }
    return nothing;
}

int main(int argc, char **argv) {
    int provided;
    pthread_t threads[2];
    MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &provided);
    for (int index = 0; index < 2; index++)
        CHECK(pthread_create(&threads[index], NULL, work, NULL) == 0);
    for (int index = 0; index < 2; index++)
        pthread_join(threads[index], NULL);
    MPI_Finalize();
    return 0;
}
