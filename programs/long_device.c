/* Two threads use a device in turn, for longer than the recorder waits before it looks who holds a lock; a third one keeps time meanwhile.
 *
 *   user 1   [lock] use_device 400 ......... [unlock] wait ......................... | ...        2 rounds each
 *   user 2   wait ............................ [lock] use_device 400 ....... [unlock] | ...
 *   clock    tick 1 | sleep 1 | tick 1 | sleep 1 | ...                                            until both have ended
 *
 * The device sleeps: no CPU time. The clock's time is ticks by half or a little less, from the first millisecond to the last.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdatomic.h>
#include <unistd.h>
#include "work.h"

enum { USERS = 2, ROUNDS = 2, USE_US = 400000, SLEEP_US = 1000 };

static pthread_mutex_t device_lock = PTHREAD_MUTEX_INITIALIZER;
static atomic_int users_have_ended;

NOINLINE void tick(void) { BURN(1); }
NOINLINE void use_device(void) { usleep(USE_US); }

static void *use(void *unused)
{
    for (int round = 0; round < ROUNDS; round++) {
        CHECK(pthread_mutex_lock(&device_lock) == 0);
        use_device();
        CHECK(pthread_mutex_unlock(&device_lock) == 0);
        usleep(SLEEP_US);
    }
    return unused;
}

static void *keep_time(void *unused)
{
    while (!atomic_load(&users_have_ended)) {
        tick();
        usleep(SLEEP_US);
    }
    return unused;
}

int main(void)
{
    pthread_t users[USERS], clock;
    CHECK(pthread_create(&clock, NULL, keep_time, NULL) == 0);
    CHECK(pthread_setname_np(clock, "clock") == 0);
    for (int i = 0; i < USERS; i++)
        CHECK(pthread_create(&users[i], NULL, use, NULL) == 0);
    for (int i = 0; i < USERS; i++)
        CHECK(pthread_join(users[i], NULL) == 0);
    atomic_store(&users_have_ended, 1);
    CHECK(pthread_join(clock, NULL) == 0);
    return 0;
}
