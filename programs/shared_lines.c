// Many lines that threads hand on to each other, all alike: what one line has says what all have.
//
// T threads, L lines, K rounds. In a turn a thread updates each of its lines; a barrier ends the turn, and then each thread has
// the lines that the next thread had. There are T turns in a round, so that each line is updated by each thread once a round:
// T K requests of a line, T of them first references, T K - T transfers; L (T K - T) in all, all migratory.
// With the fourth argument `heavy` the threads also take turns by a lock at one more line, on which they add K * L times each:
// T K L - T transfers on a single line.
// With `private` each thread keeps its lines: no transfers.
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

struct line {
    _Alignas(64) long value;
};

static struct line *lines;
static struct line heavy_sum;
static _Alignas(64) pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static _Alignas(64) pthread_barrier_t barrier;
static _Alignas(64) long threads = 4;
static long count = 1024, rounds = 10;
static char mode = 'e';

static void update(struct line *line) { ++line->value; }

static void add(void) {
    pthread_mutex_lock(&lock);
    update(&heavy_sum);
    pthread_mutex_unlock(&lock);
}

static void *work(void *number) {
    long own = (long)number, all = threads, mine = count, turns = rounds * threads;
    int moves = mode != 'p', adds = mode == 'h';
    for (long turn = 0; turn < turns; turn++) {
        long part = moves ? (own + turn) % all : own;
        for (long line = part; line < mine; line += all)
            update(&lines[line]);
        pthread_barrier_wait(&barrier);
    }
    for (long time = 0; adds && time < rounds * mine; time++)
        add();
    return NULL;
}

int main(int argc, char **argv) {
    threads = argc > 1 ? atol(argv[1]) : 4;
    count = argc > 2 ? atol(argv[2]) : 1024;
    rounds = argc > 3 ? atol(argv[3]) : 10;
    mode = argc > 4 ? argv[4][0] : 'e';
    lines = aligned_alloc(64, count * sizeof *lines);
    pthread_barrier_init(&barrier, NULL, threads);
    pthread_t ids[8];
    for (long i = 0; i < threads; i++)
        pthread_create(&ids[i], NULL, work, (void *)i);
    for (long i = 0; i < threads; i++)
        pthread_join(ids[i], NULL);
    return 0;
}
