/* For -finstrument-functions: `chatty` and `silent` take the same steps in turn, but `chatty` calls a procedure that does
 * nothing after every 60 of them, a million times in all. What telling of these calls costs is not the program's, so that
 * the two have nearly equal shares; with it `chatty` would have a quarter more.
 *
 * Calls: main 1, chatty and silent 100 each, and 1,000,000 of nothing: 1,000,201.
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

int main(void) {
    for (int turn = 0; turn < 100; turn++) {
        silent(10000);
        chatty(10000);
    }
    return 0;
}
