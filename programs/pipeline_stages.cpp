/* A pipeline of oneTBB whose first and last stage take one item at a time, as files are read and written, though any thread does them.
 *
 *   A   read | change ........ | write | read | change ........ | write
 *   B   .... | read | change ........ | write | read | change ........      never two reads at once
 *
 * No thread waits for a stage: an item that finds it busy is left there, and whoever is in it takes that item next. So nothing that a
 * recorder sees says that reads exclude each other. Without `change_block` the run takes as long as all reads, and not as long as all reads
 * and writes on two processors.
 */
#include <tbb/global_control.h>
#include <tbb/parallel_pipeline.h>

#include "work.h"

enum { ITEMS = 200, IN_FLIGHT = 8, READ_MS = 5, CHANGE_MS = 11, WRITE_MS = 1 };

NOINLINE int read_block(int item)
{
    BURN(READ_MS);
    return item;
}

NOINLINE int change_block(int item)
{
    BURN(CHANGE_MS);
    return item;
}

NOINLINE void write_block(int item)
{
    CHECK(item >= 0);
    BURN(WRITE_MS);
}

int main()
{
    tbb::global_control two(tbb::global_control::max_allowed_parallelism, 2);
    int next = 0;
    auto read = [&next](tbb::flow_control &control) {
        if (next == ITEMS)
            control.stop();
        return next < ITEMS ? read_block(next++) : 0;
    };
    auto change = [](int item) { return change_block(item); };
    auto write = [](int item) { write_block(item); };
    tbb::parallel_pipeline(
        IN_FLIGHT, tbb::make_filter<void, int>(tbb::filter_mode::serial_in_order, read) &
                       tbb::make_filter<int, int>(tbb::filter_mode::parallel, change) &
                       tbb::make_filter<int, void>(tbb::filter_mode::serial_in_order, write));
    return 0;
}
