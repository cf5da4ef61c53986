// Functions of C++ that wait busily, and that work.
#include <atomic>
#include <chrono>
#include <thread>
#include <vector>

std::atomic<bool> done;
std::atomic<int> count;
std::atomic_flag held = ATOMIC_FLAG_INIT;

extern "C" {
void wait_done() { while (!done.load(std::memory_order_acquire)) ; }
void wait_converted() { while (!done) ; }
void wait_yield() { while (!done) std::this_thread::yield(); }
void wait_flag() { while (held.test_and_set(std::memory_order_acquire)) ; }
void wait_exchange() { while (done.exchange(true)) ; }
void wait_bounded() { for (int i = 0; i < 4000; ++i) if (count.load() > 3) break; }
void wait_time(long until) { while (std::chrono::steady_clock::now().time_since_epoch().count() < until) ; }

double work_sum(const std::vector<double> &values) { double sum = 0; for (double value : values) sum += value; return sum; }
int work_find(const std::vector<int> &values, int wanted) { int at = 0; for (int value : values) { if (value == wanted) break; ++at; } return at; }
unsigned work_until_done(unsigned x) { while (!done) x = x * 1664525u + 1013904223u; return x; }
void work_add(int n) { for (int i = 0; i < n; ++i) count.fetch_add(1); }
}

int main() { return 0; }
