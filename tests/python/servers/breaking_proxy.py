"""A forward proxy for plain HTTP on which answers break: whatever goes to any host through it.

with BreakingProxy(seed=1) as proxy:
    run("ls", location, env={"http_proxy": proxy.url})
    assert proxy.broken > 0
"""

from __future__ import annotations

import contextlib
import random
import socket
import socketserver
import struct
import threading
import urllib.parse

NEWLINES = b"\r\n\r\n"
BREAKS = 0.2  # of the answers, before their first byte or at any of the first LATEST
LATEST = 50_000


class BreakingProxy(socketserver.ThreadingTCPServer):
    allow_reuse_address = True
    daemon_threads = True
    request_queue_size = 256

    def __init__(self, seed: int):
        super().__init__(("127.0.0.1", 0), _Connection)
        self.url = f"http://127.0.0.1:{self.server_address[1]}"
        self.answers = 0
        self.broken = 0
        self._random = random.Random(seed)
        self._lock = threading.Lock()
        self._thread = threading.Thread(target=self.serve_forever)

    def __enter__(self) -> BreakingProxy:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.shutdown()
        self._thread.join()
        self.server_close()

    def next_break(self) -> int | None:
        """After how many bytes the next answer breaks, if it does."""
        with self._lock:
            self.answers += 1
            if self._random.random() >= BREAKS:
                return None
            return self._random.randrange(LATEST)

    def count_break(self) -> None:
        with self._lock:
            self.broken += 1


class _Connection(socketserver.BaseRequestHandler):
    """One request and its answer, as both sides are told that the connection ends then."""

    server: BreakingProxy

    def handle(self) -> None:
        with contextlib.suppress(OSError):
            head, body = self.read_head()
            line, _, fields = head.partition(b"\r\n")
            method, target, version = line.split(b" ", 2)
            url = urllib.parse.urlsplit(target.decode())
            path = url.path + ("?" + url.query if url.query else "")
            kept = [
                each
                for each in fields.split(b"\r\n")
                if not each.lower().startswith((b"connection:", b"proxy-"))
            ]
            first = b" ".join([method, path.encode(), version])
            lines = b"\r\n".join([first, *kept, b"Connection: close"])
            with socket.create_connection((url.hostname, url.port or 80)) as server:
                server.sendall(lines + NEWLINES + body)
                upload = threading.Thread(target=self.upload, args=(server,), daemon=True)
                upload.start()
                self.answer(server)

    def read_head(self) -> tuple[bytes, bytes]:
        read = b""
        while NEWLINES not in read:
            got = self.request.recv(65536)
            if not got:
                raise ConnectionResetError
            read += got
        head, rest = read.split(NEWLINES, 1)
        return head, rest

    def upload(self, server: socket.socket) -> None:
        with contextlib.suppress(OSError):
            while got := self.request.recv(65536):
                server.sendall(got)

    def answer(self, server: socket.socket) -> None:
        left = self.server.next_break()
        while got := server.recv(65536):
            self.request.sendall(got if left is None else got[:left])
            if left is None:
                continue
            left -= len(got)
            if left <= 0:
                self.server.count_break()
                now = struct.pack("ii", 1, 0)  # a reset instead of an end
                self.request.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, now)
                return
