"""What Python's own modules do in C, and the libraries that these call, belongs to the functions of the program.

    digest      hashes blocks of 64 KiB: _hashlib, or a module of the interpreter's, and libcrypto
    pack        compresses them: zlib, or the interpreter itself, and libz

Both use as much of the CPU time, by the program's own clock. Then two processes each call `entry` under a lock of multiprocessing.
"""
import hashlib
import multiprocessing
import sys
import time
import zlib

BLOCK = bytes(range(256)) * 256


def digest(seconds):
    end = time.thread_time() + seconds
    while time.thread_time() < end:
        for _ in range(20):
            hashlib.sha256(BLOCK).digest()


def pack(seconds):
    end = time.thread_time() + seconds
    while time.thread_time() < end:
        zlib.compress(BLOCK, 9)


def entry(lock, seconds):
    for _ in range(20):
        with lock:
            digest(seconds / 20)


if __name__ == "__main__":
    whole = float(sys.argv[1])
    digest(whole / 2)
    pack(whole / 2)
    lock = multiprocessing.Lock()
    processes = [multiprocessing.Process(target=entry, args=(lock, whole / 4)) for _ in range(2)]
    for process in processes:
        process.start()
    for process in processes:
        process.join()
