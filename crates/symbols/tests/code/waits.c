// Functions that wait busily for another thread. Each is compiled at every level of optimisation.
#include <sched.h>
#include <stdatomic.h>
#include <stdint.h>

volatile int flag;
atomic_int ready, lock, tickets, serving;
struct node { volatile int *where; struct node *next; } node;

void wait_volatile(void) { while (!flag) ; }
void wait_pointer(volatile int *p) { while (*p == 0) ; }
void wait_atomic(void) { while (!atomic_load(&ready)) ; }
void wait_acquire(void) { while (atomic_load_explicit(&ready, memory_order_acquire) < 3) ; }
void wait_indirect(struct node *n) { while (!*n->where) ; }
void wait_for_change(int old) { while (atomic_load_explicit(&ready, memory_order_relaxed) == old) ; }
void wait_element(volatile char *p, long i) { while (!p[i]) ; }
void wait_wide(volatile uint64_t *p, uint64_t mask) { while ((*p & mask) != mask) ; }
void wait_either(volatile int *a, volatile int *b) { while (!*a && !*b) ; }
void wait_pause(void) { while (!flag) __builtin_ia32_pause(); }
void wait_yield(void) { while (!flag) sched_yield(); }
void wait_exchange(void) { while (atomic_exchange(&lock, 1)) ; }
void wait_compare_exchange(void) {
  int expected;
  do expected = 0; while (!atomic_compare_exchange_weak(&lock, &expected, 1));
}
void wait_test_and_test_and_set(void) {
  for (;;) {
    while (atomic_load_explicit(&lock, memory_order_relaxed)) ;
    if (!atomic_exchange(&lock, 1)) break;
  }
}
void wait_ticket(void) {
  int mine = atomic_fetch_add(&tickets, 1);
  while (atomic_load(&serving) != mine) ;
}
int wait_bounded(void) {
  for (int i = 0; i < 1000; i++) {
    if (atomic_load_explicit(&ready, memory_order_relaxed)) return 1;
    __builtin_ia32_pause();
  }
  return 0;
}
void wait_backoff(void) {
  int delay = 1;
  while (atomic_exchange(&lock, 1)) {
    for (int i = 0; i < delay; i++) __builtin_ia32_pause();
    if (delay < 1000) delay *= 2;
  }
}
static void relax(void) { __builtin_ia32_pause(); }
void wait_relax(void) { while (flag != 5) relax(); }
static atomic_flag held = ATOMIC_FLAG_INIT;
void wait_flag(void) { while (atomic_flag_test_and_set_explicit(&held, memory_order_acquire)) ; }

int main(void) { return 0; }
