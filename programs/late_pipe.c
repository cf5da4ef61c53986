/* What is read was written long before: nobody waits. A pipe and an event counter.
 *
 *   pipe writer    A 100 | write |
 *   event writer   B 60 | add |
 *   main           sleep 700 ........ | read, read | D 100 | join, join
 *
 * Critical path (CPU): A 100, D 100 = 200 ms. Logical zeroing: A 40 (then B's 60 ms are the longest), B 0, D 100.
 * A at 0: 160 ms.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdint.h>
#include <sys/eventfd.h>
#include <unistd.h>
#include "work.h"

static int ends[2], event;

NOINLINE void A(void) { BURN(100); }
NOINLINE void B(void) { BURN(60); }
NOINLINE void D(void) { BURN(100); }

static void *pipe_writer(void *unused)
{
    A();
    CHECK(write(ends[1], "data", 4) == 4);
    return unused;
}

static void *event_writer(void *unused)
{
    uint64_t one = 1;
    B();
    CHECK(write(event, &one, sizeof one) == sizeof one);
    return unused;
}

int main(void)
{
    pthread_t threads[2];
    uint64_t value;
    char bytes[4];
    CHECK(pipe(ends) == 0);
    CHECK((event = eventfd(0, 0)) >= 0);
    CHECK(pthread_create(&threads[0], NULL, pipe_writer, NULL) == 0);
    CHECK(pthread_create(&threads[1], NULL, event_writer, NULL) == 0);
    usleep(700000);
    CHECK(read(ends[0], bytes, 4) == 4);
    CHECK(read(event, &value, sizeof value) == sizeof value);
    D();
    for (int i = 0; i < 2; i++)
        CHECK(pthread_join(threads[i], NULL) == 0);
    return 0;
}
