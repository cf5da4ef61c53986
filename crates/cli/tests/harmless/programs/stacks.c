/* Stacks that end, stacks of signals, stacks of coroutines. */
#define _GNU_SOURCE
#include <pthread.h>
#include <semaphore.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static sem_t semaphore;
static __thread sigjmp_buf back;

static void use(void) {
    pthread_mutex_lock(&mutex);
    sem_post(&semaphore);
    sem_wait(&semaphore);
    pthread_mutex_unlock(&mutex);
}

static void overflowed(int number) {
    (void)number;
    /* The handler's own stack; the mutex may be held. */
    sem_post(&semaphore);
    sem_wait(&semaphore);
    siglongjmp(back, 1);
}

static int descend(int depth) {
    volatile char room[64];
    room[depth % 64] = 1;
    sem_post(&semaphore);
    if (sem_trywait(&semaphore)) sem_wait(&semaphore);
    pthread_mutex_t own = PTHREAD_MUTEX_INITIALIZER;
    pthread_mutex_lock(&own);
    pthread_mutex_unlock(&own);
    return descend(depth + 1) + room[0];
}

static void *overflow(void *argument) {
    stack_t stack = {.ss_sp = malloc(1 << 16), .ss_size = 1 << 16};
    sigaltstack(&stack, NULL);
    long caught = 0;
    for (volatile int i = 0; i < 20; i++) {
        if (sigsetjmp(back, 1) == 0) descend(0);
        caught++;
        use();
    }
    return argument ? argument : (void *)caught;
}

static ucontext_t contexts[8], home;
static int steps;
static void coroutine(int number) {
    for (int i = 0; i < 1000; i++) {
        use();
        steps++;
        swapcontext(&contexts[number], &contexts[(number + 1) % 8]);
    }
    swapcontext(&contexts[number], &home);
}

/* Each on the smallest stack, with nothing mapped around it. */
static void coroutines(void) {
    size_t page = 4096, room = 16 * page;
    for (int i = 0; i < 8; i++) {
        char *stack = mmap(NULL, room + 2 * page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        mprotect(stack + page, room, PROT_READ | PROT_WRITE);
        getcontext(&contexts[i]);
        contexts[i].uc_stack.ss_sp = stack + page;
        contexts[i].uc_stack.ss_size = room;
        contexts[i].uc_link = &home;
        makecontext(&contexts[i], (void (*)(void))coroutine, 1, i);
    }
    swapcontext(&home, &contexts[0]);
}

/* A coroutine that goes on in another thread. */
static ucontext_t wanderer, there;
static void wander(void) {
    for (;;) {
        use();
        steps++;
        swapcontext(&wanderer, &there);
    }
}
static void *host(void *argument) {
    for (int i = 0; i < 100; i++) swapcontext(&there, &wanderer);
    return argument;
}

int main(void) {
    sem_init(&semaphore, 0, 0);
    struct sigaction action = {.sa_handler = overflowed, .sa_flags = SA_ONSTACK | SA_NODEFER};
    sigaction(SIGSEGV, &action, NULL);
    struct rlimit limit = {1 << 20, 1 << 20};
    setrlimit(RLIMIT_STACK, &limit);
    printf("main %ld\n", (long)overflow(NULL));
    pthread_t thread;
    void *caught;
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, 65536);
    for (int i = 0; i < 5; i++) {
        pthread_create(&thread, &attributes, overflow, NULL);
        pthread_join(thread, &caught);
        printf("thread %ld\n", (long)caught);
    }
    coroutines();
    printf("steps %d\n", steps);
    getcontext(&wanderer);
    wanderer.uc_stack.ss_sp = malloc(65536);
    wanderer.uc_stack.ss_size = 65536;
    makecontext(&wanderer, wander, 0);
    for (int i = 0; i < 10; i++) {
        pthread_create(&thread, NULL, host, NULL);
        pthread_join(thread, NULL);
    }
    host(NULL);
    printf("steps %d\n", steps);
    fflush(stdout);
    /* And where nobody handles it. */
    signal(SIGSEGV, SIG_DFL);
    pid_t child = fork();
    if (child == 0) descend(0);
    int status;
    waitpid(child, &status, 0);
    printf("signal %d\n", WTERMSIG(status));
    return 2;
}
