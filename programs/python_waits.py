"""Two threads meet at all that Python's library has for that. What each function waits for is in its name.

    first       in_lock | in_tree_lock | in_gate | puts into the full queue | at_barrier | sets the event
    second      in_lock | in_tree_lock | in_gate | takes jobs slowly        | at_barrier | for_event

`first` works while it has a lock, which it has taken before `second` comes, and `second` while it has a job, so each wait lasts. The first
thread of all waits for a result of a pool, and for the ends of both.
"""
import concurrent.futures
import hashlib
import queue
import threading

BLOCK = bytes(1000000)

lock = threading.Lock()
tree_lock = threading.RLock()
gate = threading.Semaphore(1)
jobs = queue.Queue(1)
barrier = threading.Barrier(2)
event = threading.Event()
started = threading.Event()


def digest(megabytes):
    for _ in range(megabytes):
        hashlib.sha256(BLOCK).digest()


def in_lock(megabytes):
    with lock:
        started.set()
        digest(megabytes)


def in_tree_lock(megabytes):
    with tree_lock:
        digest(megabytes)


def in_gate(megabytes):
    with gate:
        digest(megabytes)


def put_jobs():
    for job in range(4):
        jobs.put(job)


def take_jobs():
    for _ in range(4):
        jobs.get()
        digest(20)


def at_barrier(megabytes):
    digest(megabytes)
    barrier.wait()


def for_event():
    event.wait()


def first():
    for step in (in_lock, in_tree_lock, in_gate):
        step(40)
    put_jobs()
    at_barrier(100)
    digest(30)
    event.set()


def second():
    started.wait()
    for step in (in_lock, in_tree_lock, in_gate):
        step(0)
    take_jobs()
    at_barrier(0)
    for_event()


def result_of_pool():
    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        pool.submit(digest, 40).result()


def for_both(threads):
    for thread in threads:
        thread.join()


if __name__ == "__main__":
    result_of_pool()
    threads = [threading.Thread(target=function) for function in (first, second)]
    for thread in threads:
        thread.start()
    for_both(threads)
