# -*- coding: utf-8 -*-
"""Functions of Python with known shares of the CPU time, for recorders of unmodified programs.

Each piece of work computes until its thread has used so much processor time, so the shares hold on a busy machine too. Its argument is the
whole, in seconds (default 1.0).

    solve       40 %    nested: main → run → Solver.step → solve
    by_key      15 %    called back by sorted(), which is C: main → order → sorted → by_key
    deeper      15 %    at the end of a recursion of 20 calls
    produce     10 %    a generator, driven by main → consume
    burn        20 %    in a thread beside the main one, which waits in Thread.join, called by wait_for

The program prints what the functions used by its own clock.
"""
import sys
import threading
import time

# One thread computes at a time, so where a thread has no clock that of the process does.
clock = getattr(time, "thread_time", None) or getattr(time, "process_time", None) or time.clock


def solve(seconds):
    end = clock() + seconds
    total = 0
    while clock() < end:
        for number in range(2000):
            total += number * number % 7
    return total


class Solver(object):
    def step(self, seconds):
        return solve(seconds)


def run(seconds):
    solver = Solver()
    for _ in range(10):
        solver.step(seconds / 10)


def by_key(item):
    end = clock() + item
    total = 0
    while clock() < end:
        for number in range(2000):
            total ^= number
    return total


def order(seconds):
    return sorted([seconds / 5] * 5, key=by_key)


def deeper(depth, seconds):
    if depth > 0:
        return deeper(depth - 1, seconds)
    end = clock() + seconds
    total = 0
    while clock() < end:
        for number in range(2000):
            total += number & 3
    return total


def produce(seconds):
    for _ in range(10):
        end = clock() + seconds / 10
        total = 0
        while clock() < end:
            for number in range(2000):
                total += number | 1
        yield total


def consume(seconds):
    return sum(produce(seconds))


def burn(seconds):
    end = clock() + seconds
    total = 0
    while clock() < end:
        for number in range(2000):
            total += number ^ 5
    return total


def wait_for(seconds):
    thread = threading.Thread(target=burn, args=(seconds,))
    thread.start()
    thread.join()


def rest():
    time.sleep(0.2)


def main(whole):
    rest()
    used = []
    for work, share in ((run, 0.4), (order, 0.15), (lambda s: deeper(20, s), 0.15), (consume, 0.1), (wait_for, 0.2)):
        begin = clock()
        work(whole * share)
        used.append(clock() - begin)
    print(" ".join("%.3f" % seconds for seconds in used))


main(float(sys.argv[1]) if len(sys.argv) > 1 else 1.0)
