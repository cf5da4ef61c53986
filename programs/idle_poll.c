/* A server without a client: it waits for input that comes seldom.
 *
 *   main    25 x ( handle 1 | wait_for_input: poll until the other process writes )
 *   client  25 x ( pause_between: sleep 40, then write a byte )
 *
 * CPU time: handle 25 ms. Elapsed: a second, in which no thread could run for 97 %. The longest wait that no thread of the
 * program ends is the client's sleep. An engineer's answer: nothing in it is slow; it waits for the clock.
 */
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>
#include "work.h"

NOINLINE void handle(void) { BURN(1); }

NOINLINE void wait_for_input(int descriptor)
{
    struct pollfd input = {descriptor, POLLIN, 0};
    char byte;
    CHECK(poll(&input, 1, -1) == 1);
    CHECK(read(descriptor, &byte, 1) == 1);
}

NOINLINE void pause_between(void)
{
    struct timespec time = {0, 40 * 1000 * 1000};
    nanosleep(&time, NULL);
}

int main(void)
{
    int ends[2];
    CHECK(pipe(ends) == 0);
    pid_t client = fork();
    CHECK(client >= 0);
    for (int i = 0; i < 25; i++) {
        if (client == 0) {
            pause_between();
            CHECK(write(ends[1], "x", 1) == 1);
        } else {
            wait_for_input(ends[0]);
            handle();
        }
    }
    if (client == 0)
        _exit(0);
    CHECK(waitpid(client, NULL, 0) == client);
    return 0;
}
