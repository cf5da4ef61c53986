// std::thread and std::condition_variable: a slow cook, a hungry guest.
//
//   cook    kitchen::Stove::cook(int) 60, serve | ...           15 dishes
//   guest   wait ... | dining::eat<kitchen::Dish>(...) 20 | wait ...
//
// Critical path (CPU): 15 x 60 + 20 = 920 ms: cook 97.8 %, eat 2.2 %. CPU time: 1200 ms: cook 75 %, eat 25 %.
// The guest is blocked 60 + 14 x 40 = 620 ms: cause `condition`, suffered in dining::wait_for_dish, ended by
// thread `cook`. Names are shown demangled, template arguments included.
#include <condition_variable>
#include <mutex>
#include <pthread.h>
#include <thread>
#include "work.h"

namespace kitchen {
struct Dish { int number; };

class Stove {
public:
    NOINLINE Dish cook(int number)
    {
        BURN(60);
        return Dish{number};
    }
};
}

namespace dining {
std::mutex hatch_lock;
std::condition_variable hatch_changed;
int served;

template <typename T> NOINLINE void eat(const T &)
{
    BURN(20);
}

NOINLINE void wait_for_dish(int number)
{
    std::unique_lock<std::mutex> held(hatch_lock);
    hatch_changed.wait(held, [&] { return served > number; });
}
}

int main()
{
    std::thread cook([] {
        pthread_setname_np(pthread_self(), "cook");
        kitchen::Stove stove;
        for (int i = 0; i < 15; i++) {
            stove.cook(i);
            std::lock_guard<std::mutex> held(dining::hatch_lock);
            dining::served++;
            dining::hatch_changed.notify_one();
        }
    });
    std::thread guest([] {
        pthread_setname_np(pthread_self(), "guest");
        for (int i = 0; i < 15; i++) {
            dining::wait_for_dish(i);
            dining::eat(kitchen::Dish{i});
        }
    });
    cook.join();
    guest.join();
    return 0;
}
