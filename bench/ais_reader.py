"""An epoch of AIStore's own PyTorch readers, as their documentation shows, with 2 workers:
{"bytes": …, "seconds": …} as JSON. AIS_ENDPOINT names the cluster.

usage: ais_reader.py AISShardReader|AISIterDataset BUCKET FOLDER
       ais_reader.py upload|remove BUCKET FOLDER [LOCAL FOLDER]
"""

from __future__ import annotations

import json
import os
import sys
import time

from aistore.pytorch import AISIterDataset, AISShardReader
from aistore.sdk import Client
from torch.utils.data import DataLoader


def main() -> None:
    what, name, folder, *local = sys.argv[1:]
    bucket = Client(os.environ["AIS_ENDPOINT"]).bucket(name)
    if what in ("upload", "remove"):
        if what == "upload":
            bucket.create(exist_ok=True)
            bucket.put_files(local[0], prepend=folder, recursive=True)
        else:
            bucket.objects(obj_names=[e.name for e in bucket.list_all_objects(folder)]).delete()
        print("{}")
        return
    if what == "AISShardReader":
        # It takes every object for a shard; those of the manifest have other names.
        shards = f"{folder}shard-"
        reader = AISShardReader(bucket_list=[bucket], prefix_map={bucket: shards})
    else:
        reader = AISIterDataset(ais_source_list=[bucket], prefix_map={bucket: folder})
    loader = DataLoader(reader, batch_size=64, num_workers=2, collate_fn=list)
    begin = time.perf_counter()
    read = sum(size(content) for batch in loader for _, content in batch)
    print(json.dumps({"bytes": read, "seconds": time.perf_counter() - begin}))


def size(content: bytes | dict[str, bytes]) -> int:
    return sum(map(len, content.values())) if isinstance(content, dict) else len(content)


if __name__ == "__main__":
    main()
