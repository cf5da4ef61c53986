"""A program that has half of its work done by others, which the C library's vfork creates (Python 3.10 and later).

    main     digest .... convert |waits ........| digest .... | ...       6 rounds
    child                        |digests, twice|

With the argument `convert` no child is created, and what is left is the digests.
"""
import hashlib
import subprocess
import sys

BLOCK = bytes(1000000)
CHILD = "import hashlib\nfor _ in range(100): hashlib.sha256(bytes(1000000)).digest()"


def digest():
    for _ in range(50):
        hashlib.sha256(BLOCK).digest()


def convert():
    if "convert" not in sys.argv:
        subprocess.run([sys.executable, "-c", CHILD], check=True)


for _ in range(6):
    digest()
    convert()
