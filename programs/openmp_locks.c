/*
 * OpenMP's ways to wait, which all end in procedures of the runtime that have no names.
 *
 *   first    stats 40, counter_lock 80, .........................  barrier      3 rounds of two threads, whoever is first
 *   second   (stats 40) stats 40, (counter_lock 40) counter_lock 80, barrier
 *   thread 1 sleeps 160 ms more before the barrier
 *
 * So one of them waits about 40 ms a round for `critical section stats` and 40 ms for `counter_lock`, both mutexes, and
 * thread 0 at least 80 ms for the barrier in main. The runtime spins for some milliseconds before it blocks.
 */
#include <omp.h>
#include <unistd.h>

static omp_lock_t counter_lock;

int main(void)
{
	omp_init_lock(&counter_lock);
#pragma omp parallel num_threads(2)
	for (int round = 0; round < 3; round++) {
#pragma omp critical(stats)
		usleep(40000);
		omp_set_lock(&counter_lock);
		usleep(80000);
		omp_unset_lock(&counter_lock);
		if (omp_get_thread_num() == 1)
			usleep(160000);
#pragma omp barrier
	}
	omp_destroy_lock(&counter_lock);
}
