"""A server in front of another one: it counts, and answers 503 to a share of the requests."""

from __future__ import annotations

import contextlib
import dataclasses
import http.client
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import urlsplit

from servers.buckets import BucketServer


@dataclasses.dataclass
class Counts:
    requests: int = 0  # that have come whole
    answered: int = 0
    refused: int = 0
    body_bytes: int = 0  # of requests


@contextlib.contextmanager
def failing(
    server: BucketServer, every: int = 0, denied: str = "no such request"
) -> Iterator[tuple[BucketServer, Counts]]:
    """One of `every` requests fails; half of those are done, and only their answer is lost. Those
    with `denied` in what they ask for are refused for good."""
    behind = urlsplit(server.endpoint).netloc
    counts = Counts()
    lock = threading.Lock()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def answer(self) -> None:
            length = int(self.headers.get("Content-Length") or 0)
            body = self.rfile.read(length)
            if len(body) < length:  # the client was killed
                self.close_connection = True
                return None
            with lock:
                counts.requests += 1
                counts.body_bytes += len(body)
                fails = every > 0 and counts.requests % every == 0
                counts.refused += fails
                is_lost = counts.refused % 2 == 0
            if denied in self.path:
                return self.refuse(403)
            if fails and not is_lost:
                return self.refuse()
            passed = http.client.HTTPConnection(behind, timeout=30)
            passed.putrequest(self.command, self.path, skip_host=True, skip_accept_encoding=True)
            for name, value in self.headers.items():
                passed.putheader(name, value)
            passed.endheaders(body)
            got = passed.getresponse()
            content = got.read()
            passed.close()
            with lock:
                counts.answered += 1
            if fails:
                return self.refuse()
            self.send_response_only(got.status, got.reason)
            for name, value in got.getheaders():
                if name.lower() not in ("transfer-encoding", "connection", "content-length"):
                    self.send_header(name, value)
            size = got.getheader("Content-Length") if self.command == "HEAD" else len(content)
            if size is not None and got.status != 204:
                self.send_header("Content-Length", str(size))
            with contextlib.suppress(ConnectionError):
                self.end_headers()
                self.wfile.write(content)

        def refuse(self, status: int = 503) -> None:
            with lock:
                counts.answered += 1
            self.send_response_only(status)
            self.send_header("Content-Length", "0")
            self.end_headers()

        do_GET = do_PUT = do_POST = do_DELETE = do_HEAD = answer

        def log_message(self, *_: object) -> None:
            pass

    front = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    front.daemon_threads = True
    thread = threading.Thread(target=front.serve_forever, daemon=True)
    thread.start()
    ours = f"127.0.0.1:{front.server_address[1]}"
    endpoint = server.endpoint.replace(behind, ours)
    env = {k: v.replace(behind, ours) for k, v in server.env.items()}
    try:
        yield dataclasses.replace(server, endpoint=endpoint, env=env), counts
    finally:
        front.shutdown()
        thread.join()
