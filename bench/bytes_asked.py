"""How many bytes one shuffled epoch asks for, of all ranks of a world, one after the other:
{"asked": …, "samples": …, "payload": …} as JSON. "samples": what the delivered rows take in their
shards, tar's headers and padding included.

usage: bytes_asked.py PLACE WORLD
"""

from __future__ import annotations

import json
import sys

import headrace as hr


def main() -> None:
    place, world = sys.argv[1], int(sys.argv[2])
    data = hr.open(place).shuffle(seed=7).batch(64)
    payload = samples = 0
    opened = asked()
    for rank in range(world):
        loader = data.loader(rank=rank, world=world)
        for batch in loader:
            for name in batch.fields:
                sizes = [len(row) for row in batch[name]]
                payload += sum(sizes)
                samples += sum(512 + (size + 511) // 512 * 512 for size in sizes)
        loader.close()
    print(json.dumps({"asked": asked() - opened, "samples": samples, "payload": payload}))


def asked() -> int:
    return sum(host.bytes_asked for host in hr.network_stats().values())


if __name__ == "__main__":
    main()
