"""Imports a library in a fresh process and looks at one shard's name list, without torch's help.

usage: webdataset_import.py webdataset|headrace.webdataset PLACE
Prints {"seconds": of the import and building a pipeline, "rss": bytes after it} as JSON.
"""

from __future__ import annotations

import importlib
import json
import re
import sys
import time
from pathlib import Path


def main() -> None:
    name, place = sys.argv[1:]
    begin = time.perf_counter()
    wds = importlib.import_module(name)
    shards = sorted(str(path) for path in Path(place).glob("*.tar"))
    ds = wds.WebDataset(shards, shardshuffle=False).shuffle(1000).decode().to_tuple("bin", "cls")
    seconds = time.perf_counter() - begin
    status = Path("/proc/self/status").read_text()
    rss = int(re.search(r"VmRSS:\s+(\d+) kB", status)[1]) * 1024
    print(json.dumps({"seconds": seconds, "rss": rss, "stages": len(ds.pipeline)}), flush=True)


if __name__ == "__main__":
    main()
