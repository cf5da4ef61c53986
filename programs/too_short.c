/* Over before a timer has looked often enough: so many milliseconds of work, 3 without an argument.
 *
 *   main   compute 3
 *
 * At 499 samples a second 3 ms are one or two samples. An engineer's answer: run it longer, or sample more often.
 */
#include "work.h"

NOINLINE void compute(int milliseconds) { BURN(milliseconds); }

int main(int argc, char **argv)
{
    compute(argc > 1 ? atoi(argv[1]) : 3);
    return 0;
}
