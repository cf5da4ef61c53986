/* A client and its server, two processes: over TCP on the loopback address, or with the argument `local` over a local socket. The
 * client asks 10 times. Before each request it computes 5 ms of its own processor time in `make_request`; the server computes
 * 20 ms in `look_up` before it answers. They work by turns, so the critical path leads through both, 10 × (5 + 20) ms:
 * look_up 200, make_request 50. Logical zeroing: the same. The client waits 200 ms in `ask`, the server 50 ms in `serve`. */
#include <arpa/inet.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "work.h"

enum { REQUESTS = 10 };

NOINLINE static void make_request(void) { BURN(5); }
NOINLINE static void look_up(void) { BURN(20); }

NOINLINE static void ask(int server) {
    long value = 1;
    CHECK(write(server, &value, sizeof value) == sizeof value);
    CHECK(read(server, &value, sizeof value) == sizeof value);
}

NOINLINE static void serve(int listener) {
    long value;
    int client = accept(listener, NULL, NULL);
    while (read(client, &value, sizeof value) == sizeof value) {
        look_up();
        CHECK(write(client, &value, sizeof value) == sizeof value);
    }
}

int main(int argc, char **argv) {
    int is_local = argc > 1;
    struct sockaddr_in tcp = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    struct sockaddr_un local = {.sun_family = AF_UNIX};
    struct sockaddr *address = is_local ? (void *)&local : (void *)&tcp;
    // A local socket gets a name of its own where it asks for none.
    socklen_t length = is_local ? sizeof local.sun_family : sizeof tcp;
    int listener = socket(address->sa_family, SOCK_STREAM, 0);
    CHECK(bind(listener, address, length) == 0 && listen(listener, 1) == 0);
    length = is_local ? sizeof local : sizeof tcp;
    CHECK(getsockname(listener, address, &length) == 0);
    int pid = fork();
    if (pid == 0) {
        serve(listener);
        return 0;
    }
    int server = socket(address->sa_family, SOCK_STREAM, 0);
    CHECK(connect(server, address, length) == 0);
    for (int request = 0; request < REQUESTS; request++) {
        make_request();
        ask(server);
    }
    close(server);
    return waitpid(pid, NULL, 0) != pid;
}
