// Functions whose loops compute. Each is compiled at every level of optimisation.
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct list { struct list *next; int value; };
extern volatile int stop;
volatile int stop;
atomic_int counter, work_index;
int table[256];

size_t work_strlen(const char *s) { size_t n = 0; while (s[n]) n++; return n; }
const char *work_end(const char *s) { while (*s) s++; return s; }
const void *work_memchr(const char *s, int c, size_t n) { for (size_t i = 0; i < n; i++) if (s[i] == c) return s + i; return 0; }
const unsigned char *work_skip(const unsigned char *s) { while (*s == ' ' || *s == '\t') ++s; return s; }
long work_sum(const int *a, long n) { long s = 0; for (long i = 0; i < n; i++) s += a[i]; return s; }
double work_dot(const double *a, const double *b, long n) { double s = 0; for (long i = 0; i < n; i++) s += a[i] * b[i]; return s; }
struct list *work_last(struct list *l) { while (l->next) l = l->next; return l; }
int work_length(struct list *l) { int n = 0; for (; l; l = l->next) n++; return n; }
struct list *work_find(struct list *l, int v) { while (l && l->value != v) l = l->next; return l; }
void work_matrix(double *c, const double *a, const double *b, int n) {
  for (int i = 0; i < n; i++) for (int j = 0; j < n; j++) { double s = 0; for (int k = 0; k < n; k++) s += a[i * n + k] * b[k * n + j]; c[i * n + j] = s; }
}
void work_copy(char *d, const char *s, size_t n) { for (size_t i = 0; i < n; i++) d[i] = s[i]; }
void work_fill(int *d, int n) { for (int i = 0; i < n; i++) d[i] = 7; }
void work_delay(volatile int n) { for (volatile int i = 0; i < 1000000; i++) ; }
void work_countdown(long n) { while (n--) __asm__ volatile(""); }
long work_collatz(uint64_t x) { long n = 0; while (x != 1) { x = x & 1 ? 3 * x + 1 : x / 2; n++; } return n; }
uint64_t work_random(uint64_t x, long n) { for (long i = 0; i < n; i++) { x ^= x << 13; x ^= x >> 7; x ^= x << 17; } return x; }
double work_newton(double x) { double y = x; while (y * y - x > 1e-9) y = (y + x / y) / 2; return y; }
long work_until_stopped(void) { long n = 0; while (!stop) n++; return n; }
uint64_t work_hash(const unsigned char *s, size_t n) { uint64_t h = 14695981039346656037u; for (size_t i = 0; i < n; i++) h = (h ^ s[i]) * 1099511628211u; return h; }
int work_bisect(const int *a, int n, int v) { int lo = 0, hi = n; while (lo < hi) { int m = (lo + hi) / 2; if (a[m] < v) lo = m + 1; else hi = m; } return lo; }
int work_max(const int *a, int n) { int m = a[0]; for (int i = 1; i < n; i++) if (a[i] > m) m = a[i]; return m; }
void work_histogram(const unsigned char *s, size_t n) { for (size_t i = 0; i < n; i++) table[s[i]]++; }
void work_add(int n) { for (int i = 0; i < n; i++) atomic_fetch_add(&counter, 1); }
void work_atomic_max(int v) { int old = atomic_load(&counter); while (old < v && !atomic_compare_exchange_weak(&counter, &old, v)) ; }
void work_lock_free(void) { int old; do old = atomic_load(&counter); while (!atomic_compare_exchange_weak(&counter, &old, old * 3 + 1)); }
long work_take(long n) { long got = 0; while (atomic_fetch_add(&work_index, 1) < n) got++; return got; }
int work_popcount(uint64_t x) { int n = 0; while (x) { x &= x - 1; n++; } return n; }
uint64_t work_gcd(uint64_t a, uint64_t b) { while (b) { uint64_t t = a % b; a = b; b = t; } return a; }
void work_reverse(char *s, long n) { for (long i = 0, j = n - 1; i < j; i++, j--) { char t = s[i]; s[i] = s[j]; s[j] = t; } }
int work_compare(const char *a, const char *b) { while (*a && *a == *b) a++, b++; return *a - *b; }
void work_sieve(char *p, int n) { for (int i = 2; i * i < n; i++) if (!p[i]) for (int j = i * i; j < n; j += i) p[j] = 1; }
int work_chase(const int *next, int i, int n) { while (n-- > 0) i = next[i]; return i; }
double work_integral(long n) { double s = 0; for (long i = 0; i < n; i++) { double x = (i + 0.5) / n; s += 4 / (1 + x * x); } return s; }

