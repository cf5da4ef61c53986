/* Two loops that look like busy waits and are not: one only computes in registers, one only reads memory
 * (but another address every time).
 *
 *   main   register_loop 500 | scan_memory 500
 *
 * CPU time 1000 ms: each 50 %. Spinning: 0.
 */
#include <string.h>
#include "work.h"

static unsigned char memory[1 << 16];
unsigned long result;

NOINLINE void register_loop(void)
{
    unsigned long value = 1;
    long end = CPU_NANOSECONDS() + 500 * 1000000L;
    do {
        for (int i = 0; i < 400000; i++) {
            value ^= value << 13;
            value ^= value >> 7;
            value ^= value << 17;
        }
    } while (CPU_NANOSECONDS() < end);
    result += value;
}

NOINLINE void scan_memory(void)
{
    long end = CPU_NANOSECONDS() + 500 * 1000000L;
    do {
        for (int repeat = 0; repeat < 8; repeat++) {
            const unsigned char *at = memory;
            while (*at == 0)
                at++;
            result += at - memory;
        }
    } while (CPU_NANOSECONDS() < end);
}

int main(void)
{
    memory[sizeof memory - 1] = 1;
    register_loop();
    scan_memory();
    return 0;
}
