/* For -finstrument-functions: procedures of known numbers of calls and shares of work.
 *
 *   main     prepare ── count ── jump ── halves ── join ── talkative, silent
 *   worker                         work_left (60) ····
 *
 * Processor time, milliseconds: `once` 20, `often` 20 × 2 = 40 (both called by `prepare`); `even` and `odd` call each
 * other (mutual recursion), 10 × 3 = 30 in all; `deep` calls itself 50 deep and works 20 at the bottom; `risky` jumps back
 * into `jump` from two procedures down, 5 times, after 4 each, and `jump` works 10 after that. Then two threads: `left`
 * 60, `right` 20 beside it, so that the critical path goes through `left`.
 *
 * Critical path: once 20, often 40, even + odd 30, deep 20, risky 20, jump 10, left 60: 200. On processors: right 20
 * more, 220.
 *
 * Calls: main 1, prepare 1, once 1, often 20, count 1, even 5, odd 5, deep 51, jump 1, attempt 5, risky 5, left 1,
 * right 1: 98. `longjmp` leaves attempt and risky, 5 times.
 */
#include <pthread.h>
#include <setjmp.h>

#include "work.h"

static jmp_buf back;

NOINLINE static void once(void) { BURN(20); }

NOINLINE static void often(void) { BURN(2); }

NOINLINE static void prepare(void) {
    once();
    for (int i = 0; i < 20; i++)
        often();
}

NOINLINE static void odd(int left);

NOINLINE static void even(int left) {
    BURN(3);
    if (left > 0)
        odd(left - 1);
    __asm__ volatile("");
}

NOINLINE static void odd(int left) {
    BURN(3);
    if (left > 0)
        even(left - 1);
    __asm__ volatile("");
}

NOINLINE static void deep(int left) {
    if (left > 0)
        deep(left - 1);
    else
        BURN(20);
    __asm__ volatile("");
}

NOINLINE static void count(void) {
    even(9);
    deep(50);
}

NOINLINE static void risky(void) {
    BURN(4);
    longjmp(back, 1);
}

NOINLINE static void attempt(void) {
    risky();
    __asm__ volatile("");
}

NOINLINE static void jump(void) {
    volatile int attempts = 0;
    setjmp(back);
    if (attempts < 5) {
        attempts = attempts + 1;
        attempt();
    }
    BURN(10);
    __asm__ volatile("");
}

NOINLINE static void *left(void *unused) {
    BURN(60);
    return unused;
}

NOINLINE static void *right(void *unused) {
    BURN(20);
    return unused;
}

int main(void) {
    pthread_t threads[2];
    prepare();
    count();
    jump();
    CHECK(pthread_create(&threads[0], NULL, left, NULL) == 0);
    CHECK(pthread_create(&threads[1], NULL, right, NULL) == 0);
    pthread_join(threads[0], NULL);
    pthread_join(threads[1], NULL);
    return 0;
}