// They look at a flag, and work.
uint64_t work_random_until_stopped(uint64_t x) { while (!stop) x = x * 6364136223846793005u + 1442695040888963407u; return x; }
uint64_t work_xorshift_until_stopped(uint64_t x) { while (!stop) { x ^= x << 13; x ^= x >> 7; x ^= x << 17; } return x; }
uint64_t work_hash_until_stopped(uint64_t h, uint64_t d) { while (!stop) { h ^= d; h *= 1099511628211u; h = (h << 31) | (h >> 33); } return h; }
double work_series_until_stopped(void) { double s = 0, k = 1; while (!stop) { s += 1 / (k * k); k += 1; } return s; }
long work_primes_until_stopped(void) {
  long found = 0;
  for (long n = 2; !stop && found < 1000; n++) { long d = 2; while (d * d <= n && n % d) d++; if (d * d > n) found++; }
  return found;
}
uint64_t work_fibonacci_until_stopped(void) { uint64_t a = 0, b = 1; while (!stop) { uint64_t c = a + b; a = b; b = c; } return a; }
int work_search_until_stopped(const int *a, int v) { int i = 0; while (!stop && a[i] != v) i++; return i; }
long work_sum_until_stopped(const int *a, long n) { long s = 0; for (long i = 0; i < n && !stop; i++) s += a[i]; return s; }
struct list *work_walk_until_stopped(struct list *l) { while (l && !stop) l = l->next; return l; }
void work_statistics(void) { extern long rounds; while (!stop) rounds++; }
long rounds;
void work_publish(int *to, const volatile int *from) { while (!stop) *to = *from; }
void work_fill_until_stopped(void) { int i = 0; while (!stop) table[i++ & 255] = i; }
int work_volatile_burn(void) { volatile uint64_t x = 1; while (!stop) x = x * 3 + 1; return (int)x; }
long work_sample(const volatile int *p) { long s = 0; while (!stop) s += *p; return s; }
long work_array_until_stopped(const int *a) { long s = 0; while (!stop) { s = 0; for (long i = 0; i < 1000; i++) s += a[i]; } return s; }

// They burn processor time up to an amount of it.
#include <time.h>
void work_cpu_time(long until) {
  struct timespec now;
  do clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now); while (now.tv_sec * 1000000000L + now.tv_nsec < until);
}

// They call what works.
extern long total;
long total;
__attribute__((noinline)) static void step_total(int x) { total += x; }
__attribute__((noinline)) static long next_of(long x) { return x * 3 + 1; }
__attribute__((noinline)) static int value_at(int i) { return table[i]; }
void work_calls(void) { while (!stop) step_total(3); }
long work_calls_of_pure(long x) { while (!stop) x = next_of(x); return x; }
int work_find_by_calls(int v) { int i = 0; while (value_at(i) != v) i++; return i; }
int work_sum_by_calls(int n) { int s = 0; for (int i = 0; i < n; i++) s += value_at(i); return s; }

// A sequence lock: what it reads lives on.
atomic_uint sequence;
long work_sequence_lock(const volatile int *a) {
  unsigned before;
  long s;
  do { before = atomic_load(&sequence); s = 0; for (int i = 0; i < 20; i++) s += a[i]; } while (before != atomic_load(&sequence));
  return s;
}
int work_contains(struct list *head, int v) {
  unsigned before;
  do {
    before = atomic_load(&sequence);
    struct list *l = head;
    do if (l->value == v) return 1; while ((l = l->next) != 0);
  } while (before != atomic_load(&sequence));
  return 0;
}
void work_rounds_of_ready(volatile int *ready, int *out, const int *in, int n) {
  for (int i = 0; i < n; i++) { while (!ready[i]) __builtin_ia32_pause(); for (int k = 0; k < 100; k++) out[i] += in[i] * k; }
}

// A store through what a function returned, in a register that once held an address of the frame.
extern int *place(int *);
__attribute__((noinline)) int *place(int *hint) { hint[0]++; return &table[hint[0] & 7]; }
int work_store_to_result(void) {
  int hint[4] = {0};
  int *at = place(hint);
  while (!stop) *at = hint[1];
  return hint[0];
}

int main(void) { return 0; }
