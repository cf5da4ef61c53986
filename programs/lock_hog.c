/* One thread keeps a mutex nearly all the time; two others need it briefly.
 *
 *   hog      [lock] hog_table 60 [unlock] prepare 5 | ...                     15 rounds
 *   polite   independent_work 10 | lock ... [short_update 1] | ...            until hog has ended
 *
 * Critical path (CPU): the hog, 15 x 65 = 975 ms: hog_table 900 (92.3 %), prepare 75 (7.7 %); a few
 * short_update may lie between. The polite threads are blocked most of the time: cause `lock`, suffered
 * in take_and_update, ended by thread `hog`.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdatomic.h>
#include "work.h"

static pthread_mutex_t table_lock = PTHREAD_MUTEX_INITIALIZER;
static atomic_int hog_has_ended;

NOINLINE void hog_table(void) { BURN(60); }
NOINLINE void prepare(void) { BURN(5); }
NOINLINE void independent_work(void) { BURN(10); }
NOINLINE void short_update(void) { BURN(1); }

NOINLINE void take_and_update(void)
{
    pthread_mutex_lock(&table_lock);
    short_update();
    pthread_mutex_unlock(&table_lock);
}

static void *hog(void *unused)
{
    pthread_setname_np(pthread_self(), "hog");
    for (int round = 0; round < 15; round++) {
        pthread_mutex_lock(&table_lock);
        hog_table();
        pthread_mutex_unlock(&table_lock);
        prepare();
    }
    atomic_store(&hog_has_ended, 1);
    return unused;
}

static void *polite(void *unused)
{
    pthread_setname_np(pthread_self(), "polite");
    while (!atomic_load(&hog_has_ended)) {
        independent_work();
        take_and_update();
    }
    return unused;
}

int main(void)
{
    pthread_t threads[3];
    CHECK(pthread_create(&threads[0], NULL, hog, NULL) == 0);
    CHECK(pthread_create(&threads[1], NULL, polite, NULL) == 0);
    CHECK(pthread_create(&threads[2], NULL, polite, NULL) == 0);
    for (int i = 0; i < 3; i++)
        CHECK(pthread_join(threads[i], NULL) == 0);
    return 0;
}
