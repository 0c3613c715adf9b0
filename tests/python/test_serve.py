"""headrace serve with three clients: curl, Python's http.client and Headrace's own http store."""

from __future__ import annotations

import hashlib
import http.client
import json
import os
import signal
import socket
import subprocess
from collections.abc import Iterator
from pathlib import Path

import headrace as hr
import pytest
from program import HEADRACE, ok, run


class Server:
    def __init__(self, *arguments: object, env: dict[str, str] | None = None) -> None:
        command = [HEADRACE, "serve", *map(str, arguments), "--json", "--quiet"]
        environment = {**os.environ, **(env or {})}
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, env=environment)
        started = json.loads(self.process.stdout.readline())
        self.url, self.port = started["url"], started["port"]

    def __enter__(self) -> Server:
        return self

    def __exit__(self, *_: object) -> None:
        self.process.send_signal(signal.SIGINT)
        assert self.process.wait(timeout=10) == 0

    def get(self, path: str, method: str = "GET", **headers: str) -> http.client.HTTPResponse:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=10)
        names = {name.replace("_", "-"): value for name, value in headers.items()}
        connection.request(method, path, headers=names)
        answer = connection.getresponse()
        answer.content = answer.read()
        connection.close()
        return answer

    def raw(self, text: bytes) -> bytes:
        with socket.create_connection(("127.0.0.1", self.port), timeout=10) as client:
            client.sendall(text)
            client.shutdown(socket.SHUT_WR)
            answer = b""
            while piece := client.recv(65536):
                answer += piece
        return answer


@pytest.fixture
def served(packed: Path) -> Iterator[tuple[Path, Server]]:
    with Server(packed) as server:
        yield packed, server


def test_curl_gets_every_file_whole_and_in_parts(served, tmp_path):
    folder, server = served
    for path in [path for path in folder.rglob("*") if path.is_file()]:
        name = path.relative_to(folder)
        got = subprocess.run(["curl", "-sSf", f"{server.url}/{name}"], capture_output=True)
        assert got.stdout == path.read_bytes(), got.stderr
        part = subprocess.run(
            ["curl", "-sSf", "-r", "5-99", f"{server.url}/{name}"], capture_output=True
        )
        assert part.stdout == path.read_bytes()[5:100]


def test_answers_of_a_client_that_looks_closely(served):
    folder, server = served
    data = (folder / "headrace.json").read_bytes()
    whole = server.get("/headrace.json")
    assert (whole.status, whole.content) == (200, data)
    assert whole.headers["Accept-Ranges"] == "bytes"
    etag = whole.headers["ETag"]
    head = server.get("/headrace.json", method="HEAD")
    assert (head.status, head.content) == (200, b"")
    assert head.headers["Content-Length"] == str(len(data)) and head.headers["ETag"] == etag
    part = server.get("/headrace.json", Range="bytes=-10", If_Range=etag)
    assert (part.status, part.content) == (206, data[-10:])
    assert part.headers["Content-Range"] == f"bytes {len(data) - 10}-{len(data) - 1}/{len(data)}"
    assert server.get("/headrace.json", Range=f"bytes={len(data)}-").status == 416
    assert server.get("/headrace.json", If_None_Match=etag).status == 304
    (folder / "headrace.json").write_bytes(data + b"\n")
    changed = server.get("/headrace.json", Range="bytes=0-9", If_Match=etag)
    assert changed.status == 412
    assert server.get("/headrace.json", Range="bytes=0-9", If_Range=etag).status == 200


def test_a_connection_is_kept(served):
    folder, server = served
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=10)
    for _ in range(3):
        connection.request("GET", "/headrace.json")
        socket_used = connection.sock
        assert connection.getresponse().read() == (folder / "headrace.json").read_bytes()
        connection.request("GET", "/missing")
        assert connection.getresponse().read()
        assert connection.sock is socket_used
    connection.close()
    two = b"GET /headrace.json HTTP/1.1\r\nHost: localhost\r\n\r\n" * 2
    assert server.raw(two).count(b"HTTP/1.1 200 OK") == 2


