/* Work of a known amount: `BURN(ms)` uses that many milliseconds of the calling thread's processor time,
 * on any machine and under any load. A macro, so that the time is charged to the procedure it stands in.
 * The inner loop writes memory, so it is useful work and no busy wait. */
#ifndef WORK_H
#define WORK_H

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define NOINLINE __attribute__((noinline, noclone, no_icf))

#define CPU_NANOSECONDS()                                                                                    \
    __extension__({                                                                                          \
        struct timespec now_;                                                                                \
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now_);                                                       \
        now_.tv_sec * 1000000000L + now_.tv_nsec;                                                            \
    })

/* True zeroing: -DSCALED=\"NAME\" -DFACTOR=f builds the program with the work of the procedure NAME times f. The compiler
 * compares the names, so a program built without these flags has no trace of it, and one with f = 0 has no such work. */
#ifdef SCALED
#define SCALED_WORK(milliseconds)                                                                            \
    (__builtin_strcmp(__func__, SCALED) == 0 ? (milliseconds) * (double)(FACTOR) : (double)(milliseconds))
#else
#define SCALED_WORK(milliseconds) (milliseconds)
#endif

/* Whether the calling procedure does nothing, for work that is not BURN: it returns at once in the program built with its name. */
#ifdef SCALED
#define LEFT_OUT (__builtin_strcmp(__func__, SCALED) == 0)
#else
#define LEFT_OUT 0
#endif

/* The clock is read about every 0.15 ms, and in the last millisecond every 15 µs (three times that on a slow machine): the system call
 * stays below 1 % of the time, and what is worked too much is no more than that. */
#define BURN(milliseconds)                                                                                   \
    do {                                                                                                     \
        if (SCALED_WORK(milliseconds) <= 0)                                                                  \
            break;                                                                                           \
        volatile unsigned long cells_[16] __attribute__((unused));                                           \
        unsigned long value_ = 1;                                                                            \
        long left_ = (long)(SCALED_WORK(milliseconds) * 1e6), end_ = CPU_NANOSECONDS() + left_;              \
        do {                                                                                                 \
            for (int step_ = left_ > 1000000 ? 100000 : 10000; step_ > 0; step_--) {                         \
                value_ = value_ * 6364136223846793005UL + 1442695040888963407UL;                             \
                cells_[step_ & 15] = value_;                                                                 \
            }                                                                                                \
            left_ = end_ - CPU_NANOSECONDS();                                                                \
        } while (left_ > 0);                                                                                 \
    } while (0)

/* Ends the program when a call that must succeed did not. */
#define CHECK(condition)                                                                                     \
    do {                                                                                                     \
        if (!(condition)) {                                                                                  \
            perror(#condition);                                                                              \
            exit(1);                                                                                         \
        }                                                                                                    \
    } while (0)

#endif
