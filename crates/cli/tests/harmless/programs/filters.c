/* Filters on system calls that end a process at the first call that they do not name: what is let pass without the agent
 * is all that is made with it. Each child is under another way to ask for the same filter. */
#define _GNU_SOURCE
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <semaphore.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define LET(number) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, number, 0, 1), BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)
#define THREADS 3

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_barrier_t everybody;
static sem_t confined, begun;

enum { BY_PRCTL, BY_SYSCALL, BY_PRCTL_BY_SYSCALL, WAYS };

static void confine(int way, int more) {
    struct sock_filter least[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        LET(SYS_write), LET(SYS_futex), LET(SYS_exit), LET(SYS_exit_group),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
    };
    /* What libc itself needs to end a thread, to create one, and to fork. */
    struct sock_filter much[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        LET(SYS_write), LET(SYS_futex), LET(SYS_exit), LET(SYS_exit_group), LET(SYS_madvise), LET(SYS_rt_sigprocmask),
        LET(SYS_mmap), LET(SYS_mprotect), LET(SYS_munmap), LET(SYS_clone3), LET(SYS_clone), LET(SYS_rseq),
        LET(SYS_set_robust_list), LET(SYS_wait4), LET(SYS_brk), LET(SYS_rt_sigaction), LET(SYS_getrandom),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
    };
    struct sock_fprog program = {more ? sizeof much / sizeof *much : sizeof least / sizeof *least,
                                 more ? much : least};
    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    long failed = way == BY_PRCTL     ? prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program)
                  : way == BY_SYSCALL ? syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program)
                                      : syscall(SYS_prctl, PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program, 0, 0);
    if (failed) abort();
}

static void say(const char *text) { write(1, text, strlen(text)); }

static void use_locks(void) {
    for (int i = 0; i < 1000; i++) {
        pthread_mutex_lock(&mutex);
        pthread_mutex_unlock(&mutex);
    }
}

/* Begins before the filter is there, has used no lock before, and waits and ends under it. */
static void *late(void *argument) {
    sem_post(&begun);
    sem_wait(&confined);
    use_locks();
    pthread_barrier_wait(&everybody);
    return argument;
}

static void *born_late(void *argument) {
    use_locks();
    return argument;
}

static void locks_alone(int way) {
    confine(way, 0);
    use_locks();
    say("locked\n");
}

static void threads_that_wait_and_end(int way) {
    pthread_t all[THREADS];
    pthread_barrier_init(&everybody, NULL, THREADS + 1);
    for (int i = 0; i < THREADS; i++) pthread_create(&all[i], NULL, late, NULL);
    for (int i = 0; i < THREADS; i++) sem_wait(&begun);
    confine(way, 1);
    for (int i = 0; i < THREADS; i++) sem_post(&confined);
    pthread_barrier_wait(&everybody);
    for (int i = 0; i < THREADS; i++) pthread_join(all[i], NULL);
    say("joined\n");
}

static void new_threads_and_children(int way) {
    confine(way, 1);
    pthread_t thread;
    if (pthread_create(&thread, NULL, born_late, NULL)) _exit(9);
    pthread_join(thread, NULL);
    pid_t child = fork();
    if (child == 0) {
        use_locks();
        say("child\n");
        _exit(4);
    }
    int status = 0;
    waitpid(child, &status, 0);
    if (status != 4 << 8) _exit(8);
    say("parent\n");
}

int main(void) {
    static void (*tests[])(int) = {locks_alone, threads_that_wait_and_end, new_threads_and_children};
    sem_init(&confined, 0, 0);
    sem_init(&begun, 0, 0);
    /* Asks which filters there are do not confine. */
    syscall(SYS_seccomp, SECCOMP_SET_MODE_STRICT, 1, NULL);
    syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, NULL);
    for (int test = 0; test < 3; test++) {
        for (int way = 0; way < WAYS; way++) {
            for (int ends = 0; ends < 3; ends++) {
                pid_t child = fork();
                if (child == 0) {
                    tests[test](way);
                    if (ends == 0) _exit(3);
                    if (ends == 1) _Exit(3);
                    /* All handlers run; nothing is left to be written. */
                    exit(3);
                }
                int status;
                waitpid(child, &status, 0);
                printf("%d %d %d ended with %x\n", test, way, ends, status);
                fflush(stdout);
            }
        }
    }
    return 5;
}
