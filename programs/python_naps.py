"""Work and naps in turn: without the work the naps begin, and end, earlier.

    main    digest ..... settle 50 ms | digest ..... settle 50 ms | ...        8 rounds

With the argument `digest` that is left out.
"""
import hashlib
import sys
import time

BLOCK = bytes(1000000)
LEFT_OUT = sys.argv[1:]


def digest():
    if "digest" not in LEFT_OUT:
        for _ in range(80):
            hashlib.sha256(BLOCK).digest()


def settle():
    time.sleep(0.05)


for _ in range(8):
    digest()
    settle()
