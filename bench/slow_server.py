"""A web server with a distance: every answer begins 30 ms late, every connection gets 50 MB/s.

usage: slow_server.py FOLDER PORT [DELAY_MS] [MB_PER_SECOND]
"""

from __future__ import annotations

import http.server
import os
import re
import sys
import time
from pathlib import Path

PIECE = 256 << 10


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    folder = Path()
    delay = 0.03
    rate = 50e6

    def do_HEAD(self) -> None:
        self.answer(body=False)

    def do_GET(self) -> None:
        self.answer(body=True)

    def answer(self, body: bool) -> None:
        time.sleep(self.delay)
        path = self.folder / self.path.lstrip("/")
        if not path.is_file():
            self.send_response(404)
            self.send_header("Content-Length", "0")
            self.end_headers()
            return
        size = path.stat().st_size
        first, last = 0, size - 1
        asked = re.fullmatch(r"bytes=(\d+)-(\d+)", self.headers.get("Range", ""))
        if asked:
            first, last = int(asked[1]), min(int(asked[2]), size - 1)
        self.send_response(206 if asked else 200)
        if asked:
            self.send_header("Content-Range", f"bytes {first}-{last}/{size}")
        self.send_header("Accept-Ranges", "bytes")
        self.send_header("ETag", f'"{size}"')
        self.send_header("Content-Length", str(last - first + 1))
        self.end_headers()
        if body:
            self.wfile.flush()
            self.send(path, first, last + 1)

    def send(self, path: Path, offset: int, end: int) -> None:
        begin, sent = time.monotonic(), 0
        with path.open("rb") as file:
            while offset < end:
                done = os.sendfile(
                    self.connection.fileno(), file.fileno(), offset, min(PIECE, end - offset)
                )
                offset += done
                sent += done
                ahead = sent / self.rate - (time.monotonic() - begin)
                if ahead > 0:
                    time.sleep(ahead)

    def log_message(self, *_: object) -> None:
        pass


class Server(http.server.ThreadingHTTPServer):
    request_queue_size = 256
    daemon_threads = True


def main() -> None:
    Handler.folder = Path(sys.argv[1])
    if len(sys.argv) > 3:
        Handler.delay = float(sys.argv[3]) / 1e3
    if len(sys.argv) > 4:
        Handler.rate = float(sys.argv[4]) * 1e6
    Server(("127.0.0.1", int(sys.argv[2])), Handler).serve_forever()


if __name__ == "__main__":
    main()
