/*
 * Locks in every place that a program can keep one: each has the same name in every run.
 *
 *   holder   [ask first] hold 8 ms | ...          for each object in turn, 6 rounds
 *   client     wait until held, ask | ...
 *
 * The client waits for each of them, about 8 ms a round, and `main` for the end of the two threads:
 *
 *   table_lock                a global mutex
 *   pool+0x28                 a mutex 40 bytes within a global structure
 *   filled                    a global condition variable, which the holder signals
 *   settings                  a global reader-writer lock
 *   turn                      a mutex that is a static variable of a procedure
 *   library_lock              a mutex in a shared library (planted_library.c)
 *   mutex in with_heap_lock   a mutex on the heap
 *   end of thread holder
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <unistd.h>

#define ROUNDS 6
#define HELD_MICROSECONDS 8000

void with_library_lock(void (*work)(void));

static pthread_mutex_t table_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t guard = PTHREAD_MUTEX_INITIALIZER;
pthread_cond_t filled = PTHREAD_COND_INITIALIZER;
pthread_rwlock_t settings = PTHREAD_RWLOCK_INITIALIZER;
struct { long numbers[5]; pthread_mutex_t lock; } pool = { .lock = PTHREAD_MUTEX_INITIALIZER };
static pthread_mutex_t *heap_lock;

static atomic_int held; /* the objects that the holder has held so far */
static _Thread_local int seen;
static _Thread_local int is_holder;

static void hold(void)
{
	if (is_holder) {
		held++;
		usleep(HELD_MICROSECONDS);
	}
}

/* The client asks when the holder has it. */
static void await_turn(void)
{
	if (!is_holder) {
		seen++;
		while (held < seen)
			usleep(100);
	}
}

static void with_table_lock(void)
{
	pthread_mutex_lock(&table_lock);
	hold();
	pthread_mutex_unlock(&table_lock);
}

static void with_pool(void)
{
	pthread_mutex_lock(&pool.lock);
	hold();
	pthread_mutex_unlock(&pool.lock);
}

static void with_settings(void)
{
	if (is_holder)
		pthread_rwlock_wrlock(&settings);
	else
		pthread_rwlock_rdlock(&settings);
	hold();
	pthread_rwlock_unlock(&settings);
}

static void with_turn(void)
{
	static pthread_mutex_t turn = PTHREAD_MUTEX_INITIALIZER;
	pthread_mutex_lock(&turn);
	hold();
	pthread_mutex_unlock(&turn);
}

__attribute__((noinline)) static void with_heap_lock(void)
{
	pthread_mutex_lock(heap_lock);
	hold();
	pthread_mutex_unlock(heap_lock);
}

static void with_library(void)
{
	with_library_lock(hold);
}

/* The client waits until the holder has filled something, which takes its time. */
static void with_condition(void)
{
	static int fillings, taken;
	if (is_holder) {
		hold();
		pthread_mutex_lock(&guard);
		fillings++;
		pthread_cond_signal(&filled);
		pthread_mutex_unlock(&guard);
	} else {
		pthread_mutex_lock(&guard);
		while (fillings <= taken)
			pthread_cond_wait(&filled, &guard);
		taken++;
		pthread_mutex_unlock(&guard);
	}
}

static void (*const uses[])(void) = {
	with_table_lock, with_pool, with_settings, with_turn, with_heap_lock, with_library, with_condition,
};

static void *run(void *role)
{
	is_holder = role != NULL;
	pthread_setname_np(pthread_self(), is_holder ? "holder" : "client");
	for (int round = 0; round < ROUNDS; round++)
		for (unsigned use = 0; use < sizeof(uses) / sizeof(uses[0]); use++) {
			await_turn();
			uses[use]();
			if (is_holder)
				usleep(2000); /* the client gets what the holder has let go */
		}
	return NULL;
}

int main(void)
{
	pthread_t holder, client;
	heap_lock = malloc(sizeof(*heap_lock));
	pthread_mutex_init(heap_lock, NULL);
	pthread_create(&holder, NULL, run, &holder);
	pthread_create(&client, NULL, run, NULL);
	pthread_join(holder, NULL);
	pthread_join(client, NULL);
}
