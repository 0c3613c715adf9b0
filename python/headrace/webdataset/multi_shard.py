"""MultiShardSample: shards of several data sets, described in YAML. Obsolete, kept for old scripts.

prefix: /data/
buckets: [a, b]                        # optional: in front of each shard, drawn an epoch
datasets:
  - name: first
    shards: first-{000..099}.tar       # or a list
    choose: 20                         # shards an epoch; or
    resample: 50                       # drawn with replacement
"""

from __future__ import annotations

import os
import random
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from . import utils
from .expansion import expand_urls
from .pytorch import IterableDataset


def expand(s: str) -> str:
    """`~` and environment variables of a path."""
    return os.path.expanduser(os.path.expandvars(s))


@dataclass
class MSSource:
    """One data set of the description."""

    name: str = ""
    perepoch: int = -1
    resample: bool = False
    urls: list[str] = field(default_factory=list)


class MultiShardSample(IterableDataset):
    """The shards of an epoch: of each data set all, a choice, or a draw with replacement."""

    def __init__(self, fname: Any) -> None:
        utils.raise_if_obsolete("MultiShardSample", "list the shards instead")
        self.epoch = -1
        self.rng = random.Random()
        self.sources: list[MSSource] = []
        self.parse_spec(fname)

    def parse_spec(self, fname: Any) -> None:
        """Reads a description, a path or the dictionary itself. ValueError: it makes no sense."""
        spec = _load(fname)
        unknown = set(spec) - {"prefix", "datasets", "buckets"}
        if unknown:
            raise ValueError(f"unknown entries in the shard description: {sorted(unknown)}")
        prefix = expand(str(spec.get("prefix", "")))
        buckets = [str(bucket) for bucket in spec.get("buckets", [""])]
        for entry in spec.get("datasets", []):
            own = entry.get("buckets", buckets)
            bucket = expand(str(random.choice(own))) if own else ""
            shards = entry.get("shards", [])
            names = [shards] if isinstance(shards, str) else shards
            urls = [prefix + bucket + url for name in names for url in expand_urls(expand(name))]
            resample, choose = int(entry.get("resample", -1)), int(entry.get("choose", -1))
            if resample > 0 and choose > 0:
                raise ValueError(f"{entry.get('name')}: choose and resample exclude each other")
            if choose > len(urls):
                raise ValueError(f"{entry.get('name')}: cannot choose {choose} of {len(urls)}")
            count = resample if resample > 0 else choose
            self.sources.append(MSSource(entry.get("name", "@"), count, resample > 0, urls))

    def set_epoch(self, seed: int) -> None:
        self.rng = random.Random(seed)

    def get_shards_for_epoch(self) -> list[str]:
        shards: list[str] = []
        for source in self.sources:
            if source.resample:
                shards += self.rng.choices(source.urls, k=source.perepoch)
            elif source.perepoch > 0:
                urls = list(source.urls)
                self.rng.shuffle(urls)
                shards += urls[: source.perepoch]
            else:
                shards += source.urls
        self.rng.shuffle(shards)
        return shards

    def __iter__(self) -> Iterator[dict[str, Any]]:
        for shard in self.get_shards_for_epoch():
            _refuse_command(shard)
            yield {"url": shard}


def _load(fname: Any) -> dict[str, Any]:
    if isinstance(fname, dict):
        return fname
    import yaml  # type: ignore[import-untyped, unused-ignore]

    with open(fname, encoding="utf-8") as stream:
        loaded = yaml.safe_load(stream)
    if not isinstance(loaded, dict):
        raise ValueError(f"{fname}: not a description of data sets")
    return loaded


def _refuse_command(url: str) -> None:
    """A file that names a command must not run it."""
    if url.startswith("pipe:") and not utils.strict_compat():
        raise ValueError(f"{url}: commands are taken from the script itself only, not from a file")
