/* Processes made in every way, by a program with threads that never rest. */
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;
static pthread_mutex_t mutexes[4] = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_MUTEX_INITIALIZER, PTHREAD_MUTEX_INITIALIZER,
                                     PTHREAD_MUTEX_INITIALIZER};
static volatile int stop;

static void *hammer(void *argument) {
    pthread_mutex_t *mutex = &mutexes[(long)argument % 2];
    while (!stop) {
        pthread_mutex_lock(mutex);
        pthread_mutex_unlock(mutex);
        usleep(0);
    }
    return NULL;
}

static void *use(void *argument) {
    for (int i = 0; i < 1000; i++) {
        pthread_mutex_lock(&mutexes[3]);
        pthread_mutex_unlock(&mutexes[3]);
    }
    return argument;
}

/* What a child may do with threads and locks of its own. */
static int live(void) {
    pthread_t threads[2];
    for (int i = 0; i < 2; i++)
        if (pthread_create(&threads[i], NULL, use, NULL)) return 1;
    for (int i = 0; i < 2; i++)
        if (pthread_join(threads[i], NULL)) return 2;
    return 40;
}

static int status_of(pid_t child) {
    int status = -1;
    if (waitpid(child, &status, 0) != child) return -1;
    return WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + WTERMSIG(status);
}

static void handler_in_parent(void) { write(1, "", 0); }
static int start(void *argument) {
    pthread_mutex_lock(&mutexes[2]);
    pthread_mutex_unlock(&mutexes[2]);
    return *(int *)argument;
}

static char stack[1 << 18] __attribute__((aligned(64)));
static volatile int seen;
static sem_t bare;
static int bare_thread(void *argument) {
    (void)argument;
    for (int i = 0; i < 20000; i++) {
        sem_post(&bare);
        seen++;
    }
    return 0;
}

int main(void) {
    pthread_t threads[4];
    for (long i = 0; i < 4; i++) pthread_create(&threads[i], NULL, hammer, (void *)i);
    pthread_atfork(handler_in_parent, handler_in_parent, handler_in_parent);
    int sum = 0;
    for (int i = 0; i < 50; i++) {
        pid_t child = fork();
        if (child == 0) {
            pid_t grandchild = fork();
            if (grandchild == 0) _exit(live());
            _exit(status_of(grandchild) + live());
        }
        sum += status_of(child);
    }
    printf("fork %d\n", sum);
    pid_t child = _Fork();
    if (child == 0) {
        for (int i = 0; i < 10000; i++) start(&(int){0});
        _exit(41);
    }
    for (int i = 0; i < 10000; i++) start(&(int){0});
    printf("_Fork %d\n", status_of(child));
    child = (pid_t)syscall(SYS_fork);
    if (child == 0) {
        for (int i = 0; i < 10000; i++) start(&(int){0});
        _exit(42);
    }
    for (int i = 0; i < 10000; i++) start(&(int){0});
    printf("SYS_fork %d\n", status_of(child));
    child = clone(start, stack + sizeof stack, SIGCHLD, &(int){43});
    printf("clone %d\n", status_of(child));
    child = vfork();
    if (child == 0) {
        execl("/bin/sh", "sh", "-c", "exit 44", NULL);
        _exit(1);
    }
    printf("vfork %d\n", status_of(child));
    child = vfork();
    if (child == 0) {
        execl("/nonexistent", "x", NULL);
        _exit(45);
    }
    printf("vfork %d\n", status_of(child));
    char *arguments[] = {"sh", "-c", "echo spawned; exit 46", NULL};
    fflush(stdout);
    if (posix_spawn(&child, "/bin/sh", NULL, NULL, arguments, environ)) return 1;
    printf("posix_spawn %d\n", status_of(child));
    /* Without an environment there is no agent in the program. */
    char *nothing[] = {NULL};
    fflush(stdout);
    if (posix_spawn(&child, "/bin/sh", NULL, NULL, arguments, nothing)) return 1;
    printf("posix_spawn %d\n", status_of(child));
    printf("system %d\n", WEXITSTATUS(system("exit 47")));
    FILE *output = popen("echo popen; exit 48", "r");
    char line[32] = "";
    if (!fgets(line, sizeof line, output)) return 1;
    printf("%s%d\n", line, WEXITSTATUS(pclose(output)));
    stop = 1;
    for (int i = 0; i < 4; i++) pthread_join(threads[i], NULL);
    /* A thread that libc knows nothing of, in the memory and with the thread-local storage of this one. */
    sem_init(&bare, 0, 0);
    child = clone(bare_thread, stack + sizeof stack, CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | SIGCHLD, NULL);
    for (int i = 0; i < 20000; i++) sem_post(&bare);
    printf("bare %d\n", status_of(child));
    int value;
    sem_getvalue(&bare, &value);
    printf("%d %d\n", value, seen);
    fflush(stdout);
    execl("/bin/sh", "sh", "-c", "echo executed; exit 12", NULL);
    return 1;
}
