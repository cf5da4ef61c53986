/* Two locks that are acquired in both orders, by one thread after the other, so that nobody ever waits.
 *
 *   first    [accounts [journal work 1] work 1] ...   100 rounds
 *   second                                          [journal [accounts work 1] work 1] ...   50 rounds
 *
 * journal is acquired 150 times: 100 times while accounts is held, 50 times with nothing held; accounts 150 times: 50
 * times while journal is held. Holds of journal: 100 x 1 + 50 x 2 = 200 ms; of accounts 100 x 2 + 50 x 1 = 250 ms.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include "work.h"

static pthread_mutex_t accounts = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t journal = PTHREAD_MUTEX_INITIALIZER;

NOINLINE void nest(pthread_mutex_t *outer, pthread_mutex_t *inner)
{
    pthread_mutex_lock(outer);
    pthread_mutex_lock(inner);
    BURN(1);
    pthread_mutex_unlock(inner);
    BURN(1);
    pthread_mutex_unlock(outer);
}

static void *first(void *unused)
{
    for (int round = 0; round < 100; round++)
        nest(&accounts, &journal);
    return unused;
}

static void *second(void *unused)
{
    for (int round = 0; round < 50; round++)
        nest(&journal, &accounts);
    return unused;
}

int main(void)
{
    pthread_t thread;
    CHECK(pthread_create(&thread, NULL, first, NULL) == 0);
    CHECK(pthread_join(thread, NULL) == 0);
    CHECK(pthread_create(&thread, NULL, second, NULL) == 0);
    CHECK(pthread_join(thread, NULL) == 0);
    return 0;
}
