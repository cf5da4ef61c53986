/* Two processes and a pipe: the producer is slow, the consumer waits.
 *
 *   child    produce_block 50, write | produce_block 50, write | ...       20 blocks
 *   parent   read ............ | consume_block 10, read ....... | ...
 *
 * Critical path (CPU): 20 x 50 + 10 = 1010 ms: produce_block 99 %, consume_block 1 %.
 * CPU time: 1200 ms: produce_block 83.3 %, consume_block 16.7 %.
 * The parent is blocked 50 + 19 x 40 = 810 ms: cause `pipe`, suffered in receive_block, ended by the child.
 */
#include <sys/wait.h>
#include <unistd.h>
#include "work.h"

static char block[512];

NOINLINE void produce_block(void) { BURN(50); }
NOINLINE void consume_block(void) { BURN(10); }

/* Does something after the call, which therefore is no tail call: the procedure is on the stack. */
NOINLINE int receive_block(int descriptor)
{
    ssize_t bytes = read(descriptor, block, sizeof block);
    return bytes > 0;
}

int main(void)
{
    int ends[2];
    CHECK(pipe(ends) == 0);
    pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
        close(ends[0]);
        for (int i = 0; i < 20; i++) {
            produce_block();
            CHECK(write(ends[1], block, sizeof block) == sizeof block);
        }
        _exit(0);
    }
    close(ends[1]);
    while (receive_block(ends[0]))
        consume_block();
    CHECK(waitpid(child, NULL, 0) == child);
    return 0;
}
