/* A process parses records and hands them to another one that stores them, through a pipe, and then builds an index.
 *
 *   parser  parse_record 3 | ... 40 times | build_index 80
 *   store   [read] store_record 2 | [read] ...
 *
 * A pipe holds 64 KiB, which are four of these records: however fast it parses, the parser is no further ahead. With -DSMALL all of
 * them fit into it. With -DREPORTS they fit, storing takes longer than parsing, and the process that stores makes a report of 80 at the
 * end: however fast it stores, it does not begin that before the last record is parsed.
 */
#include <sys/wait.h>
#include <unistd.h>
#include "work.h"

#if defined SMALL || defined REPORTS
enum { RECORDS = 40, RECORD = 1 << 10 };
#else
enum { RECORDS = 40, RECORD = 1 << 14 };
#endif

#ifdef REPORTS
enum { PARSE = 2, STORE = 3, INDEX = 0, REPORT = 80 };
#else
enum { PARSE = 3, STORE = 2, INDEX = 80, REPORT = 0 };
#endif

static char record[RECORD];

NOINLINE void parse_record(void) { BURN(PARSE); }
NOINLINE void store_record(void) { BURN(STORE); }
NOINLINE void build_index(void) { BURN(INDEX); }
NOINLINE void write_report(void) { BURN(REPORT); }

static int read_record(int pipe)
{
    for (ssize_t all = 0, got; all < RECORD; all += got)
        if ((got = read(pipe, record + all, RECORD - all)) <= 0)
            return 0;
    return 1;
}

int main(void)
{
    int ends[2];
    CHECK(pipe(ends) == 0);
    pid_t store = fork();
    if (store == 0) {
        close(ends[1]);
        while (read_record(ends[0]))
            store_record();
        write_report();
        _exit(0);
    }
    close(ends[0]);
    for (int i = 0; i < RECORDS; i++) {
        parse_record();
        CHECK(write(ends[1], record, RECORD) == RECORD);
    }
    close(ends[1]);
    build_index();
    CHECK(waitpid(store, NULL, 0) == store);
    return 0;
}
