// Sleeps in libc under known callers. The argument is the depth of a recursion, or `jump`: functions that end in calls;
// `jump libc`: one whose last call is that of libc; `jump rarely`: one whose unlikely part lies elsewhere.
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

__attribute__((noinline)) void innermost(void) {
  struct timespec long_time = {1000, 0};
  nanosleep(&long_time, 0);
  __asm__ volatile("" ::: "memory");
}

__attribute__((noinline)) int recursive(int depth) {
  char room[256];
  memset(room, depth, sizeof room);
  __asm__ volatile("" ::"r"(room) : "memory");
  if (depth == 0) {
    innermost();
    return room[0];
  }
  int result = recursive(depth - 1) + room[128];
  __asm__ volatile("" ::: "memory");
  return result;
}

__attribute__((noinline)) int compares(const void *left, const void *right) {
  (void)left, (void)right;
  innermost();
  __asm__ volatile("" ::: "memory");
  return 0;
}

__attribute__((noinline)) void sorts(void) {
  int numbers[4] = {4, 3, 2, 1};
  qsort(numbers, 4, sizeof *numbers, compares);
  __asm__ volatile("" ::: "memory");
}

volatile int jumps;

__attribute__((noinline)) void hands_on(void) {
  jumps++;
  sorts();
}

__attribute__((noinline)) int naps(void) {
  static const struct timespec long_time = {1000, 0};
  jumps++;
  return nanosleep(&long_time, 0);
}

__attribute__((noinline, cold)) void rare(void) {
  innermost();
  __asm__ volatile("" ::: "memory");
}

__attribute__((noinline)) void mostly_not(int number) {
  for (int i = 0; i < number; i++)
    if (jumps == 1) {
      jumps += 2;
      rare();
      __asm__ volatile("" ::: "memory");
    } else
      jumps++;
}

__attribute__((noinline)) void leads(int count, char **arguments) {
  if (count == 2)
    hands_on();
  else if (strcmp(arguments[2], "libc") == 0)
    jumps = naps();
  else
    mostly_not(count);
  __asm__ volatile("" ::: "memory");
}

int main(int count, char **arguments) {
  if (count > 1 && strcmp(arguments[1], "jump") == 0)
    leads(count, arguments);
  else if (count > 1)
    return recursive(atoi(arguments[1]));
  sorts();
  return 0;
}
