// Data in two layouts: as it stands here, and, with a macro at compile time, as a programmer would change it.
//
// T threads (8 at most) take turns by a lock, K rounds each. The first argument says what they do in a turn:
//   pad     add to a counter of one's own, of an array                T K - T transfers; -DPAD=64: none, -DPAD=32: as many
//   align   add to five sums of a struct of one's own, allocated       some; -DALIGN: none
//   split   thread 0 writes a field, the others read the one before    (T - 1) K - (T - 1), + thread 0's; -DSPLIT: none
//   order   update two fields of each of 4 records                     8 (T K - T); -DORDER: 4 (T K - T)
//   private add to a sum                                               T K - T; -DPRIVATE: none, as each thread has a sum
//   group   update two variables on lines of their own                 2 (T K - T); -DGROUP: T K - T
//   free    as pad, without turns; for measuring
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct counter {
    long value;
#ifdef PAD
    char padding[PAD - sizeof(long)];
#endif
};
static _Alignas(64) struct counter counters[8];

struct part {
    long id, address, count, sums[5];
};
static struct part *parts;

struct limits {
    long limit;
#ifdef SPLIT
    _Alignas(64)
#endif
    long used;
};
static _Alignas(64) struct limits limits;

struct record {
#ifdef ORDER
    long key, value;
    char note[112], more[128];
#else
    long key;
    char note[112];
    long value;
    char more[128];
#endif
};
static _Alignas(64) struct record records[4];

#ifdef PRIVATE
static _Thread_local long sum;
#else
static _Alignas(64) long sum;
#endif

#ifdef GROUP
static _Alignas(64) struct {
    long first, second;
} both;
#define first_total both.first
#define second_total both.second
#else
static _Alignas(64) long first_total;
static _Alignas(64) long second_total;
#endif

static _Alignas(64) pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static _Alignas(64) long rounds;
static char mode;

// A call that stays one, so that every access is made.
static __attribute__((noinline)) void add(volatile long *to) { ++*to; }

static long turn(long number) {
    switch (mode) {
    case 'p':
        add(&counters[number].value);
        break;
    case 'a':
        for (int i = 0; i < 5; i++)
            add(&parts[number].sums[i]);
        break;
    case 's':
        if (number > 0)
            return *(volatile long *)&limits.limit;
        add(&limits.used);
        break;
    case 'o':
        for (int i = 0; i < 4; i++) {
            add(&records[i].key);
            add(&records[i].value);
        }
        break;
    case 'm':
        add(&sum);
        break;
    case 'g':
        add(&first_total);
        add(&second_total);
        break;
    }
    return 0;
}

static void *work(void *argument) {
    long number = (long)argument, mine = rounds, found = 0;
    if (mode == 'f') {
        for (long round = 0; round < mine; round++)
            add(&counters[number].value);
        return NULL;
    }
    for (long round = 0; round < mine; round++) {
        pthread_mutex_lock(&lock);
        found += turn(number);
        pthread_mutex_unlock(&lock);
    }
    return (void *)found;
}

int main(int argc, char **argv) {
    const char *name = argc > 1 ? argv[1] : "pad";
    // `private` begins as `pad` does.
    mode = strcmp(name, "private") == 0 ? 'm' : name[0];
    long threads = argc > 2 ? atol(argv[2]) : 2;
    rounds = argc > 3 ? atol(argv[3]) : 100;
#ifdef ALIGN
    parts = aligned_alloc(64, 8 * sizeof *parts);
#else
    parts = malloc(8 * sizeof *parts);
#endif
    memset(parts, 0, 8 * sizeof *parts);
    pthread_t ids[8];
    for (long i = 0; i < threads; i++)
        pthread_create(&ids[i], NULL, work, (void *)i);
    for (long i = 0; i < threads; i++)
        pthread_join(ids[i], NULL);
    return 0;
}
