/* Calls everything once. Prints whether errno stayed what it was, and the last failure of dlopen. */
#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "../longpole.h"

__attribute__((constructor)) static void before_main(void) { longpole_region_begin("before main"); }

static int scope(void)
{
	LONGPOLE_SCOPE("scope");
	return 1;
}

int main(void)
{
	int lock = 42;
	dlopen("/no/such/library", RTLD_NOW);
	errno = 77;
	longpole_region_end();
	longpole_region_begin("region");
	longpole_region_end();
	scope();
	uint64_t task = longpole_task_spawn();
	longpole_task_begin(task, "task");
	longpole_task_end();
	longpole_thread_name("thread");
	LONGPOLE_NAME(&lock, "lock");
	longpole_wait_begin(&lock, LONGPOLE_SPIN_LOCK);
	longpole_wait_end();
	longpole_acquired(&lock, LONGPOLE_READ_WRITE_LOCK);
	longpole_released(&lock);
	int error = errno;
	const char *failure = dlerror();
	printf("%d %s\n", error, failure && strstr(failure, "/no/such/library") ? "kept" : "lost");
	return 0;
}
