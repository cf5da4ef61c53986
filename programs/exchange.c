/*
 * Two processes that exchange bytes over loopback and over a pipe, and then want the same file's lock.
 *
 *   exchange   [answer 8 ms] x 10 | write to the pipe each 8 ms, 10 times | lock journal ... 40 ms | waitpid
 *   client     ask, wait    x 10 | read                                  | 10 ms, lock journal ...  | work 20 ms
 *
 * The client waits about 80 ms for `socket client ↔ exchange`, 80 ms for `pipe exchange → client`, 30 ms for `lock of file
 * journal`; the parent 20 ms and more for `end of process client`. What is sent over loopback arrives in a soft
 * interrupt on the sender's time: the wakes are the sender's.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#define MESSAGES 10

static void check(int is_right)
{
	if (!is_right)
		abort();
}

static void client(struct sockaddr *address, int from)
{
	char byte = 1;
	int connection = socket(AF_INET, SOCK_STREAM, 0), journal;
	pthread_setname_np(pthread_self(), "client");
	check(connect(connection, address, sizeof(struct sockaddr_in)) == 0);
	for (int i = 0; i < MESSAGES; i++)
		check(send(connection, &byte, 1, 0) == 1 && recv(connection, &byte, 1, 0) == 1);
	for (int i = 0; i < MESSAGES; i++)
		check(read(from, &byte, 1) == 1);
	usleep(10000);
	journal = open("journal", O_RDWR);
	check(flock(journal, LOCK_EX) == 0);
	usleep(20000);
}

int main(void)
{
	char byte;
	int ends[2], listener = socket(AF_INET, SOCK_STREAM, 0), connection, journal, status;
	struct sockaddr_in address = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t size = sizeof(address);
	check(bind(listener, (struct sockaddr *)&address, size) == 0 && listen(listener, 1) == 0);
	check(getsockname(listener, (struct sockaddr *)&address, &size) == 0 && pipe(ends) == 0);
	journal = open("journal", O_RDWR | O_CREAT, 0600);
	pid_t child = fork();
	if (child == 0) {
		client((struct sockaddr *)&address, ends[0]);
		_exit(0);
	}
	connection = accept(listener, NULL, NULL);
	for (int i = 0; i < MESSAGES; i++) {
		check(recv(connection, &byte, 1, 0) == 1);
		usleep(8000);
		check(send(connection, &byte, 1, 0) == 1);
	}
	check(flock(journal, LOCK_EX) == 0);
	for (int i = 0; i < MESSAGES; i++) {
		usleep(8000);
		check(write(ends[1], &byte, 1) == 1);
	}
	usleep(40000);
	flock(journal, LOCK_UN);
	check(waitpid(child, &status, 0) == child && status == 0);
	unlink("journal");
}
