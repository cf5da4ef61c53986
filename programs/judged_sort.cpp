// libstdc++'s parallel algorithms (OpenMP threads), each on data of its own, between serial parts.
//
//   make_keys | sort_keys | transform_keys | select_keys | sum_keys | check_keys
#include <algorithm>
#include <cmath>
#include <numeric>
#include <parallel/algorithm>
#include <parallel/numeric>
#include <random>
#include <vector>

#include "work.h"

// Names without types: `sort_keys` is the procedure that is left out.

using Keys = std::vector<double>;

extern "C" NOINLINE void make_keys(Keys &keys)
{
    std::mt19937_64 random(7);
    for (double &key : keys)
        key = static_cast<double>(random() >> 20);
}

extern "C" NOINLINE void sort_keys(Keys keys)
{
    if (LEFT_OUT)
        return;
    __gnu_parallel::sort(keys.begin(), keys.end());
    __asm__ volatile("" ::"r"(keys.data()) : "memory");
}

extern "C" NOINLINE void transform_keys(const Keys &keys)
{
    if (LEFT_OUT)
        return;
    Keys made(keys.size());
    for (int round = 0; round < 3; round++)
        __gnu_parallel::transform(keys.begin(), keys.end(), made.begin(), [](double key) { return std::sin(key) * std::log1p(key); });
    __asm__ volatile("" ::"r"(made.data()) : "memory");
}

extern "C" NOINLINE void select_keys(const Keys &keys)
{
    if (LEFT_OUT)
        return;
    for (int part = 1; part < 4; part++) {
        Keys own = keys;
        __gnu_parallel::nth_element(own.begin(), own.begin() + own.size() / 4 * part, own.end());
        __asm__ volatile("" ::"r"(own.data()) : "memory");
    }
}

extern "C" NOINLINE void sum_keys(const Keys &keys)
{
    if (LEFT_OUT)
        return;
    volatile double sum = 0;
    for (int round = 0; round < 4; round++)
        sum = sum + __gnu_parallel::accumulate(keys.begin(), keys.end(), 0.0, [](double a, double b) { return a + std::cbrt(b); });
}

extern "C" NOINLINE void check_keys(const Keys &keys)
{
    if (LEFT_OUT)
        return;
    volatile double sum = 0;
    for (double key : keys)
        sum = sum + std::sqrt(std::fmod(key, 977.0));
}

int main()
{
    Keys keys(1000000);
    make_keys(keys);
    sort_keys(keys);
    transform_keys(keys);
    select_keys(keys);
    sum_keys(keys);
    check_keys(keys);
    return 0;
}
