/* A client and its server on two machines, over TCP. The machine that LONGPOLE_HOST_INDEX calls 0 is the server, at the address that is
 * the argument; the other one asks 10 times. Before each request the client computes 5 ms of its own processor time in
 * `make_request`; the server computes 20 ms in `look_up` before it answers. They work by turns, so the critical path leads through
 * both, 10 × (5 + 20) ms: look_up 200, make_request 50. Before that both exchange 100 messages without work, by which the clocks of the
 * machines can be compared. The server listens on port 7411; the client tries again until it does. */
#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "work.h"

enum { REQUESTS = 10, GREETINGS = 100, PORT = 7411 };

NOINLINE static void make_request(void) { BURN(5); }
NOINLINE static void look_up(void) { BURN(20); }

static int has_read(int other, long *value) { return read(other, value, sizeof *value) == sizeof *value; }

static void send_value(int other, long value) { CHECK(write(other, &value, sizeof value) == sizeof value); }

NOINLINE static void ask(int server, long value) {
    send_value(server, value);
    CHECK(has_read(server, &value));
}

NOINLINE static void serve(int client) {
    long value;
    while (has_read(client, &value)) {
        if (value >= GREETINGS) {
            look_up();
        }
        send_value(client, value);
    }
}

static int server_at(struct sockaddr_in *address) {
    int on = 1, listener = socket(AF_INET, SOCK_STREAM, 0);
    CHECK(setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on) == 0);
    CHECK(bind(listener, (void *)address, sizeof *address) == 0);
    CHECK(listen(listener, 1) == 0);
    return accept(listener, NULL, NULL);
}

static int client_of(struct sockaddr_in *address) {
    for (;;) {
        int server = socket(AF_INET, SOCK_STREAM, 0);
        if (connect(server, (void *)address, sizeof *address) == 0) {
            return server;
        }
        close(server);
        usleep(10 * 1000);
    }
}

int main(int argc, char **argv) {
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(PORT)};
    const char *index = getenv("LONGPOLE_HOST_INDEX");
    CHECK(argc == 2 && index != NULL && inet_pton(AF_INET, argv[1], &address.sin_addr) == 1);
    int is_server = strcmp(index, "0") == 0, on = 1;
    int other = is_server ? server_at(&address) : client_of(&address);
    CHECK(setsockopt(other, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on) == 0);
    if (is_server) {
        serve(other);
        return 0;
    }
    for (long value = 0; value < GREETINGS + REQUESTS; value++) {
        if (value >= GREETINGS) {
            make_request();
        }
        ask(other, value);
    }
    return 0;
}
