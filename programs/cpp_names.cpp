/* One thread, 800 ms of its own processor time, in procedures whose leaves are not theirs:
 *
 *   app::Index<std::string, long>::insert     200 ms   of its own
 *   app::Step<long>::extra_step               300 ms   in burn, which is inlined there
 *   app::Step<long>::common_step              100 ms   in burn, which is inlined here too
 *   encode_frame                              200 ms   in memset of the C library, on pages that the kernel has to zero first
 *
 * Folded (`--fold libraries`) each procedure has its share, and neither burn, memset nor the kernel has a row. With `--fold none`
 * burn has 400 ms. `what-if --set procedure:burn=0` takes 400 ms off the path, `procedure:main=0` all of it, and `self:main=0` nothing. */
#include <cstdlib>
#include <cstring>
#include <string>
#include <sys/mman.h>

#include "work.h"

namespace app {

static inline __attribute__((always_inline)) void burn(long milliseconds) { BURN(milliseconds); }

template <class Key, class Value> struct Index {
    Key last;
    NOINLINE void insert(Key const &key, Value value) {
        BURN(value);
        last = key;
    }
};

template <class Value> struct Step {
    NOINLINE void extra_step(Value milliseconds) { burn(milliseconds); }
    NOINLINE void common_step(Value milliseconds) { burn(milliseconds); }
};

} // namespace app

NOINLINE static void encode_frame(long milliseconds) {
    const size_t size = 4 << 20;
    long end = CPU_NANOSECONDS() + milliseconds * 1000000L;
    while (CPU_NANOSECONDS() < end) {
        void *frame = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        CHECK(frame != MAP_FAILED);
        memset(frame, 1, size);
        munmap(frame, size);
    }
}

int main() {
    app::Index<std::string, long> index;
    app::Step<long> step;
    for (int round = 0; round < 10; round++) {
        index.insert("key", 20);
        step.extra_step(30);
        step.common_step(10);
        encode_frame(20);
    }
    return 0;
}
