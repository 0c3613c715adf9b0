"""A web server with a distance: every answer begins 30 ms late, every connection gets 50 MB/s.

usage: slow_server.py FOLDER PORT [DELAY_MS] [MB_PER_SECOND]

It understands no more of HTTP than it must, and the kernel keeps the pace, so that what is measured
is the distance and not this server.
"""

from __future__ import annotations

import os
import re
import socket
import socketserver
import sys
import time
from pathlib import Path

SO_MAX_PACING_RATE = 47  # socket(7); the socket module does not name it
NEWLINES = b"\r\n\r\n"


class Handler(socketserver.BaseRequestHandler):
    folder = Path()
    delay = 0.03
    rate = 50_000_000

    def handle(self) -> None:
        connection: socket.socket = self.request
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        connection.setsockopt(socket.SOL_SOCKET, SO_MAX_PACING_RATE, self.rate)
        unread = b""
        while True:
            while NEWLINES not in unread:
                got = connection.recv(65536)
                if not got:
                    return
                unread += got
            head, unread = unread.split(NEWLINES, 1)
            time.sleep(self.delay)
            self.answer(connection, head)

    def answer(self, connection: socket.socket, head: bytes) -> None:
        method, target, _ = head.split(b" ", 2)
        path = self.folder / target.decode().lstrip("/")
        if not path.is_file():
            connection.sendall(b"HTTP/1.1 404 Not Found\r\nContent-Length: 0" + NEWLINES)
            return
        with path.open("rb") as file:
            size = os.fstat(file.fileno()).st_size
            asked = re.search(rb"\r\nRange: bytes=(\d+)-(\d+)", head, re.IGNORECASE)
            first, last = (int(asked[1]), min(int(asked[2]), size - 1)) if asked else (0, size - 1)
            lines = [
                "HTTP/1.1 206 Partial Content" if asked else "HTTP/1.1 200 OK",
                "Accept-Ranges: bytes",
                f'ETag: "{size}"',
                f"Content-Length: {last - first + 1}",
            ]
            if asked:
                lines.append(f"Content-Range: bytes {first}-{last}/{size}")
            connection.sendall("\r\n".join(lines).encode() + NEWLINES)
            while method == b"GET" and first <= last:
                first += os.sendfile(connection.fileno(), file.fileno(), first, last + 1 - first)


class Server(socketserver.ThreadingTCPServer):
    request_queue_size = 256
    daemon_threads = True
    allow_reuse_address = True

    def handle_error(self, request: object, address: object) -> None:
        """Who asks may go away."""


def main() -> None:
    Handler.folder = Path(sys.argv[1])
    if len(sys.argv) > 3:
        Handler.delay = float(sys.argv[3]) / 1e3
    if len(sys.argv) > 4:
        Handler.rate = int(float(sys.argv[4]) * 1e6)
    Server(("127.0.0.1", int(sys.argv[2])), Handler).serve_forever()


if __name__ == "__main__":
    main()
