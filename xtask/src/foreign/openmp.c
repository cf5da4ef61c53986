/* OpenMP's constructs, with sums that tell whether they did what they say. One line a test. (Neither gcc nor LLVM
   packages its OpenMP tests.) */
#include <omp.h>
#include <stdio.h>

static void say(const char *name, int is_right) { printf("%s %s\n", name, is_right ? "passed" : "failed"); }

static long fibonacci(int n) {
    if (n < 2) return n;
    long a, b;
#pragma omp task shared(a) if (n > 12)
    a = fibonacci(n - 1);
#pragma omp task shared(b) if (n > 12)
    b = fibonacci(n - 2);
#pragma omp taskwait
    return a + b;
}

int main(void) {
    enum { N = 20000 };
    long sum = 0;
#pragma omp parallel for reduction(+ : sum) schedule(dynamic, 7)
    for (int i = 0; i < N; i++) sum += i;
    say("for", sum == (long)N * (N - 1) / 2);
    sum = 0;
#pragma omp parallel for
    for (int i = 0; i < N; i++) {
#pragma omp critical
        sum += i;
    }
    say("critical", sum == (long)N * (N - 1) / 2);
    sum = 0;
#pragma omp parallel for
    for (int i = 0; i < N; i++) {
#pragma omp critical(named)
        sum += i;
    }
    say("critical(named)", sum == (long)N * (N - 1) / 2);
    sum = 0;
#pragma omp parallel for
    for (int i = 0; i < N; i++) {
#pragma omp atomic
        sum += i;
    }
    say("atomic", sum == (long)N * (N - 1) / 2);
    omp_lock_t lock;
    omp_nest_lock_t nest;
    omp_init_lock(&lock);
    omp_init_nest_lock(&nest);
    sum = 0;
#pragma omp parallel for
    for (int i = 0; i < N; i++) {
        omp_set_lock(&lock);
        omp_set_nest_lock(&nest);
        omp_set_nest_lock(&nest);
        sum += i;
        omp_unset_nest_lock(&nest);
        omp_unset_nest_lock(&nest);
        omp_unset_lock(&lock);
    }
    say("locks", sum == (long)N * (N - 1) / 2);
    int order = 0, wrong = 0;
#pragma omp parallel for ordered schedule(dynamic)
    for (int i = 0; i < 1000; i++) {
#pragma omp ordered
        wrong += order++ != i;
    }
    say("ordered", wrong == 0);
    int stage[8] = {0};
    wrong = 0;
#pragma omp parallel reduction(+ : wrong)
    for (int i = 0; i < 300; i++) {
        stage[omp_get_thread_num()] = i;
#pragma omp barrier
        for (int t = 0; t < omp_get_num_threads(); t++) wrong += stage[t] != i;
#pragma omp barrier
    }
    say("barrier", wrong == 0);
    int singles = 0, masters = 0, sections = 0;
#pragma omp parallel
    {
#pragma omp single
        singles++;
#pragma omp master
        masters++;
#pragma omp sections reduction(+ : sections)
        {
#pragma omp section
            sections += 1;
#pragma omp section
            sections += 2;
        }
    }
    say("single", singles == 1 && masters == 1 && sections == 3);
    long result = 0;
#pragma omp parallel
#pragma omp single
    result = fibonacci(22);
    say("tasks", result == 17711);
    sum = 0;
#pragma omp parallel
#pragma omp single
#pragma omp taskloop reduction(+ : sum) grainsize(50)
    for (int i = 0; i < 5000; i++) sum += i;
    say("taskloop", sum == 5000L * 4999 / 2);
    omp_set_max_active_levels(2);
    sum = 0;
#pragma omp parallel num_threads(2) reduction(+ : sum)
#pragma omp parallel num_threads(2) reduction(+ : sum)
    sum += 1;
    say("nested", sum == 4);
    return 7;
}
