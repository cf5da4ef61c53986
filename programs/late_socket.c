/* What is received was sent long before: nobody waits. A local socket and a TCP connection.
 *
 *   local sender  A 100 | send |
 *   TCP sender    B 60 | send |
 *   main          sleep 700 ........ | receive, receive | D 100 | join, join
 *
 * Critical path (CPU): A 100, D 100 = 200 ms. Logical zeroing: A 40 (then B's 60 ms are the longest), B 0, D 100.
 * A at 0: 160 ms.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <pthread.h>
#include <sys/socket.h>
#include <unistd.h>
#include "work.h"

static int local[2], tcp[2];

NOINLINE void A(void) { BURN(100); }
NOINLINE void B(void) { BURN(60); }
NOINLINE void D(void) { BURN(100); }

static void *local_sender(void *unused)
{
    A();
    CHECK(send(local[1], "data", 4, 0) == 4);
    return unused;
}

static void *tcp_sender(void *unused)
{
    B();
    CHECK(write(tcp[1], "data", 4) == 4);
    return unused;
}

static void connect_pair(void)
{
    struct sockaddr_in address = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    socklen_t length = sizeof address;
    int listener = socket(AF_INET, SOCK_STREAM, 0);
    CHECK(listener >= 0 && bind(listener, (struct sockaddr *)&address, length) == 0);
    CHECK(listen(listener, 1) == 0 && getsockname(listener, (struct sockaddr *)&address, &length) == 0);
    tcp[1] = socket(AF_INET, SOCK_STREAM, 0);
    CHECK(connect(tcp[1], (struct sockaddr *)&address, length) == 0);
    CHECK((tcp[0] = accept(listener, NULL, NULL)) >= 0);
}

int main(void)
{
    pthread_t threads[2];
    char bytes[4];
    CHECK(socketpair(AF_UNIX, SOCK_STREAM, 0, local) == 0);
    connect_pair();
    CHECK(pthread_create(&threads[0], NULL, local_sender, NULL) == 0);
    CHECK(pthread_create(&threads[1], NULL, tcp_sender, NULL) == 0);
    usleep(700000);
    CHECK(recv(local[0], bytes, 4, 0) == 4);
    CHECK(recv(tcp[0], bytes, 4, MSG_PEEK) == 4);
    CHECK(read(tcp[0], bytes, 4) == 4);
    D();
    for (int i = 0; i < 2; i++)
        CHECK(pthread_join(threads[i], NULL) == 0);
    return 0;
}
