// The C++ library (regular expressions, maps, sorting, streams) in eight tasks of std::async, whose counts are then merged.
//
//   task    match_lines | count_words | sort_words | print_numbers | shuffle_words      8 of them
//   main    get .........................................................................| merge_counts
#include <algorithm>
#include <future>
#include <map>
#include <random>
#include <regex>
#include <sstream>
#include <string>
#include <vector>

#include "work.h"

// Names without types: `count_words` is the procedure that is left out.

using Counts = std::map<std::string, std::size_t>;

static std::vector<std::string> words(unsigned seed)
{
    std::minstd_rand random(seed + 1);
    std::vector<std::string> made;
    for (int word = 0; word < 24000; word++)
        made.push_back("w" + std::to_string(random() % 5000) + (random() % 3 ? "ing" : "ed"));
    return made;
}

extern "C" NOINLINE std::size_t match_lines(const std::vector<std::string> &all)
{
    if (LEFT_OUT)
        return 0;
    const std::regex pattern("w[0-9]*7+[0-9]?(ing|ed)");
    std::size_t found = std::count_if(all.begin(), all.begin() + 12000, [&](const std::string &word) { return std::regex_match(word, pattern); });
    __asm__ volatile("");
    return found;
}

extern "C" NOINLINE void count_words(const std::vector<std::string> &all, Counts &counts)
{
    if (LEFT_OUT)
        return;
    for (int round = 0; round < 3; round++)
        for (const std::string &word : all)
            counts[word]++;
    __asm__ volatile("");
}

extern "C" NOINLINE std::size_t sort_words(std::vector<std::string> all)
{
    if (LEFT_OUT)
        return 0;
    std::sort(all.begin(), all.end());
    std::stable_sort(all.begin(), all.end(), [](const std::string &a, const std::string &b) { return a.substr(2) < b.substr(2); });
    __asm__ volatile("");
    return all.front().size();
}

extern "C" NOINLINE std::size_t print_numbers(unsigned seed)
{
    if (LEFT_OUT)
        return 0;
    std::ostringstream out;
    for (int number = 0; number < 60000; number++)
        out << number * 0.37 + seed << ' ';
    __asm__ volatile("");
    return out.str().size();
}

extern "C" NOINLINE std::size_t shuffle_words(std::vector<std::string> all, unsigned seed)
{
    if (LEFT_OUT)
        return 0;
    std::mt19937_64 random(seed);
    for (int round = 0; round < 6; round++)
        std::shuffle(all.begin(), all.end(), random);
    __asm__ volatile("");
    return all.front().size();
}

extern "C" NOINLINE std::size_t merge_counts(const std::vector<Counts> &all)
{
    if (LEFT_OUT)
        return 0;
    std::size_t sum = 0;
    for (int round = 0; round < 2; round++) {
        Counts merged;
        for (const Counts &counts : all)
            for (const auto &[word, count] : counts)
                merged[word] += count;
        sum += merged.size();
    }
    return sum;
}

struct TaskResult {
    Counts counts;
    std::size_t sum;
};

static TaskResult task(unsigned seed)
{
    const std::vector<std::string> all = words(seed);
    TaskResult result;
    result.sum = match_lines(all);
    // What is merged does not depend on what is counted here.
    for (const std::string &word : all)
        result.counts.emplace(word, 1);
    Counts counts;
    count_words(all, counts);
    result.sum += counts.size() + sort_words(all) + print_numbers(seed) + shuffle_words(all, seed);
    return result;
}

int main()
{
    std::vector<std::future<TaskResult>> tasks;
    for (unsigned seed = 0; seed < 8; seed++)
        tasks.push_back(std::async(std::launch::async, task, seed));
    std::vector<Counts> all;
    std::size_t sum = 0;
    for (auto &one : tasks) {
        TaskResult result = one.get();
        sum += result.sum;
        all.push_back(std::move(result.counts));
    }
    return sum + merge_counts(all) == 1;
}
