"""A small HTTP/1.1 server in threads, for fakes of services: fast enough to measure against, strict
about what clients send, and able to misbehave on request.

    server = WebServer(handle); server.start(); server.origin   # "http://127.0.0.1:40123"

`handle(request)` gives a Reply. One thread a connection, kept open for `idle_seconds`.
"""

from __future__ import annotations

import contextlib
import os
import socket
import threading
import urllib.parse
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

_REASONS = {
    100: "Continue",
    200: "OK",
    201: "Created",
    206: "Partial Content",
    301: "Moved Permanently",
    302: "Found",
    307: "Temporary Redirect",
    404: "Not Found",
    416: "Range Not Satisfiable",
    429: "Too Many Requests",
}
_DRAINED = 256 << 10  # of a body nobody read; more closes the connection


@dataclass(frozen=True)
class FilePart:
    """Bytes of a file, sent without passing through this process."""

    path: Path
    offset: int
    size: int


@dataclass
class Reply:
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    body: bytes | FilePart = b""
    cut_after: int | None = None  # bytes of the body; then the connection closes
    drop: bool = False  # the connection closes without an answer
    close: bool = False  # after the answer

    @property
    def size(self) -> int:
        return self.body.size if isinstance(self.body, FilePart) else len(self.body)


class Request:
    """One request; its body is read when asked for."""

    def __init__(self, method: str, target: str, headers: dict[str, str], connection: Connection):
        self.method = method
        self.target = target
        self.headers = headers  # names in lower case
        self.path, _, self.query_text = target.partition("?")  # percent-encoded
        self.query = dict(urllib.parse.parse_qsl(self.query_text, keep_blank_values=True))
        self._connection = connection
        self._body: bytes | None = None

    @property
    def body_size(self) -> int:
        return int(self.headers.get("content-length", 0))

    @property
    def body(self) -> bytes:
        if self._body is None:
            if self.headers.get("expect", "").lower() == "100-continue":
                self._connection.send(b"HTTP/1.1 100 Continue\r\n\r\n")
            self._body = self._connection.read(self.body_size)
        return self._body

    @property
    def is_unread(self) -> bool:
        return self._body is None and self.body_size > 0


class Connection:
    def __init__(self, sock: socket.socket):
        self.sock = sock
        self.buffer = bytearray()

    def send(self, data: bytes) -> None:
        self.sock.sendall(data)

    def read(self, size: int) -> bytes:
        while len(self.buffer) < size:
            piece = self.sock.recv(max(65536, size - len(self.buffer)))
            if not piece:
                raise ConnectionResetError
            self.buffer += piece
        data = bytes(self.buffer[:size])
        del self.buffer[:size]
        return data

    def next_request(self) -> Request | None:
        while (end := self.buffer.find(b"\r\n\r\n")) < 0:
            piece = self.sock.recv(65536)
            if not piece:
                return None
            self.buffer += piece
        lines = self.buffer[:end].decode("latin-1").split("\r\n")
        del self.buffer[: end + 4]
        method, target, _ = lines[0].split(" ")
        headers = {}
        for line in lines[1:]:
            name, _, value = line.partition(":")
            headers[name.lower()] = value.strip()
        return Request(method, target, headers, self)


