// Functions of which the code does not say whether they wait. Each is compiled at every level of optimisation.
#include <pthread.h>
#include <stdatomic.h>

extern volatile int stop;
volatile int stop;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
int (*progress[4])(void);
int plain;

long may_count(void) { long n = 0; while (!stop) n++; return n; }
void may_call_a_pointer(int (*poll)(void)) { while (!poll()) ; }
int may_progress(void) { int done = 0; while (!stop) for (int i = 0; i < 4; i++) done = progress[i](); return done; }
void may_look_under_a_lock(void) {
  for (;;) {
    pthread_mutex_lock(&mutex);
    int done = plain;
    pthread_mutex_unlock(&mutex);
    if (done) break;
  }
}
void may_find_a_flag(volatile int *flags, int n) { for (;;) for (int i = 0; i < n; i++) if (flags[i]) return; }

int main(void) { return 0; }
