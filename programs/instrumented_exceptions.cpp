// For -finstrument-functions: procedures that are left by exceptions, which the compiler's code may not tell of.
//
//   main ── 20 × (try_it ── parse ── fail, throws ── caught in try_it; recover) ── finish
//
// Processor time, milliseconds: fail 20 × 3, recover 20 × 2, finish 20: 120.
// Calls: main 1, try_it 20, parse 20, fail 20, recover 20, finish 1: 82. Of gcc's code every procedure tells that it is
// left; of clang's those that an exception passes do not: parse and fail, 40.
#include <stdexcept>

#include "work.h"

NOINLINE static void fail() {
    BURN(3);
    throw std::runtime_error("known");
}

NOINLINE static void parse() {
    fail();
    __asm__ volatile("");
}

NOINLINE static void recover() { BURN(2); }

NOINLINE static void try_it() {
    try {
        parse();
    } catch (const std::runtime_error &) {
        recover();
    }
    __asm__ volatile("");
}

NOINLINE static void finish() { BURN(20); }

int main() {
    for (int i = 0; i < 20; i++)
        try_it();
    finish();
    return 0;
}
