/* The shared library of planted_locks.c: a lock of its own. */
#include <pthread.h>

pthread_mutex_t library_lock = PTHREAD_MUTEX_INITIALIZER;

void with_library_lock(void (*work)(void))
{
	pthread_mutex_lock(&library_lock);
	work();
	pthread_mutex_unlock(&library_lock);
}
