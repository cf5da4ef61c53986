/* errno is what each call leaves, and the results are. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <threads.h>
#include <time.h>
#include <unistd.h>

#define SAY(call)                                                                                                    \
    do {                                                                                                             \
        errno = 77;                                                                                                  \
        long result = (long)(call);                                                                                  \
        printf("%s = %ld, errno %d\n", #call, result, errno);                                                        \
    } while (0)

static void initialise(void) {}
static void *nothing(void *argument) { return argument; }
static int nothing_c11(void *argument) { return argument != NULL; }

static void locks(void) {
    pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER, checked;
    pthread_mutexattr_t attributes;
    pthread_mutexattr_init(&attributes);
    pthread_mutexattr_settype(&attributes, PTHREAD_MUTEX_ERRORCHECK);
    pthread_mutex_init(&checked, &attributes);
    struct timespec past = {1, 0}, wrong = {1, -5};
    SAY(pthread_mutex_lock(&mutex));
    SAY(pthread_mutex_trylock(&mutex));
    SAY(pthread_mutex_timedlock(&mutex, &past));
    SAY(pthread_mutex_timedlock(&mutex, &wrong));
    SAY(pthread_mutex_clocklock(&mutex, CLOCK_MONOTONIC, &past));
    SAY(pthread_mutex_unlock(&mutex));
    SAY(pthread_mutex_timedlock(&mutex, &wrong));
    SAY(pthread_mutex_unlock(&mutex));
    SAY(pthread_mutex_clocklock(&mutex, 99, &past));
    SAY(pthread_mutex_lock(&checked));
    SAY(pthread_mutex_lock(&checked));
    SAY(pthread_mutex_unlock(&checked));
    SAY(pthread_mutex_unlock(&checked));
    pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;
    SAY(pthread_rwlock_timedrdlock(&lock, &wrong));
    SAY(pthread_rwlock_timedwrlock(&lock, &wrong));
    SAY(pthread_rwlock_clockrdlock(&lock, 99, &past));
    SAY(pthread_rwlock_clockwrlock(&lock, 99, &past));
    SAY(pthread_rwlock_rdlock(&lock));
    SAY(pthread_rwlock_tryrdlock(&lock));
    SAY(pthread_rwlock_trywrlock(&lock));
    SAY(pthread_rwlock_timedwrlock(&lock, &past));
    SAY(pthread_rwlock_unlock(&lock));
    SAY(pthread_rwlock_unlock(&lock));
    SAY(pthread_rwlock_wrlock(&lock));
    SAY(pthread_rwlock_wrlock(&lock));
    SAY(pthread_rwlock_rdlock(&lock));
    SAY(pthread_rwlock_timedrdlock(&lock, &past));
    SAY(pthread_rwlock_unlock(&lock));
    pthread_spinlock_t spin;
    pthread_spin_init(&spin, 0);
    SAY(pthread_spin_lock(&spin));
    SAY(pthread_spin_trylock(&spin));
    SAY(pthread_spin_unlock(&spin));
    pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
    pthread_mutex_lock(&mutex);
    SAY(pthread_cond_timedwait(&condition, &mutex, &past));
    SAY(pthread_cond_timedwait(&condition, &mutex, &wrong));
    SAY(pthread_cond_clockwait(&condition, &mutex, CLOCK_MONOTONIC, &past));
    SAY(pthread_cond_signal(&condition));
    SAY(pthread_cond_broadcast(&condition));
    SAY(pthread_mutex_unlock(&mutex));
    pthread_once_t once = PTHREAD_ONCE_INIT;
    SAY(pthread_once(&once, initialise));
    SAY(pthread_once(&once, initialise));
    pthread_barrier_t barrier;
    pthread_barrier_init(&barrier, NULL, 1);
    SAY(pthread_barrier_wait(&barrier));
    mtx_t plain;
    mtx_init(&plain, mtx_timed);
    SAY(mtx_lock(&plain));
    SAY(mtx_trylock(&plain));
    SAY(mtx_timedlock(&plain, &past));
    SAY(mtx_unlock(&plain));
    cnd_t signal;
    cnd_init(&signal);
    mtx_lock(&plain);
    SAY(cnd_timedwait(&signal, &plain, &past));
    SAY(cnd_signal(&signal));
    SAY(cnd_broadcast(&signal));
}

static void semaphores_and_threads(void) {
    struct timespec past = {1, 0}, wrong = {1, -5};
    sem_t semaphore;
    sem_init(&semaphore, 0, 1);
    SAY(sem_timedwait(&semaphore, &wrong));
    SAY(sem_wait(&semaphore));
    SAY(sem_trywait(&semaphore));
    SAY(sem_timedwait(&semaphore, &past));
    SAY(sem_timedwait(&semaphore, &wrong));
    SAY(sem_clockwait(&semaphore, CLOCK_MONOTONIC, &past));
    SAY(sem_clockwait(&semaphore, 99, &past));
    SAY(sem_post(&semaphore));
    pthread_t thread;
    thrd_t other;
    void *value;
    int number;
    SAY(pthread_create(&thread, NULL, nothing, (void *)5));
    SAY(pthread_setname_np(pthread_self(), "a name that is too long"));
    SAY(pthread_setname_np(pthread_self(), "name"));
    SAY(pthread_join(thread, &value));
    SAY(value);
    SAY(pthread_join(pthread_self(), &value));
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, (size_t)1 << 50);
    SAY(pthread_create(&thread, &attributes, nothing, NULL));
    SAY(thrd_create(&other, nothing_c11, &number));
    SAY(thrd_join(other, &number));
    SAY(number);
    sem_t finish;
    sem_init(&finish, 0, 0);
    SAY(pthread_create(&thread, NULL, (void *(*)(void *))sem_wait, &finish));
    SAY(pthread_tryjoin_np(thread, NULL));
    SAY(pthread_timedjoin_np(thread, NULL, &past));
    SAY(pthread_clockjoin_np(thread, NULL, CLOCK_MONOTONIC, &past));
    sem_post(&finish);
    SAY(pthread_timedjoin_np(thread, &value, NULL));
}

static void calls(void) {
    static int word = 3;
    struct timespec past = {1, 0}, none = {0, 0}, soon = {0, 1000}, wrong = {0, -1};
    SAY(syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, 4, NULL, NULL, 0));
    SAY(syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, 3, &soon, NULL, 0));
    SAY(syscall(SYS_futex, &word, FUTEX_WAIT_BITSET_PRIVATE, 3, &past, NULL, ~0));
    SAY(syscall(SYS_futex, &word, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0));
    SAY(syscall(SYS_futex, &word, 4711, 1, NULL, NULL, 0));
    SAY(syscall(SYS_getpid) == getpid());
    SAY(syscall(9999));
    char text[16] = "text";
    int pipes[2], pair[2];
    if (pipe(pipes) || socketpair(AF_UNIX, SOCK_STREAM, 0, pair)) abort();
    SAY(write(pipes[1], text, 4));
    SAY(read(pipes[0], text, 4));
    fcntl(pipes[0], F_SETFL, O_NONBLOCK);
    SAY(read(pipes[0], text, 4));
    SAY(read(-1, text, 4));
    SAY(write(pipes[0], text, 4));
    struct iovec piece = {text, 4};
    SAY(writev(pipes[1], &piece, 1));
    SAY(readv(pipes[0], &piece, 1));
    SAY(send(pair[0], text, 4, 0));
    SAY(recv(pair[1], text, 4, 0));
    SAY(recv(pair[1], text, 4, MSG_DONTWAIT));
    SAY(sendto(pair[0], text, 4, 0, NULL, 0));
    SAY(recvfrom(pair[1], text, 4, 0, NULL, NULL));
    struct msghdr message = {.msg_iov = &piece, .msg_iovlen = 1};
    SAY(sendmsg(pair[0], &message, 0));
    SAY(recvmsg(pair[1], &message, 0));
    SAY(accept(pair[0], NULL, NULL));
    SAY(connect(pair[0], NULL, 0));
    struct pollfd asked = {pipes[0], POLLIN, 0};
    SAY(poll(&asked, 1, 0));
    SAY(poll(&asked, 1, 1));
    SAY(ppoll(&asked, 1, &soon, NULL));
    fd_set set;
    FD_ZERO(&set);
    FD_SET(pipes[0], &set);
    struct timeval limit = {0, 1000};
    SAY(select(pipes[0] + 1, &set, NULL, NULL, &limit));
    SAY(pselect(0, NULL, NULL, NULL, &soon, NULL));
    struct epoll_event event;
    int polled = epoll_create1(0);
    SAY(epoll_wait(polled, &event, 1, 1));
    SAY(epoll_pwait(polled, &event, 1, 0, NULL));
    SAY(epoll_wait(pipes[0], &event, 1, 1));
    SAY(nanosleep(&none, NULL));
    SAY(nanosleep(&wrong, NULL));
    SAY(clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &past, NULL));
    SAY(clock_nanosleep(99, 0, &past, NULL));
    SAY(usleep(1));
    SAY(sleep(0));
    sigset_t signals;
    sigemptyset(&signals);
    sigaddset(&signals, SIGUSR1);
    sigprocmask(SIG_BLOCK, &signals, NULL);
    SAY(sigtimedwait(&signals, NULL, &none));
    raise(SIGUSR1);
    int number = 0;
    SAY(sigwait(&signals, &number));
    SAY(number);
    raise(SIGUSR1);
    SAY(sigwaitinfo(&signals, NULL));
    SAY(waitpid(-1, NULL, 0));
    SAY(wait(&number));
    pid_t child = fork();
    if (child == 0) _exit(7);
    SAY(waitpid(child, &number, 0) == child);
    SAY(WEXITSTATUS(number));
    child = fork();
    if (child == 0) _exit(8);
    siginfo_t information;
    SAY(waitid(P_PID, (id_t)child, &information, WEXITED));
    SAY(information.si_status);
}

int main(void) {
    locks();
    semaphores_and_threads();
    calls();
    return 3;
}
