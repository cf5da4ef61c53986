// Beginnings and ends: before main, after it, in destructors of threads, in libraries that come and go.
#include <atomic>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <dlfcn.h>
#include <mutex>
#include <pthread.h>
#include <semaphore.h>
#include <thread>
#include <unistd.h>
#include <vector>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static std::atomic<int> ends;
static pthread_key_t keys[200];

static void use() {
    pthread_mutex_lock(&mutex);
    pthread_mutex_unlock(&mutex);
    sem_t semaphore;
    sem_init(&semaphore, 0, 1);
    sem_wait(&semaphore);
    sem_post(&semaphore);
    usleep(1);
}

static void use_thread() {
    std::thread(use).join();
    use();
}

struct Local {
    int number = 3;
    ~Local() { use_thread(); ends++; }
};
static thread_local Local local;

extern "C" void destructor(void *value) {
    use_thread();
    ends++;
    long left = reinterpret_cast<long>(value) - 1;
    /* Set anew in every round: the last value is left alone by the system. */
    if (left > 0) pthread_setspecific(keys[0], reinterpret_cast<void *>(left));
}

__attribute__((constructor(101))) static void before_main() { use_thread(); write(1, "before main\n", 12); }
__attribute__((destructor(101))) static void after_main() { use_thread(); write(1, "after main\n", 11); }
struct Global {
    Global() { use_thread(); }
    ~Global() { use_thread(); write(1, "global\n", 7); }
} global;
static void at_exit() { use_thread(); write(1, "at exit\n", 8); }

int main(int, char **arguments) {
    atexit(at_exit);
    int made = 0;
    for (pthread_key_t &key : keys) made += pthread_key_create(&key, made == 0 ? destructor : nullptr) == 0;
    std::vector<std::thread> threads;
    for (int i = 0; i < 8; i++)
        threads.emplace_back([] {
            pthread_setspecific(keys[0], reinterpret_cast<void *>(10));
            pthread_setspecific(keys[150], &local);
            use();
            if (local.number != 3) abort();
        });
    for (std::thread &thread : threads) thread.join();
    printf("keys %d, ends %d\n", made, ends.load());
    /* A library with constructors, locks and thread-local memory, many times. */
    int loaded = 0;
    for (int i = 0; i < 300; i++) {
        void *library = dlopen(arguments[1], i % 2 ? RTLD_NOW : RTLD_LAZY | RTLD_GLOBAL);
        if (library == nullptr) { puts(dlerror()); return 1; }
        auto run = reinterpret_cast<int (*)(int)>(dlsym(library, "run"));
        loaded += run(i);
        std::thread([run] { run(1); }).join();
        dlclose(library);
    }
    printf("loaded %d\n", loaded);
    /* A failed look-up is still to be told after calls of hooks. */
    dlsym(RTLD_DEFAULT, "there is no such function");
    use();
    sleep(0);
    printf("told %d\n", dlerror() != nullptr);
    fflush(stdout);
    exit(4);
}