class WebServer:
    """Any number of threads may ask it at once. `stop` refuses new connections, then closes."""

    def __init__(self, handle: Callable[[Request], Reply], port: int = 0, idle_seconds: float = 30):
        self._handle = handle
        self._idle_seconds = idle_seconds
        self._listener: socket.socket | None = None
        self._connections: set[socket.socket] = set()
        self._lock = threading.Lock()
        self.port = port

    @property
    def origin(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def is_running(self) -> bool:
        return self._listener is not None

    def start(self) -> None:
        self._listener = socket.create_server(("127.0.0.1", self.port), backlog=512)
        self.port = self._listener.getsockname()[1]
        threading.Thread(target=self._accept, args=(self._listener,), daemon=True).start()

    def stop(self) -> None:
        listener, self._listener = self._listener, None
        if listener is None:
            return
        listener.shutdown(socket.SHUT_RDWR)
        listener.close()
        with self._lock:
            for sock in self._connections:
                _shut(sock)

    def _accept(self, listener: socket.socket) -> None:
        while True:
            try:
                sock, _ = listener.accept()
            except OSError:
                return
            with self._lock:
                self._connections.add(sock)
            threading.Thread(target=self._serve, args=(sock,), daemon=True).start()

    def _serve(self, sock: socket.socket) -> None:
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        sock.settimeout(self._idle_seconds)
        connection = Connection(sock)
        try:
            for request in _requests(connection):
                if not self._answer(connection, request):
                    break
        except OSError:
            pass  # the client went away, or was idle for too long
        finally:
            with self._lock:
                self._connections.discard(sock)
            _shut(sock)
            sock.close()

    def _answer(self, connection: Connection, request: Request) -> bool:
        """Whether the connection stays open."""
        reply = self._handle(request)
        if reply.drop:
            return False
        expects = request.headers.get("expect", "") != ""
        closes = reply.close or reply.cut_after is not None
        closes |= request.headers.get("connection", "").lower() == "close"
        if request.is_unread:
            if expects or request.body_size > _DRAINED:
                closes = True
            else:
                _ = request.body
        _send(connection, request, reply, closes)
        return not closes


def _requests(connection: Connection) -> Iterator[Request]:
    while (request := connection.next_request()) is not None:
        yield request


def _send(connection: Connection, request: Request, reply: Reply, closes: bool) -> None:
    head = [f"HTTP/1.1 {reply.status} {_REASONS.get(reply.status, 'Status')}"]
    headers = {"Content-Length": str(reply.size), **reply.headers}
    if closes:
        headers["Connection"] = "close"
    head += [f"{name}: {value}" for name, value in headers.items()]
    data = ("\r\n".join(head) + "\r\n\r\n").encode("latin-1")
    body = reply.body
    if request.method == "HEAD" or not reply.size:
        connection.send(data)
    elif isinstance(body, FilePart):
        connection.send(data)
        size = body.size if reply.cut_after is None else min(reply.cut_after, body.size)
        _send_file(connection.sock, body.path, body.offset, size)
    else:
        connection.send(data + body[: reply.cut_after])


def _send_file(sock: socket.socket, path: Path, offset: int, size: int) -> None:
    sock.settimeout(None)  # sendfile waits by itself
    with open(path, "rb") as file:
        end = offset + size
        while offset < end:
            offset += os.sendfile(sock.fileno(), file.fileno(), offset, end - offset)


def _shut(sock: socket.socket) -> None:
    with contextlib.suppress(OSError):  # it was closed already
        sock.shutdown(socket.SHUT_RDWR)


class Content:
    """The bytes of an object: in memory, or a file."""

    def __init__(self, source: bytes | Path):
        self.source = source
        self.size = source.stat().st_size if isinstance(source, Path) else len(source)

    def read(self) -> bytes:
        return self.source.read_bytes() if isinstance(self.source, Path) else self.source

    def part(self, begin: int, end: int) -> bytes | FilePart:
        if isinstance(self.source, Path):
            return FilePart(self.source, begin, end - begin)
        return self.source[begin:end]


def parse_range(text: str, size: int) -> tuple[int, int] | None:
    """[begin, end) of "bytes=…", clipped; None if it cannot be met or is not one single range."""
    unit, _, spec = text.partition("=")
    first, dash, last = spec.strip().partition("-")
    if unit != "bytes" or not dash or not (first + last).isdigit():
        return None
    if not first:
        return max(0, size - int(last)), size
    begin = int(first)
    end = min(int(last) + 1, size) if last else size
    return (begin, end) if begin < size and begin < end else None
