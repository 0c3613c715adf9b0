"""Whether HTTP/2 would help: the photographs, loose and in shards, from nginx with TLS on this
machine, to the same libcurl by either version. Headrace takes 1.1."""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests/python"))

from curl import download, find_curl, whole_files
from jobs import Bench
from rounds import Contender, Table, take_turns
from servers.buckets import free_port
from servers.certificate import make_certificate, tls_lines
from servers.nginx import nginx

REQUESTS = 64  # at once: connections of 1.1, streams of a connection of 2


def http_versions(bench: Bench) -> list[Table]:
    curl = find_curl("http_versions")
    sources = {
        "loose": ("8,708 files", bench.inputs.photos, "*.jpg"),
        "shards": ("12 shards", bench.inputs.photo_shards, "*.tar"),
    }
    return [measured(bench, curl, name, *source) for name, source in sources.items()]


def measured(bench: Bench, curl: str, name: str, what: str, folder: Path, kind: str) -> Table:
    files = sorted(path for path in folder.rglob(kind))
    total = sum(path.stat().st_size for path in files)
    port = free_port()
    with tempfile.TemporaryDirectory() as scratch:
        config = Path(scratch) / "curl.config"
        config.write_text(
            whole_files(f"https://127.0.0.1:{port}/{path.relative_to(folder)}" for path in files)
        )
        certificate, key = make_certificate(Path(scratch), "IP:127.0.0.1")
        more = "http2 backlog=1024; http2_max_concurrent_streams 256"
        lines = tls_lines(port, certificate, key, more)

        def rate(version: str) -> float:
            words = [f"--{version}", "--cacert", str(certificate)]
            done = download(curl, config, *words, connections=REQUESTS)
            return total / done.seconds / 1e6

        table = Table(
            f"http_versions_{name}",
            f"curl, the photographs in {what} from nginx with TLS, {REQUESTS} requests at once",
            "MB/s",
            [
                Contender("HTTP/1.1", lambda: rate("http1.1"), kind="ours", note="as Headrace"),
                Contender("HTTP/2", lambda: rate("http2")),
            ],
        )
        with nginx(folder, Path(scratch) / "nginx", more=lines, as_installed=True):
            take_turns(table.contenders, bench.rounds)
    return table
