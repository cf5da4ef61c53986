/* Handlers that use what the main flow uses; masks and handlers are what they were set to. */
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static sem_t posted;
static int sink[2];
static volatile sig_atomic_t handled;
static sigjmp_buf back;
static volatile sig_atomic_t may_jump;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;

static void handler(int number) {
    int kept = errno;
    (void)number;
    handled++;
    sem_post(&posted);
    if (write(sink[1], "x", 1) != 1) abort();
    char text;
    if (read(sink[0], &text, 1) != 1) abort();
    struct timespec none = {0, 0};
    nanosleep(&none, NULL);
    errno = kept;
}

static void jumper(int number) {
    (void)number;
    handled++;
    if (may_jump) siglongjmp(back, 1);
}

static long work(long rounds) {
    long sum = 0;
    for (long round = 0; round < rounds; round++) {
        pthread_mutex_lock(&mutex);
        sum += round;
        pthread_mutex_unlock(&mutex);
        pthread_rwlock_rdlock(&lock);
        sum += 2 * round;
        pthread_rwlock_unlock(&lock);
        while (sem_trywait(&posted) == 0) sum += 0;
        errno = 0;
    }
    return sum;
}

static void *thread(void *rounds) { return (void *)work((long)rounds); }

static void tick(void (*what)(int), long microseconds) {
    struct sigaction action = {.sa_handler = what, .sa_flags = SA_RESTART};
    sigaction(SIGALRM, &action, NULL);
    struct itimerval timer = {{0, microseconds}, {0, microseconds}};
    setitimer(ITIMER_REAL, &timer, NULL);
}

static void say_mask(const char *when) {
    sigset_t mask;
    pthread_sigmask(SIG_BLOCK, NULL, &mask);
    int count = 0;
    for (int number = 1; number < NSIG; number++) count += sigismember(&mask, number) == 1;
    printf("%s: %d signals blocked, USR2 %d\n", when, count, sigismember(&mask, SIGUSR2));
}

int main(void) {
    if (pipe(sink)) abort();
    sem_init(&posted, 0, 0);
    say_mask("first");
    tick(handler, 150);
    pthread_t threads[3];
    for (int i = 0; i < 3; i++) pthread_create(&threads[i], NULL, thread, (void *)50000);
    printf("%ld\n", work(100000));
    for (int i = 0; i < 3; i++) {
        void *sum;
        pthread_join(threads[i], &sum);
        printf("%ld\n", (long)sum);
    }
    printf("handled %d\n", handled > 10);
    /* Jumps out of handlers, wherever the thread is, leave the thread as usable as before. */
    tick(jumper, 200);
    for (volatile int jumps = 0; jumps < 100;) {
        if (sigsetjmp(back, 1)) jumps++;
        may_jump = 1;
        for (int i = 0; i < 2000; i++) {
            /* A try and an unlock leave nothing behind where they are interrupted before or after. */
            sem_post(&posted);
            sem_getvalue(&posted, &(int){0});
        }
        may_jump = 0;
    }
    tick(SIG_IGN, 0);
    sigset_t two;
    sigemptyset(&two);
    sigaddset(&two, SIGUSR2);
    pthread_sigmask(SIG_BLOCK, &two, NULL);
    pthread_create(&threads[0], NULL, thread, (void *)10);
    pthread_join(threads[0], NULL);
    say_mask("last");
    for (int number = 1; number < 32; number++) {
        struct sigaction action;
        if (sigaction(number, NULL, &action) == 0 && action.sa_handler != SIG_DFL) printf("handler of %d\n", number);
    }
    fflush(stdout);
    raise(SIGTERM);
    return 1;
}
