/* What programs tell the agent, in all places and in no order: nothing changes, whatever it is. */
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../../../../../runtime/c/longpole.h"

static volatile sig_atomic_t handled;
static int lock;
static pthread_key_t key;

static void tell_all(void) {
    longpole_region_begin("region");
    uint64_t task = longpole_task_spawn();
    longpole_task_begin(task, "task");
    longpole_wait_begin(&lock, LONGPOLE_SPIN_LOCK);
    longpole_wait_end();
    longpole_acquired(&lock, LONGPOLE_MUTEX);
    longpole_released(&lock);
    longpole_task_end();
    longpole_region_end();
}

__attribute__((constructor)) static void before_main(void) { tell_all(); }
__attribute__((destructor)) static void after_main(void) { tell_all(); }

static void handle(int signal) {
    (void)signal;
    int error = errno;
    tell_all();
    if (errno != error) _exit(91);
    handled++;
}

static void end_of_thread(void *value) {
    tell_all();
    (void)value;
}

static void *run(void *argument) {
    pthread_setspecific(key, argument);
    longpole_thread_name("a name that is much longer than what the kernel or the agent keep of a thread's name");
    for (int i = 0; i < 2000; i++) tell_all();
    return argument;
}

int main(void) {
    struct itimerval often = {{0, 200}, {0, 200}}, never = {{0, 0}, {0, 0}};
    signal(SIGALRM, handle);
    pthread_key_create(&key, end_of_thread);
    setitimer(ITIMER_REAL, &often, NULL);
    errno = 77;
    while (handled < 100) tell_all();
    printf("errno %d\n", errno);
    setitimer(ITIMER_REAL, &never, NULL);

    /* Ends without beginnings, beginnings without ends, kinds and objects that there are not. */
    for (int i = 0; i < 100; i++) {
        longpole_region_end();
        longpole_task_end();
        longpole_wait_end();
        longpole_released(NULL);
        longpole_released((void *)-1L);
    }
    longpole_wait_begin(NULL, (enum longpole_kind)99);
    longpole_wait_begin(&lock, (enum longpole_kind)-1);
    longpole_wait_end();
    longpole_wait_end();
    longpole_acquired((void *)-1L, (enum longpole_kind)1000);
    for (int i = 0; i < 100; i++) longpole_acquired(&lock, LONGPOLE_MUTEX);
    longpole_task_begin(0, "never made");
    longpole_task_end();
    longpole_task_begin(~0UL, "");
    longpole_task_end();
    for (int i = 0; i < 5000; i++) longpole_region_begin("deep");
    for (int i = 0; i < 5000; i++) longpole_region_end();
    static char name[10000];
    memset(name, 'x', sizeof(name) - 1);
    longpole_region_begin(name);
    longpole_region_end();
    longpole_object_name(&lock, sizeof(lock), name);
    longpole_object_name(&lock, (size_t)-1, "all of memory");
    longpole_object_name(NULL, 0, "");
    printf("errno %d\n", errno);

    pthread_t threads[8];
    for (int i = 0; i < 8; i++) pthread_create(&threads[i], NULL, run, &lock);
    pid_t child = fork();
    if (child == 0) {
        tell_all();
        _exit(errno == 77 ? 5 : 6);
    }
    int status = 0;
    waitpid(child, &status, 0);
    printf("child %d\n", WEXITSTATUS(status));
    for (int i = 0; i < 8; i++) pthread_join(threads[i], NULL);
    longpole_region_begin("left open");
    return 9;
}
