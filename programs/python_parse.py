"""Two threads parse what a third one reads; the interpreter lets one of them compute at a time.

    reader     read | put | read | put | ...              60 lines
    parser 1   get | parse ............. | get | ...
    parser 2   get | wait for the interpreter | parse ..

Who waits for the interpreter asks for it anew every 5 ms. Without `parse`, which is left out with that argument, a quarter of the time is left.
"""
import queue
import sys
import threading

LINES, PARSERS = 60, 2
lines = queue.Queue(8)
parsed = []


def parse(line):
    counts = {}
    for position in range(0 if "parse" in sys.argv else 150000):
        counts[position % 97] = position
    return line, len(counts)


def read(line):
    total = 0
    for position in range(50000):
        total += position
    return line + total


def reader():
    for line in range(LINES):
        lines.put(read(line))
    for _ in range(PARSERS):
        lines.put(None)


def parser():
    while (line := lines.get()) is not None:
        parsed.append(parse(line))


threads = [threading.Thread(target=reader)] + [threading.Thread(target=parser) for _ in range(PARSERS)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
