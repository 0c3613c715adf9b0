"""nginx on a folder: the real server that remote reads are tested and measured against. Its access
log says which bytes were asked for.

    with nginx(folder, scratch) as server:
        hr.open(server.url)
        server.requests()
"""

from __future__ import annotations

import contextlib
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

_CONFIG = """
daemon off; {processes} error_log {scratch}/error.log; pid {scratch}/pid;
worker_rlimit_nofile 8192;
events {{ worker_connections 4096; }}
http {{
  log_format plain '$request_method $uri $status $body_bytes_sent $http_range';
  access_log {scratch}/access.log plain;
  client_body_temp_path {scratch}/t1; proxy_temp_path {scratch}/t2; fastcgi_temp_path {scratch}/t3;
  uwsgi_temp_path {scratch}/t4; scgi_temp_path {scratch}/t5;
  sendfile on; keepalive_requests 1000000;
  server {{ listen 127.0.0.1:{port} backlog=1024; root {folder}; autoindex on; {more} }}
}}
"""


_ONE_PROCESS = "master_process off;"
_ONE_A_PROCESSOR = "worker_processes auto; user root;"  # nobody could not read a temporary folder


@dataclass(frozen=True)
class Request:
    method: str
    path: str
    status: int
    sent: int  # bytes of the body
    first: int | None  # of the range asked for
    last: int | None


@dataclass(frozen=True)
class Nginx:
    url: str
    log: Path

    def requests(self) -> list[Request]:
        """All that ended, oldest first."""
        found = []
        for line in self.log.read_text().splitlines():
            method, path, status, sent, ranges = line.split(" ", 4)
            first, _, last = ranges.removeprefix("bytes=").partition("-")
            known = last.isdigit()
            found.append(
                Request(
                    method,
                    path.lstrip("/"),
                    int(status),
                    int(sent),
                    int(first) if known else None,
                    int(last) if known else None,
                )
            )
        return found


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


@contextlib.contextmanager
def nginx(
    folder: Path, scratch: Path, more: str = "", as_installed: bool = False
) -> Iterator[Nginx]:
    """`more` goes into its server block, as "limit_rate 1m;". `as_installed`: with as many
    processes as Debian's package has, for measurements."""
    program = shutil.which("nginx", path="/usr/sbin:/usr/local/bin:/usr/bin")
    if program is None:
        pytest.skip("nginx is not installed")
    scratch.mkdir()
    port = _free_port()
    config = scratch / "nginx.conf"
    processes = _ONE_A_PROCESSOR if as_installed else _ONE_PROCESS
    config.write_text(
        _CONFIG.format(scratch=scratch, folder=folder, port=port, more=more, processes=processes)
    )
    with subprocess.Popen([program, "-c", config, "-p", scratch], stderr=subprocess.DEVNULL) as it:
        try:
            deadline = time.monotonic() + 10
            while socket.socket().connect_ex(("127.0.0.1", port)) != 0:
                assert it.poll() is None, (scratch / "error.log").read_text()
                assert time.monotonic() < deadline
                time.sleep(0.01)
            yield Nginx(f"http://127.0.0.1:{port}", scratch / "access.log")
        finally:
            it.terminate()
