// What ends.cpp loads and unloads.
#include <mutex>
#include <pthread.h>
#include <thread>
static std::mutex mutex;
static thread_local int counter;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static int made;
static struct Global {
    Global() { std::lock_guard<std::mutex> guard(mutex); }
    ~Global() { std::lock_guard<std::mutex> guard(mutex); }
} global;
extern "C" int run(int number) {
    pthread_once(&once, [] { made++; });
    std::lock_guard<std::mutex> guard(mutex);
    counter += number;
    return made;
}
