// Every wait can be cancelled, as without the agent; destructors and handlers run.
#include <atomic>
#include <cerrno>
#include <condition_variable>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <fcntl.h>
#include <mutex>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
static sem_t semaphore;
static int pipes[2], pairs[2], listener, polled;
static pthread_t sleeper;
static std::atomic<int> destroyed, cleaned;

struct Guard {
    ~Guard() { destroyed++; }
};

static void clean(void *) { cleaned++; }
static void unlock(void *) { pthread_mutex_unlock(&mutex); }

static void on_condition() {
    pthread_mutex_lock(&mutex);
    pthread_cleanup_push(unlock, nullptr);
    for (;;) pthread_cond_wait(&condition, &mutex);
    pthread_cleanup_pop(1);
}
static void on_condition_with_limit() {
    timespec late = {time(nullptr) + 1000, 0};
    pthread_mutex_lock(&mutex);
    pthread_cleanup_push(unlock, nullptr);
    for (;;) pthread_cond_timedwait(&condition, &mutex, &late);
    pthread_cleanup_pop(1);
}
static void on_semaphore() { sem_wait(&semaphore); }
static void on_semaphore_with_limit() {
    timespec late = {time(nullptr) + 1000, 0};
    sem_timedwait(&semaphore, &late);
}
static void on_join() { pthread_join(sleeper, nullptr); }
static void on_read() { char text; (void)!read(pipes[0], &text, 1); }
static void on_recv() { char text; recv(pairs[0], &text, 1, 0); }
static void on_recvfrom() { char text; recvfrom(pairs[0], &text, 1, 0, nullptr, nullptr); }
static void on_accept() { accept(listener, nullptr, nullptr); }
static void on_poll() { pollfd asked = {pipes[0], POLLIN, 0}; poll(&asked, 1, -1); }
static void on_ppoll() { pollfd asked = {pipes[0], POLLIN, 0}; ppoll(&asked, 1, nullptr, nullptr); }
static void on_select() { select(0, nullptr, nullptr, nullptr, nullptr); }
static void on_pselect() { pselect(0, nullptr, nullptr, nullptr, nullptr, nullptr); }
static void on_epoll() { epoll_event event; epoll_wait(polled, &event, 1, -1); }
static void on_nanosleep() { timespec long_time = {1000, 0}; nanosleep(&long_time, nullptr); }
static void on_clock() { timespec long_time = {1000, 0}; clock_nanosleep(CLOCK_MONOTONIC, 0, &long_time, nullptr); }
static void on_sleep() { sleep(1000); }
static void on_usleep() { usleep(900000); usleep(900000); usleep(900000); usleep(900000); }
static void on_pause() { pause(); }
static void on_signal() { sigset_t set; sigemptyset(&set); sigaddset(&set, SIGUSR1); int number; sigwait(&set, &number); }
static void on_signal_information() { sigset_t set; sigemptyset(&set); sigaddset(&set, SIGUSR1); sigwaitinfo(&set, nullptr); }
static void on_child() { waitpid(-1, nullptr, 0); }
/* Cancelled before it begins: a cancellation point acts even where there is nothing to wait for. */
static void on_free_semaphore() { sem_t free_one; sem_init(&free_one, 0, 1); for (;;) { sem_wait(&free_one); sem_post(&free_one); } }
static void never() { pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, nullptr); timespec short_time = {0, 30000000}; nanosleep(&short_time, nullptr); destroyed += 100; }
static void at_any_instruction() {
    pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, nullptr);
    for (volatile int i = 0;; i = i + 1) {}
}

struct Case { const char *name; void (*wait)(); };
static const Case cases[] = {
    {"condition", on_condition}, {"condition with limit", on_condition_with_limit}, {"semaphore", on_semaphore},
    {"semaphore with limit", on_semaphore_with_limit}, {"free semaphore", on_free_semaphore}, {"join", on_join}, {"read", on_read},
    {"recv", on_recv}, {"recvfrom", on_recvfrom}, {"accept", on_accept}, {"poll", on_poll}, {"ppoll", on_ppoll},
    {"select", on_select}, {"pselect", on_pselect}, {"epoll", on_epoll}, {"nanosleep", on_nanosleep}, {"clock", on_clock},
    {"sleep", on_sleep}, {"usleep", on_usleep}, {"pause", on_pause}, {"signal", on_signal},
    {"signal information", on_signal_information}, {"child", on_child}, {"never", never}, {"any instruction", at_any_instruction},
};

static void *run(void *argument) {
    const Case *one = static_cast<const Case *>(argument);
    Guard guard;
    pthread_cleanup_push(clean, nullptr);
    one->wait();
    pthread_cleanup_pop(0);
    return argument;
}

static void *sleeps(void *) { for (;;) pause(); return nullptr; }

int main() {
    sem_init(&semaphore, 0, 0);
    if (pipe(pipes) || socketpair(AF_UNIX, SOCK_STREAM, 0, pairs)) abort();
    listener = socket(AF_INET, SOCK_STREAM, 0);
    listen(listener, 1);
    polled = epoll_create1(0);
    pthread_create(&sleeper, nullptr, sleeps, nullptr);
    pid_t child = fork();
    if (child == 0) { pause(); _exit(0); }
    for (const Case &one : cases) {
        for (int early = 0; early < 2; early++) {
            pthread_t thread;
            void *result;
            int before = destroyed, cleaned_before = cleaned;
            pthread_create(&thread, nullptr, run, const_cast<Case *>(&one));
            timespec moment = {0, early ? 0 : 4000000};
            if (!early) nanosleep(&moment, nullptr);
            pthread_cancel(thread);
            pthread_join(thread, &result);
            if (early) continue;
            printf("%s: %s, destroyed %d, cleaned %d\n", one.name, result == PTHREAD_CANCELED ? "cancelled" : "returned",
                   destroyed - before, cleaned - cleaned_before);
        }
    }
    /* What was cancelled left its lock free. */
    printf("lock %d\n", pthread_mutex_trylock(&mutex));
    /* Exceptions pass through once. */
    static std::once_flag flag;
    for (int attempt = 0; attempt < 3; attempt++) {
        try {
            std::call_once(flag, [attempt] { if (attempt < 2) throw attempt; puts("initialised"); });
        } catch (int thrown) {
            printf("thrown %d\n", thrown);
        }
    }
    kill(child, SIGKILL);
    int status;
    printf("child %d", waitpid(child, &status, 0) == child);
    fflush(stdout);
    _exit(9);
}