def test_headrace_reads_what_headrace_serves(served, files):
    folder, server = served
    _, samples = files
    ds = hr.open(server.url)
    assert ds.fingerprint == hr.open(folder).fingerprint
    with ds.shuffle(seed=3).batch(7).loader() as loader:
        got = {
            key: hashlib.sha256(bytes(data)).hexdigest()
            for batch in loader
            for key, data in zip(batch.keys, batch["bin"], strict=True)
        }
    assert got == {
        key: hashlib.sha256(fields["bin"]).hexdigest() for key, fields in samples.items()
    }


@pytest.mark.parametrize(
    "target",
    ["/../secret", "/%2e%2e/secret", "/a/../../secret", "/..%2fsecret", "//etc/passwd", "/link",
     "/folder-link/secret", "/.hidden", "/_headrace", "/", "/pipe", "/missing", "/headrace.json/x"],
)  # fmt: skip
def test_nothing_outside_of_the_folder_is_given(packed, target):
    (packed.parent / "secret").write_text("secret")
    (packed / ".hidden").write_text("secret")
    (packed / "link").symlink_to(packed.parent / "secret")
    (packed / "folder-link").symlink_to(packed.parent)
    os.mkfifo(packed / "pipe")
    with Server(packed) as server:
        request = f"GET {target} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"
        answer = server.raw(request.encode())
        assert answer.split(b" ")[1] in (b"400", b"404"), answer
        assert b"secret" not in answer


def test_other_names_for_this_host_are_refused(packed):
    with Server(packed, "--name", "store-1") as server:
        assert server.get("/headrace.json", Host="evil.example").status == 421
        assert server.get("/headrace.json", Host=f"localhost:{server.port}").status == 200
        assert server.get("/headrace.json", Host="store-1").status == 200


def test_a_token_is_asked_for(packed, tmp_path):
    with Server(packed, env={"HEADRACE_SERVE_TOKEN": "open sesame"}) as server:
        assert server.get("/headrace.json").status == 401
        for given in ("Bearer open", "open sesame", "Bearer open sesamf", "Bearer ", "Basic x"):
            answer = server.get("/headrace.json", Authorization=given)
            assert answer.status == 401 and b"samples" not in answer.content
        assert server.get("/headrace.json", Authorization="Bearer open sesame").status == 200
        refused = run("info", server.url)
        assert refused.returncode == 7, refused.stderr
        headers = f"{server.url} Authorization: Bearer open sesame"
        ok("cp", server.url, tmp_path / "copy", env={"HEADRACE_HTTP_HEADERS": headers})
        assert hr.open(tmp_path / "copy").fingerprint == hr.open(packed).fingerprint


def test_the_network_is_not_served_without_a_token(packed):
    done = run("serve", packed, "--host", "0.0.0.0")
    assert done.returncode == 2 and b"--token" in done.stderr


def test_a_slow_or_silent_client_does_not_stop_others(served):
    _, server = served
    idle = [socket.create_connection(("127.0.0.1", server.port)) for _ in range(50)]
    idle[0].sendall(b"GET /head")
    assert server.get("/headrace.json").status == 200
    for client in idle:
        client.close()


def test_what_is_no_request_is_refused(served):
    _, server = served
    for text in (b"\x16\x03\x01\x02\x00\r\n\r\n", b"GET / HTTP/1.1\r\n\r\n", b"\r\n\r\n",
                 b"GET /headrace.json HTTP/1.1\nHost: localhost\n\n\r\n\r\n",
                 b"DELETE /headrace.json HTTP/1.1\r\nHost: localhost\r\n\r\n"):  # fmt: skip
        answer = server.raw(text)
        assert answer.startswith(b"HTTP/1.1 4"), answer
        assert answer.count(b"HTTP/1.1") == 1
    assert server.raw(b"X" * 20000).startswith(b"HTTP/1.1 431")
