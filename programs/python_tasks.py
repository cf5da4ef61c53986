"""Tasks for two processes, so many at a time and each of so many steps as the arguments say.

    main       hand over | hand over | hand over ...        2000 tasks of 200 steps, one at a time: handing over takes longer than they do,
    workers              | task | ........ | task | ...     and with 100 at a time the run takes less than half as long
"""
import sys
from concurrent.futures import ProcessPoolExecutor


def task(number):
    return sum(number * step % 7 for step in range(int(sys.argv[2])))


def run_tasks(at_a_time):
    with ProcessPoolExecutor(2) as workers:
        return sum(workers.map(task, range(2000), chunksize=at_a_time))


if __name__ == "__main__":
    run_tasks(int(sys.argv[1]))
