/* Two processes and a queue of messages of POSIX, `/jobs`, which each of them opens by itself: a parser that hands jobs to a slower worker.
 *
 *   parser   parse 2 | send ...       40 times, the queue holds 4
 *   worker   receive | work 5 ...
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <mqueue.h>
#include <sys/wait.h>
#include <unistd.h>
#include "work.h"

#define NAME "/jobs"

NOINLINE void parse(void) { BURN(2); }
NOINLINE void work(void) { BURN(5); }

int main(void)
{
    struct mq_attr attributes = { .mq_maxmsg = 4, .mq_msgsize = sizeof(int) };
    mq_unlink(NAME);
    mqd_t jobs = mq_open(NAME, O_CREAT | O_RDWR, 0600, &attributes);
    CHECK(jobs >= 0);
    pid_t worker = fork();
    CHECK(worker >= 0);
    if (worker == 0) {
        /* Another descriptor than the parser's. */
        CHECK(dup(0) >= 0);
        mqd_t own = mq_open(NAME, O_RDONLY);
        CHECK(own >= 0 && own != jobs);
        for (int i = 0; i < 40; i++) {
            int job;
            CHECK(mq_receive(own, (char *)&job, sizeof job, NULL) == sizeof job);
            work();
        }
        return 0;
    }
    for (int i = 0; i < 40; i++) {
        parse();
        CHECK(mq_send(jobs, (const char *)&i, sizeof i, 0) == 0);
    }
    CHECK(wait(NULL) == worker && mq_unlink(NAME) == 0);
    return 0;
}
