/* Work of fixed amounts, in units of a few million steps (the argument: 8 unless given): a thread that is kept busy
 * meanwhile does not have less of it to do, unlike BURN's, which is measured in the thread's CPU time.
 *
 *   main       prepare 2 | ........................................................ |
 *   worker 1             | both_sides 1 | long_side 3   | hold_lock 1 | ........... |
 *   worker 2             | both_sides 1 | short_side 1  | ........... | hold_lock 1 |
 *
 * Barriers end the parts. prepare does half of its work in step_through, which hold_lock calls for half of its work too.
 * Elapsed with two free processors: 2 + 1 + 3 + 2 = 8 units. CPU time: 2 + 2 + 4 + 2 = 10 units.
 * f times longer, the run gets longer by: prepare 2f, both_sides f, long_side 3f, short_side 0 (while f is below 2), hold_lock 2f,
 * step_through 2f, self:prepare f, worker (which main starts) 6f, main 8f. (Units of two threads that share a core's units are longer.)
 * A second argument makes it tell the CPU time of each procedure with all that it calls, in nanoseconds, before it ends.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdatomic.h>
#include "work.h"

static long steps;
static pthread_barrier_t part_end;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

enum procedure { PREPARE, STEP_THROUGH, BOTH_SIDES, LONG_SIDE, SHORT_SIDE, HOLD_LOCK, PROCEDURES };
static const char *const names[PROCEDURES] = { "prepare", "step_through", "both_sides", "long_side", "short_side", "hold_lock" };
static atomic_long used[PROCEDURES];

#define TIMED(procedure, ...)                                                                                \
    do {                                                                                                     \
        long begin_ = CPU_NANOSECONDS();                                                                     \
        __VA_ARGS__                                                                                          \
        atomic_fetch_add(&used[procedure], CPU_NANOSECONDS() - begin_);                                      \
    } while (0)

#define WORK(units)                                                                                          \
    do {                                                                                                     \
        volatile unsigned long cells_[16] __attribute__((unused));                                           \
        unsigned long value_ = 1;                                                                            \
        for (long step_ = 0; step_ < (long)((units) * steps); step_++) {                                     \
            value_ = value_ * 6364136223846793005UL + 1442695040888963407UL;                                 \
            cells_[step_ & 15] = value_;                                                                     \
        }                                                                                                    \
    } while (0)

NOINLINE void step_through(void) { TIMED(STEP_THROUGH, WORK(0.5);); }

NOINLINE void prepare(void)
{
    TIMED(PREPARE, WORK(1); step_through(); step_through(););
}

NOINLINE void both_sides(void) { TIMED(BOTH_SIDES, WORK(1);); }
NOINLINE void long_side(void) { TIMED(LONG_SIDE, WORK(3);); }
NOINLINE void short_side(void) { TIMED(SHORT_SIDE, WORK(1);); }

NOINLINE void hold_lock(void)
{
    CHECK(pthread_mutex_lock(&lock) == 0);
    TIMED(HOLD_LOCK, WORK(0.5); step_through(););
    CHECK(pthread_mutex_unlock(&lock) == 0);
}

static void *worker(void *is_first)
{
    both_sides();
    pthread_barrier_wait(&part_end);
    if (is_first)
        long_side();
    else
        short_side();
    pthread_barrier_wait(&part_end);
    hold_lock();
    return NULL;
}

int main(int count, char **words)
{
    pthread_t threads[2];
    steps = (count > 1 ? atol(words[1]) : 8) * 5000000;
    prepare();
    CHECK(pthread_barrier_init(&part_end, NULL, 2) == 0);
    for (long i = 0; i < 2; i++)
        CHECK(pthread_create(&threads[i], NULL, worker, (void *)i) == 0);
    for (int i = 0; i < 2; i++)
        CHECK(pthread_join(threads[i], NULL) == 0);
    for (int i = 0; i < PROCEDURES && count > 2; i++)
        fprintf(stderr, "%s %ld\n", names[i], (long)used[i]);
    puts("done");
    return 0;
}
