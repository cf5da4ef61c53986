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

int main(void) { return 0; }
