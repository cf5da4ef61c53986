/* Three threads of 120, 90 and 30 ms, joined in the order of the argument (123 without one), then 100 ms in main.
 *
 *   first   P1 120 |
 *   second  P2 90 |
 *   third   P3 30 |
 *   main    join, join, join ....| D 100
 *
 * Critical path (CPU): P1 120, D 100 = 220 ms, whatever the order of the joins and whoever ended last on a clock.
 * Logical zeroing: P1 30 (then P2's 90 ms are the longest), P2 0, P3 0, D 100. P1 at 0: 190 ms.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include "work.h"

NOINLINE void P1(void) { BURN(120); }
NOINLINE void P2(void) { BURN(90); }
NOINLINE void P3(void) { BURN(30); }
NOINLINE void D(void) { BURN(100); }

static void *first(void *unused) { P1(); return unused; }
static void *second(void *unused) { P2(); return unused; }
static void *third(void *unused) { P3(); return unused; }

int main(int count, char **arguments)
{
    const char *order = count > 1 ? arguments[1] : "123";
    void *(*starts[])(void *) = { first, second, third };
    pthread_t threads[3];
    for (int i = 0; i < 3; i++)
        CHECK(pthread_create(&threads[i], NULL, starts[i], NULL) == 0);
    for (int i = 0; i < 3; i++)
        CHECK(pthread_join(threads[order[i] - '1'], NULL) == 0);
    D();
    return 0;
}
