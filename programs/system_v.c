/* Two processes that hand over by a set of two System V semaphores: free slots, and full ones.
 *
 *   parser   wait for a free slot | parse 2 | one more is full    ...     50 times
 *   writer   wait for a full slot | store 5 | one more is free    ...
 *
 * The writer is behind: with twice as many slots nothing would be faster.
 */
#define _GNU_SOURCE
#include <sys/sem.h>
#include <sys/wait.h>
#include <unistd.h>
#include "work.h"

enum { FREE, FULL };

NOINLINE void parse(void) { BURN(2); }
NOINLINE void store(void) { BURN(5); }

static void add(int set, int semaphore, int number)
{
    struct sembuf operation = { .sem_num = semaphore, .sem_op = number };
    CHECK(semop(set, &operation, 1) == 0);
}

int main(void)
{
    int set = semget(IPC_PRIVATE, 2, 0600);
    CHECK(set >= 0 && semctl(set, FREE, SETVAL, 4) == 0 && semctl(set, FULL, SETVAL, 0) == 0);
    pid_t parser = fork();
    CHECK(parser >= 0);
    for (int i = 0; i < 50; i++) {
        if (parser == 0) {
            add(set, FREE, -1);
            parse();
            add(set, FULL, 1);
        } else {
            add(set, FULL, -1);
            store();
            add(set, FREE, 1);
        }
    }
    if (parser == 0)
        return 0;
    CHECK(wait(NULL) == parser && semctl(set, 0, IPC_RMID) == 0);
    return 0;
}
