/* For -finstrument-functions: `chatty` and `silent` take the same steps, but `chatty` calls a procedure that does
 * nothing after every 60 of them, a million times. What telling of these calls costs is not the program's, so that the
 * two have nearly equal shares; with it `chatty` would have a quarter more.
 *
 * Calls: main, chatty, silent, and 1,000,000 of nothing. An argument is another number of millions of steps of 60.
 */
#include "work.h"

static volatile unsigned long cell;

NOINLINE static void nothing(void) { __asm__ volatile(""); }

#define STEPS(count)                                                                                         \
    do {                                                                                                     \
        unsigned long value_ = cell;                                                                         \
        for (int step_ = 0; step_ < (count); step_++) {                                                      \
            value_ = value_ * 6364136223846793005UL + 1442695040888963407UL;                                 \
            cell = value_;                                                                                   \
        }                                                                                                    \
    } while (0)

NOINLINE static void chatty(long rounds) {
    for (long round = 0; round < rounds; round++) {
        STEPS(60);
        nothing();
    }
}

NOINLINE static void silent(long rounds) {
    for (long round = 0; round < rounds; round++)
        STEPS(60);
}

int main(int count, char **arguments) {
    long rounds = (count > 1 ? atol(arguments[1]) : 1) * 1000000;
    silent(rounds);
    chatty(rounds);
    return 0;
}
