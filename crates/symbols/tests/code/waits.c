// Functions that wait busily for another thread. Each is compiled at every level of optimisation.
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdint.h>
#include <time.h>
#include <unistd.h>
#include <x86intrin.h>

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

// With a counter.
long wait_count(void) { long n; for (n = 0; n < 100000; n++) if (flag) break; return n; }
int wait_then_block(pthread_mutex_t *m) {
  int n = 0;
  while (atomic_load(&ready) == 0) if (++n > 1000) { pthread_mutex_lock(m); return 1; }
  return 0;
}
void wait_in_chunks(void) {
  for (;;) {
    for (int i = 0; i < 1000; i++) if (atomic_load_explicit(&ready, memory_order_relaxed)) return;
    sched_yield();
  }
}
void wait_and_yield_at_times(void) {
  int n = 0;
  while (!flag) if (++n == 64) { n = 0; sched_yield(); }
}

// The kernel and the C library are asked.
void wait_trylock(pthread_mutex_t *m) { while (pthread_mutex_trylock(m) != 0) ; }
int wait_trylock_bounded(pthread_mutex_t *m) {
  for (int i = 0; i < 100; i++) if (pthread_mutex_trylock(m) == 0) return 1;
  return 0;
}
void wait_clock(long until) {
  struct timespec now;
  do clock_gettime(CLOCK_MONOTONIC, &now); while (now.tv_sec * 1000000000L + now.tv_nsec < until);
}
void wait_cycles(uint64_t until) { while (__rdtsc() < until) ; }
void wait_flag_or_time(long until) {
  struct timespec now;
  while (!flag) { clock_gettime(CLOCK_MONOTONIC, &now); if (now.tv_sec > until) break; }
}
void wait_asleep(void) { while (!flag) usleep(10); }

// Back-off without any instruction for it.
void wait_backoff_by_counting(void) {
  int delay = 1;
  while (atomic_exchange(&lock, 1)) {
    for (volatile int i = 0; i < delay; i++) ;
    if (delay < 1000) delay *= 2;
  }
}

// Small functions are called.
__attribute__((noinline)) static int poll_ready(void) { return atomic_load(&ready); }
struct slot { atomic_ulong pending; char pad[56]; } slots[16];
__attribute__((noinline)) static unsigned long poll_slot(int id) { return atomic_load_explicit(&slots[id].pending, memory_order_acquire); }
static inline int poll_inlined(int id) { return slots[id].pending != 0; }
__attribute__((noinline)) static int poll_twice(int id) { return poll_ready() && poll_slot(id) != 0; }
void wait_call(void) { while (!poll_ready()) ; }
void wait_call_with_argument(int id) { while (poll_slot(id) == 0) ; }
void wait_call_bounded(int id) { for (int j = 0; j < 1000000; j++) if (poll_slot(id) != 0) break; }
void wait_inlined_bounded(int id) { for (int j = 0; j < 1000000; j++) if (poll_inlined(id)) break; }
void wait_nested_calls(int id) { while (!poll_twice(id)) ; }

// Several flags.
void wait_three(void) { while (!(atomic_load(&ready) && atomic_load(&serving) > 2 && flag)) ; }
void wait_sum(int n) {
  for (;;) {
    unsigned long pending = 0;
    for (int j = 1; j < n; j++) pending += atomic_load_explicit(&slots[j].pending, memory_order_acquire);
    if (pending == 0) break;
  }
}
void wait_sum_of_calls(int n) {
  for (;;) {
    unsigned long pending = 0;
    for (int j = 1; j < n; j++) pending += poll_slot(j);
    if (pending == 0) break;
  }
}
void wait_each(volatile int *flags, int n) { for (int i = 0; i < n; i++) while (!flags[i]) ; }

// Beside work.
int counted;
extern void process(int);
__attribute__((noinline)) void process(int x) { counted += x; }
void wait_between_jobs(void) { for (;;) { while (!flag) ; process(flag); flag = 0; } }
void wait_idle(void) { for (;;) { int job = flag; if (!job) continue; process(job); } }

// A sense-reversing barrier, and one whose last thread lets the others go.
void wait_barrier(int n) {
  int round = atomic_load(&serving);
  if (atomic_fetch_add(&tickets, 1) == n - 1) { atomic_store(&tickets, 0); atomic_fetch_add(&serving, 1); }
  else while (atomic_load_explicit(&serving, memory_order_acquire) == round) ;
}

int main(void) { return 0; }
