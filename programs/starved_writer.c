/* A writer of a reader-writer lock that lets readers pass: there is always one who reads.
 *
 *   reader 1  | scan 2 | | scan 2 | | scan 2 | ...      two of them, until the writer ends
 *   reader 2     | scan 2 | | scan 2 | | scan 2 ...
 *   writer    | plan 1 | wait .................. | apply 0.2 | ...     10 rounds
 *
 * With an argument the lock lets writers go first: the run takes a fraction, since the readers read until the writer ends.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include "work.h"

/* Beside other programs the writer may never come by: readers end then. */
enum { READERS = 2, ROUNDS = 10, MOST_SCANS = 4000 };

static pthread_rwlock_t config_lock = PTHREAD_RWLOCK_INITIALIZER;
static atomic_int has_ended;

NOINLINE void scan_config(void) { BURN(2); }
NOINLINE void parse_request(void) { BURN(0.25); }
NOINLINE void plan_update(void) { BURN(1); }
NOINLINE void apply_update(void) { BURN(0.2); }

NOINLINE void read_config(void)
{
    CHECK(pthread_rwlock_rdlock(&config_lock) == 0);
    scan_config();
    CHECK(pthread_rwlock_unlock(&config_lock) == 0);
}

NOINLINE void write_config(void)
{
    CHECK(pthread_rwlock_wrlock(&config_lock) == 0);
    apply_update();
    CHECK(pthread_rwlock_unlock(&config_lock) == 0);
}

static void *read_all_the_time(void *unused)
{
    for (int scan = 0; !has_ended && scan < MOST_SCANS; scan++) {
        read_config();
        parse_request();
    }
    return unused;
}

int main(int argc, char **argv)
{
    pthread_t readers[READERS];
    pthread_rwlockattr_t attributes;
    (void)argv;
    if (argc > 1) {
        CHECK(pthread_rwlockattr_init(&attributes) == 0);
        CHECK(pthread_rwlockattr_setkind_np(&attributes, PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP) == 0);
        CHECK(pthread_rwlock_init(&config_lock, &attributes) == 0);
    }
    for (int i = 0; i < READERS; i++)
        CHECK(pthread_create(&readers[i], NULL, read_all_the_time, NULL) == 0);
    for (int round = 0; round < ROUNDS; round++) {
        plan_update();
        write_config();
    }
    has_ended = 1;
    for (int i = 0; i < READERS; i++)
        CHECK(pthread_join(readers[i], NULL) == 0);
    return 0;
}
