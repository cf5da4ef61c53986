// Names, lines, templates and inlined calls.
#include <cstdio>
#include <vector>

namespace shop {
template <typename T> struct Counter {
  T total{};
  __attribute__((noinline)) void add(const T &amount) {
    total += amount; // line-add
    asm volatile("");
  }
};
__attribute__((always_inline)) static inline int innermost(volatile int *p) {
  return *p * 3; // line-innermost
}
__attribute__((always_inline)) inline int middle(volatile int *p) {
  return innermost(p) + 1; // line-middle
}
__attribute__((noinline)) int outer(volatile int *p) {
  return middle(p) - 2; // line-outer
}
} // namespace shop

extern "C" __attribute__((noinline)) int plain(int n) { asm volatile(""); return n + 1; }

int main(int argc, char **) {
  shop::Counter<int> counter;
  counter.add(argc);
  volatile int x = argc;
  std::printf("%d %d %d\n", counter.total, shop::outer(&x), plain(argc));
}
