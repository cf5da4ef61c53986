/* Four processes that append records of 1 MiB to one file, `journal`. The kernel lets one write to a file at a time: the others wait for
 * its lock, and for no disk.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>
#include "work.h"

enum { RECORD = 1 << 20 };

NOINLINE void append(int journal, const char *record) { CHECK(write(journal, record, RECORD) == RECORD); }

int main(void)
{
    char *record = calloc(1, RECORD);
    CHECK(record != NULL);
    for (int process = 0; process < 4; process++) {
        pid_t child = fork();
        CHECK(child >= 0);
        if (child > 0)
            continue;
        int journal = open("journal", O_CREAT | O_WRONLY | O_APPEND, 0644);
        CHECK(journal >= 0);
        for (int i = 0; i < 40; i++)
            append(journal, record);
        return 0;
    }
    while (wait(NULL) > 0)
        ;
    return 0;
}
