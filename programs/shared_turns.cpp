// Threads take turns with a datum by an atomic variable: they poll it until it is theirs.
//
// T threads, K rounds. The datum is read and written in each turn: T * K - T transfers, all migratory, which the atomic
// variable carries (a store with release, a load with acquire). How often a thread polls depends on the machine; the
// transfers of the datum do not. The datum is allocated in `make`.
#include <atomic>
#include <cstdlib>
#include <thread>
#include <vector>

struct alignas(64) Datum {
    long value = 0;
};

alignas(64) static std::atomic<long> turn;

__attribute__((noinline)) static void play(Datum *datum) { datum->value++; }

__attribute__((noinline)) static Datum *make() { return new Datum; }

static void work(Datum *datum, long own, long threads, long rounds) {
    for (long round = 0; round < rounds; round++) {
        while (turn.load(std::memory_order_acquire) != round * threads + own)
            std::this_thread::yield();
        play(datum);
        turn.store(round * threads + own + 1, std::memory_order_release);
    }
}

int main(int argc, char **argv) {
    long count = argc > 1 ? atol(argv[1]) : 2, rounds = argc > 2 ? atol(argv[2]) : 100;
    Datum *datum = make();
    std::vector<std::thread> threads;
    for (long i = 0; i < count; i++)
        threads.emplace_back(work, datum, i, count, rounds);
    for (auto &thread : threads)
        thread.join();
    return datum->value != count * rounds;
}
