/* A library with OpenMP in it, which the program below loads for itself alone. */
#include <omp.h>

long sum(int count) {
    long total = 0;
#pragma omp parallel for schedule(dynamic) reduction(+ : total) num_threads(3)
    for (int i = 0; i < count; i++) total += i;
    omp_lock_t lock;
    omp_init_lock(&lock);
#pragma omp parallel num_threads(2)
    {
        omp_set_lock(&lock);
        total += 1;
        omp_unset_lock(&lock);
#pragma omp critical
        total += 1;
    }
    omp_destroy_lock(&lock);
    return total;
}
