/* A program with metrics of its own: two clients commit transactions, a third of which fail, out of a queue of 600.
 *
 *     cc -O2 -pthread -I runtime/c -o transactions runtime/c/examples/transactions.c
 *     longpole record -- ./transactions
 *
 * Prints its totals. */
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

#include "longpole_series.h"

enum { ORDERS = 600 };

static struct longpole_metric *commits, *aborts, *queued, *latency;
static int committed, aborted, left = ORDERS;

static void *client(void *nothing)
{
	int order;
	while ((order = __atomic_sub_fetch(&left, 1, __ATOMIC_RELAXED)) >= 0) {
		uint64_t begin = longpole_now();
		longpole_add(queued, -1);
		usleep(500);
		if (order % 3 == 0) {
			__atomic_add_fetch(&aborted, 1, __ATOMIC_RELAXED);
			longpole_add(aborts, 1);
		} else {
			__atomic_add_fetch(&committed, 1, __ATOMIC_RELAXED);
			longpole_add(commits, 1);
		}
		longpole_sample_at(latency, (double)(longpole_now() - begin) / 1e9, longpole_now());
	}
	return nothing;
}

int main(void)
{
	pthread_t clients[2];
	commits = longpole_metric("commits", "transactions", LONGPOLE_COUNTER);
	aborts = longpole_metric("aborts", "transactions", LONGPOLE_COUNTER);
	queued = longpole_metric("queued", "orders", LONGPOLE_GAUGE);
	latency = longpole_metric_at(longpole_program(), "latency", "s", LONGPOLE_GAUGE);
	longpole_set(queued, ORDERS);
	for (int i = 0; i < 2; i++)
		pthread_create(&clients[i], NULL, client, NULL);
	for (int i = 0; i < 2; i++)
		pthread_join(clients[i], NULL);
	printf("commits %d\naborts %d\nqueued 0\n", committed, aborted);
	return 0;
}
