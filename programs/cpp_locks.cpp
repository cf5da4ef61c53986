// Synchronisation of C++'s library: each object has its kind, and the same name in every run.
//
//   first    asks first, holds 8 ms | ...     6 rounds, and each round ends at a barrier that `second` comes to first
//   second   asks 2 ms later
//
// `second` waits for store::cache (a mutex, the first member of an object in a namespace), store::cache+0x28 (a shared_mutex,
// its second one), a mutex on the heap in Table::add, permits (a semaphore), started (a latch), gate (an atomic) and, in
// `meet`, for a barrier, whose futex is not its own.
#include <atomic>
#include <barrier>
#include <chrono>
#include <latch>
#include <memory>
#include <mutex>
#include <semaphore>
#include <shared_mutex>
#include <thread>

static void pause_for(int milliseconds) { std::this_thread::sleep_for(std::chrono::milliseconds(milliseconds)); }

struct Cache {
	std::mutex entries;
	std::shared_mutex names;
};

struct Table {
	std::mutex lock;
	__attribute__((noinline)) void add(bool first)
	{
		std::lock_guard<std::mutex> guard(lock);
		pause_for(first ? 8 : 0);
	}
};

namespace store { Cache cache; }
std::latch started{2};
std::barrier<> round_end{2};
std::counting_semaphore<8> permits{0};
std::atomic<int> gate{0};

static std::atomic<int> meetings{0};

__attribute__((noinline)) static void meet()
{
	round_end.arrive_and_wait();
	meetings++; // what comes last is a jump, not a call
}

static void run(bool first, Table *table)
{
	pause_for(first ? 8 : 0);
	started.arrive_and_wait();
	for (int round = 1; round <= 6; round++) {
		meet();
		pause_for(first ? 0 : 2);
		{
			std::lock_guard<std::mutex> guard(store::cache.entries);
			pause_for(first ? 8 : 0);
		}
		meet();
		pause_for(first ? 0 : 2);
		{
			std::unique_lock<std::shared_mutex> guard(store::cache.names);
			pause_for(first ? 8 : 0);
		}
		meet();
		pause_for(first ? 0 : 2);
		table->add(first);
		if (first) {
			pause_for(8);
			permits.release();
			pause_for(8);
			gate = round;
			gate.notify_all();
			pause_for(8);
		} else {
			permits.acquire();
			gate.wait(round - 1);
		}
	}
}

int main()
{
	auto table = std::make_unique<Table>();
	std::thread first(run, true, table.get()), second(run, false, table.get());
	first.join();
	second.join();
}
