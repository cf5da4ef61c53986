// The threads of an OpenMP team take turns with a datum, which each construct hands on in its own way.
//
// T threads, K turns of each: T * K - T transfers of the datum's line, all migratory, as the turns exclude each other.
//
//   critical   a critical section with a name      lock      a lock of OpenMP's
//   unnamed    one without                         ordered   the ordered part of a loop, whose turns go round
//
// `copied`: in each of K rounds one thread writes, and all read where `copyprivate` says: (T - 1)(K - 1) transfers after the
// first references. `regions`: the first thread writes, and all read in a parallel region: as many.
#include <omp.h>
#include <stdlib.h>
#include <string.h>

static struct datum {
    _Alignas(64) long value;
} datum;
static _Alignas(64) omp_lock_t lock;

__attribute__((noinline)) static void take_turn(void) { datum.value++; }

__attribute__((noinline)) static long look(const volatile long *value) { return *value; }

int main(int argc, char **argv) {
    const char *mode = argc > 1 ? argv[1] : "critical";
    int threads = argc > 2 ? atoi(argv[2]) : 2, rounds = argc > 3 ? atoi(argv[3]) : 100;
    omp_set_num_threads(threads);
    omp_set_dynamic(0);
    if (strcmp(mode, "critical") == 0) {
#pragma omp parallel
        for (int i = 0; i < rounds; i++) {
#pragma omp critical(turns)
            take_turn();
        }
    } else if (strcmp(mode, "unnamed") == 0) {
#pragma omp parallel
        for (int i = 0; i < rounds; i++) {
#pragma omp critical
            take_turn();
        }
    } else if (strcmp(mode, "lock") == 0) {
        omp_init_lock(&lock);
#pragma omp parallel
        for (int i = 0; i < rounds; i++) {
            omp_set_lock(&lock);
            take_turn();
            omp_unset_lock(&lock);
        }
    } else if (strcmp(mode, "ordered") == 0) {
#pragma omp parallel for ordered schedule(static, 1)
        for (int i = 0; i < rounds * threads; i++) {
#pragma omp ordered
            take_turn();
        }
    } else if (strcmp(mode, "copied") == 0) {
#pragma omp parallel
        for (int i = 0; i < rounds; i++) {
            long *from;
#pragma omp single copyprivate(from)
            {
                take_turn();
                from = &datum.value;
            }
            look(from);
#pragma omp barrier
        }
    } else {
        long sum = 0;
        for (int round = 0; round < rounds; round++) {
            take_turn();
#pragma omp parallel for reduction(+ : sum) schedule(static)
            for (int i = 0; i < threads; i++)
                sum += look(&datum.value);
        }
        datum.value = look(&sum);
    }
    return 0;
}
