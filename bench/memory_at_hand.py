"""Has the machine's memory at hand for the process that comes next.

A hypervisor takes back what its guest does not use, within seconds, and gives it again a hundred
times as slowly as a processor clears it: on such a machine the first use of memory measures that.

usage: memory_at_hand.py BYTES
Prints {"small": seconds} as JSON: what the first use of so many bytes in small pages takes then.
"""

from __future__ import annotations

import json
import mmap
import sys
import time

import numpy as np

AT_HAND = 768 << 20


def seconds_of_first_use(size: int, advice: int) -> float:
    with mmap.mmap(-1, size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS) as memory:
        memory.madvise(advice)
        pages = np.frombuffer(memory, np.uint8)[:: mmap.PAGESIZE]
        begin = time.perf_counter()
        pages[:] = 1
        seconds = time.perf_counter() - begin
        del pages
    return seconds


def main() -> None:
    seconds_of_first_use(AT_HAND, mmap.MADV_HUGEPAGE)
    small = seconds_of_first_use(int(sys.argv[1]), mmap.MADV_NOHUGEPAGE)
    seconds_of_first_use(AT_HAND, mmap.MADV_HUGEPAGE)
    print(json.dumps({"small": small}))


if __name__ == "__main__":
    main()
