/* A writer keeps a reader-writer lock for long; readers wait for it.
 *
 *   writer   [write lock] rewrite_table 50 [unlock] plan_rewrite 10 | ...     15 rounds
 *   reader   digest 20 | read lock ... [lookup 1] | ...                       two of them, until the writer ends
 *
 * The readers still digest when the writer asks for the lock again, so it need not wait for them.
 *
 * Critical path (CPU): the writer, 15 x 60 = 900 ms: rewrite_table 83.3 %, plan_rewrite 16.7 %; a lookup may
 * lie before a rewrite. The readers are blocked most of the time: cause `lock`, suffered in look_up_one,
 * ended by thread `writer`.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdatomic.h>
#include "work.h"

static pthread_rwlock_t table_lock = PTHREAD_RWLOCK_INITIALIZER;
static atomic_int writer_has_ended;

NOINLINE void rewrite_table(void) { BURN(50); }
NOINLINE void plan_rewrite(void) { BURN(10); }
NOINLINE void digest(void) { BURN(20); }
NOINLINE void lookup(void) { BURN(1); }

NOINLINE void look_up_one(void)
{
    pthread_rwlock_rdlock(&table_lock);
    lookup();
    pthread_rwlock_unlock(&table_lock);
}

static void *writer(void *unused)
{
    pthread_setname_np(pthread_self(), "writer");
    for (int round = 0; round < 15; round++) {
        pthread_rwlock_wrlock(&table_lock);
        rewrite_table();
        pthread_rwlock_unlock(&table_lock);
        plan_rewrite();
    }
    atomic_store(&writer_has_ended, 1);
    return unused;
}

static void *reader(void *unused)
{
    pthread_setname_np(pthread_self(), "reader");
    while (!atomic_load(&writer_has_ended)) {
        digest();
        look_up_one();
    }
    return unused;
}

int main(void)
{
    pthread_t threads[3];
    CHECK(pthread_create(&threads[0], NULL, writer, NULL) == 0);
    CHECK(pthread_create(&threads[1], NULL, reader, NULL) == 0);
    CHECK(pthread_create(&threads[2], NULL, reader, NULL) == 0);
    for (int i = 0; i < 3; i++)
        CHECK(pthread_join(threads[i], NULL) == 0);
    return 0;
}
