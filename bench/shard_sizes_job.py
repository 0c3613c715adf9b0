"""The photographs loose and in shards of every size, from nginx and from AIStore, beside curl and
AIStore's own readers. bench/plot_shard_sizes.py draws the results.

AIStore is the cluster of AIS_ENDPOINT; where that is not set, the tests' fake of one.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests/python"))

from curl import download, find_curl, whole_files
from jobs import Bench
from programs import HEADRACE, ROOT
from rounds import Contender, Goal, Table, python, take_turns
from servers.nginx import nginx

SIZES = ("128KiB", "512KiB", "2MiB", "8MiB", "32MiB", "128MiB", "512MiB")
LOOSE = "loose"
MEMORY = "/dev/shm"
CURL = "curl --parallel, 8 connections"
BUCKET = "headrace-bench"


@dataclass(frozen=True)
class Server:
    """Where the objects of one size are."""

    kind: str
    place: str  # for Headrace
    prefix: str  # of each object's address, for curl
    query: str = ""
    folder: str | None = None  # in the bucket, of AIStore alone


def shard_sizes(bench: Bench) -> list[Table]:
    curl = find_curl("shard_sizes")
    return [table for size in (LOOSE, *SIZES) for table in one_size(bench, curl, size)]


def one_size(bench: Bench, curl: str, size: str) -> Iterator[Table]:
    with tempfile.TemporaryDirectory(dir=MEMORY) as scratch:
        folder = make(bench, size, Path(scratch) / "set")
        if size != LOOSE:  # a web server gives no list of them
            with from_nginx(folder, Path(scratch) / "nginx") as server:
                yield measured(bench, curl, size, folder, server)
        with from_ais(folder, size) as server:
            yield measured(bench, curl, size, folder, server)


def make(bench: Bench, size: str, folder: Path) -> Path:
    if size == LOOSE:
        for photo in bench.inputs.photos.rglob("*.jpg"):
            place = folder / photo.relative_to(bench.inputs.photos)
            place.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(photo, place)
        return folder
    words = ["split", bench.inputs.photo_shards, "--out", folder, "--shard-size", size]
    subprocess.run([HEADRACE, *map(str, words), "--quiet"], check=True)
    return folder


@contextmanager
def from_nginx(folder: Path, scratch: Path) -> Iterator[Server]:
    with nginx(folder, scratch, as_installed=True) as server:
        yield Server("nginx", server.url, server.url)


@contextmanager
def from_ais(folder: Path, size: str) -> Iterator[Server]:
    before = os.environ.get("AIS_ENDPOINT")
    if before:
        with uploaded(folder, size) as place:
            yield ais_server("AIStore", before, place, size + "/")
        return
    fake = [sys.executable, str(ROOT / "tests/python/servers/ais_fake.py"), str(folder)]
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "tests/python")}
    with subprocess.Popen(
        [*fake, "--bucket", BUCKET], stdout=subprocess.PIPE, text=True, env=environment
    ) as process:
        try:
            assert process.stdout
            os.environ["AIS_ENDPOINT"] = process.stdout.readline().strip()
            place = f"ais://{BUCKET}"
            yield ais_server("a fake AIStore", os.environ["AIS_ENDPOINT"], place, "")
        finally:
            del os.environ["AIS_ENDPOINT"]
            process.terminate()


def ais_server(kind: str, endpoint: str, place: str, folder: str) -> Server:
    prefix = f"{endpoint}/v1/objects/{BUCKET}/{folder}".rstrip("/")
    return Server(kind, place, prefix, "?provider=ais", folder)


@contextmanager
def uploaded(folder: Path, size: str) -> Iterator[str]:
    place = f"ais://{BUCKET}/{size}"
    python("ais_reader.py", "upload", BUCKET, size + "/", folder)
    try:
        yield place
    finally:
        python("ais_reader.py", "remove", BUCKET, size + "/")


def measured(bench: Bench, curl: str, size: str, folder: Path, server: Server) -> Table:
    kind = "*.jpg" if size == LOOSE else "*.tar"
    files = sorted(folder.rglob(kind))
    total = sum(path.stat().st_size for path in files)
    config = folder.with_name("curl.config")
    config.write_text(
        whole_files(f"{server.prefix}/{path.relative_to(folder)}{server.query}" for path in files)
    )

    def limit() -> float:
        return total / download(curl, config, "--location").seconds / 1e6

    def stream() -> float:
        done = python("remote_epochs.py", server.place, bench.threads, bench.seconds)
        return done["bytes"] / done["seconds"] / 1e6

    reader = "AISIterDataset" if size == LOOSE else "AISShardReader"
    peer = f"{reader}, 2 workers"

    def theirs() -> float:
        done = python("ais_reader.py", reader, BUCKET, server.folder)
        return done["bytes"] / done["seconds"] / 1e6

    what = f"{len(files):,} {'files' if size == LOOSE else f'shards of {size}'}"
    table = Table(
        f"shards_of_{size}_{server.kind.split()[-1].lower()}",
        f"Stream the photographs from {server.kind} in {what}",
        "MB/s",
        [
            Contender(CURL, limit, kind="limit"),
            Contender("Headrace", stream, kind="ours", note="whole epochs; payload bytes"),
        ],
    )
    has_peer = server.folder is not None and find_spec("aistore") is not None
    if has_peer:
        table.contenders.append(Contender(peer, theirs))
    take_turns(table.contenders, bench.rounds)
    table.goals = [Goal("share of the limit", table.times_faster(CURL), 0.7)]
    if has_peer:
        table.goals.append(Goal(f"times {reader}", table.times_faster(peer), 5))
    return table
