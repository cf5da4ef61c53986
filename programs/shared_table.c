/* Processes that update one table in shared memory, which each of them maps at another address, under a lock in it.
 *
 *   each of 2   prepare 4 | lock | update 12 | unlock | ...     20 times
 *
 * One update after the other takes 2 x 20 x 12 + 4 = 484 ms. With a table for each (the argument `own`) a run on two processors takes
 * 20 x 16 = 320 ms.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>
#include "work.h"

struct table {
    long rows[64];
    pthread_mutex_t rows_lock;
};

NOINLINE void prepare(void) { BURN(4); }
NOINLINE void update(struct table *table, int row)
{
    BURN(12);
    table->rows[row]++;
}

/* A page more for each process before it puts the table elsewhere. */
static struct table *mapped(int memory, int pages)
{
    if (pages > 0)
        CHECK(mmap(NULL, pages * 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) != MAP_FAILED);
    struct table *table = mmap(NULL, 2 * sizeof *table, PROT_READ | PROT_WRITE, MAP_SHARED, memory, 0);
    CHECK(table != MAP_FAILED);
    return table;
}

int main(int count, char **arguments)
{
    (void)arguments;
    int memory = memfd_create("table", 0);
    CHECK(memory >= 0 && ftruncate(memory, 2 * sizeof(struct table)) == 0);
    struct table *tables = mapped(memory, 0);
    pthread_mutexattr_t shared;
    CHECK(pthread_mutexattr_init(&shared) == 0);
    CHECK(pthread_mutexattr_setpshared(&shared, PTHREAD_PROCESS_SHARED) == 0);
    for (int i = 0; i < 2; i++)
        CHECK(pthread_mutex_init(&tables[i].rows_lock, &shared) == 0);
    CHECK(munmap(tables, 2 * sizeof *tables) == 0);
    for (int process = 0; process < 2; process++) {
        pid_t child = fork();
        CHECK(child >= 0);
        if (child > 0)
            continue;
        struct table *table = mapped(memory, 1 + process) + (count > 1 ? process : 0);
        for (int i = 0; i < 20; i++) {
            prepare();
            CHECK(pthread_mutex_lock(&table->rows_lock) == 0);
            update(table, i);
            CHECK(pthread_mutex_unlock(&table->rows_lock) == 0);
        }
        return 0;
    }
    while (wait(NULL) > 0)
        ;
    return 0;
}
