/* Datagrams that came long before they are received: nobody waits. Two senders to one socket, one over IPv6 to another.
 *
 *   first sender   A 100 | send |
 *   second sender  B 60 | send | send over IPv6 |
 *   main           sleep 700 ........ | look, receive, receive, receive | D 100 | join, join
 *
 * Critical path (CPU): A 100, D 100 = 200 ms. Logical zeroing: A 40 (then B's 60 ms are the longest), B 0, D 100.
 * A at 0: 160 ms.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <netinet/in.h>
#include <pthread.h>
#include <sys/socket.h>
#include <unistd.h>
#include "work.h"

static struct sockaddr_in address = { .sin_family = AF_INET };
static struct sockaddr_in6 address_6 = { .sin6_family = AF_INET6 };
static int receiver, receiver_6;

NOINLINE void A(void) { BURN(100); }
NOINLINE void B(void) { BURN(60); }
NOINLINE void D(void) { BURN(100); }

static void send_to(int family, void *address, socklen_t length)
{
    int sender = socket(family, SOCK_DGRAM, 0);
    CHECK(sendto(sender, "data", 4, 0, address, length) == 4);
    close(sender);
}

static void *first_sender(void *unused)
{
    A();
    send_to(AF_INET, &address, sizeof address);
    return unused;
}

static void *second_sender(void *unused)
{
    B();
    send_to(AF_INET, &address, sizeof address);
    if (receiver_6 >= 0)
        send_to(AF_INET6, &address_6, sizeof address_6);
    return unused;
}

static int receiver_at(int family, void *address, socklen_t length)
{
    int made = socket(family, SOCK_DGRAM, 0);
    if (made < 0 || bind(made, address, length) != 0 || getsockname(made, address, &length) != 0)
        return -1;
    return made;
}

int main(void)
{
    pthread_t threads[2];
    char bytes[4];
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    address_6.sin6_addr = in6addr_loopback;
    CHECK((receiver = receiver_at(AF_INET, &address, sizeof address)) >= 0);
    /* Not every machine has IPv6. */
    receiver_6 = receiver_at(AF_INET6, &address_6, sizeof address_6);
    CHECK(pthread_create(&threads[0], NULL, first_sender, NULL) == 0);
    CHECK(pthread_create(&threads[1], NULL, second_sender, NULL) == 0);
    usleep(700000);
    CHECK(recv(receiver, bytes, 4, MSG_PEEK) == 4);
    for (int i = 0; i < 2; i++)
        CHECK(recv(receiver, bytes, 4, 0) == 4);
    if (receiver_6 >= 0)
        CHECK(read(receiver_6, bytes, 4) == 4);
    D();
    for (int i = 0; i < 2; i++)
        CHECK(pthread_join(threads[i], NULL) == 0);
    return 0;
}
