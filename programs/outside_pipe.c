/* One end of a pipe whose other end is another program, which may not be recorded.
 *
 *   outside_pipe write | outside_pipe digest
 *     write    line | sleep 8 | line | sleep 8 ...   80 lines, in its own time
 *     digest   ....... | digest 3 | .... | digest 3     ends when write does: 0.65 s, with or without its work
 *   outside_pipe make | outside_pipe drain
 *     make     make 1 | 8 KiB | make 1 | 8 KiB | full ....  120 blocks; the pipe holds eight
 *     drain    take | work 4 | take | work 4 ...            0.48 s, with or without the work of make
 */
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>
#include "work.h"

enum { LINES = 80, BLOCKS = 120, BLOCK = 8192 };

NOINLINE static void digest(void) { BURN(3); }
NOINLINE static void make(void) { BURN(1); }
NOINLINE static void drain(void) { BURN(4); }

int main(int count, char **arguments)
{
    static char block[BLOCK];
    const char *end = count > 1 ? arguments[1] : "";
    if (strcmp(end, "write") == 0)
        for (int line = 0, left = 1; line < LINES; line++) {
            CHECK(write(STDOUT_FILENO, "line\n", 5) == 5);
            usleep(8000);
            /* The other end begins later. */
            while (line == 0 && left > 0) {
                usleep(1000);
                CHECK(ioctl(STDOUT_FILENO, FIONREAD, &left) == 0);
            }
        }
    else if (strcmp(end, "digest") == 0)
        while (read(STDIN_FILENO, block, 5) == 5)
            digest();
    else if (strcmp(end, "make") == 0)
        for (int number = 0; number < BLOCKS; number++) {
            make();
            CHECK(write(STDOUT_FILENO, block, BLOCK) == BLOCK);
        }
    else
        for (ssize_t taken = 0, all = 0; (taken = read(STDIN_FILENO, block, BLOCK)) > 0;)
            for (all += taken; all >= BLOCK; all -= BLOCK)
                drain();
    return 0;
}
