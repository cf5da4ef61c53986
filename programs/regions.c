/* A program that tells what it knows of itself: regions, a task, names of a thread and of a lock that it makes itself.
 *
 *   main     hand_out: makes a task  | "load": work_on 60 | "solve", in it "refine": work_on 30 | 4 x (take_turn 20)
 *   helper   "resize", the task: work_on 90                                                     | 4 x (take_turn 20)
 *
 * CPU time without spinning 340 ms: inclusive hand_out 90, "resize" 90, "load" 60, "solve" 30, "refine" 30, work_on 180,
 * take_turn 160. The lock "the turn" is taken 8 times; both threads ask for it at about the same time, so somebody spins
 * for it about 20 ms a turn. The helper calls itself "task runner".
 */
#include <pthread.h>
#include "../runtime/c/longpole.h"
#include "work.h"

static int turn;
static uint64_t resize;

NOINLINE void work_on(int milliseconds) { BURN(milliseconds); }

NOINLINE void take_turn(void)
{
    if (__atomic_exchange_n(&turn, 1, __ATOMIC_ACQUIRE)) {
        longpole_wait_begin(&turn, LONGPOLE_SPIN_LOCK);
        while (__atomic_exchange_n(&turn, 1, __ATOMIC_ACQUIRE))
            __builtin_ia32_pause();
        longpole_wait_end();
    }
    longpole_acquired(&turn, LONGPOLE_SPIN_LOCK);
    BURN(20);
    longpole_released(&turn);
    __atomic_store_n(&turn, 0, __ATOMIC_RELEASE);
}

NOINLINE void hand_out(void)
{
    resize = longpole_task_spawn();
    __asm__ volatile("");
}

static void *help(void *argument)
{
    longpole_thread_name("task runner");
    longpole_task_begin(resize, "resize");
    work_on(90);
    longpole_task_end();
    for (int i = 0; i < 4; i++)
        take_turn();
    return argument;
}

int main(void)
{
    pthread_t helper;
    LONGPOLE_NAME(&turn, "the turn");
    hand_out();
    CHECK(pthread_create(&helper, NULL, help, NULL) == 0);
    longpole_region_begin("load");
    work_on(60);
    longpole_region_end();
    {
        LONGPOLE_SCOPE("solve");
        LONGPOLE_SCOPE("refine");
        work_on(30);
    }
    for (int i = 0; i < 4; i++)
        take_turn();
    CHECK(pthread_join(helper, NULL) == 0);
    return 0;
}
