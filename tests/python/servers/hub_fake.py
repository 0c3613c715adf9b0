"""A fake Hub that the real clients accept: `huggingface_hub` and `datasets` read from it and commit
to it, Headrace does the same, and the requests of each are counted.

    with HubFake() as hub:
        hub.add("datasets", "org/name", {"train/0.tar": path, "README.md": b"# hello"})
        hub.endpoint                     # for HF_ENDPOINT
        hub.counts()                     # {"api": 2, "resolvers": 1, "cdn": 1}

Two origins, as the real one has: the Hub, which wants tokens and limits rates, and the storage
behind it, which serves signed URLs that expire, and must never see a token (`leaks`).
"""

from __future__ import annotations

import collections
import hashlib
import hmac
import json
import threading
import time
import urllib.parse
from collections.abc import Callable
from pathlib import Path

from servers.hub_api import HubApi
from servers.hub_repository import HubFile, Repository
from servers.web import Content, Reply, Request, WebServer, parse_range

_WINDOW = 300


class HubFake:
    def __init__(self, url_seconds: float = 3600, part_size: int = 0):
        """`url_seconds`: how long signed URLs live. `part_size`: larger uploads come in parts."""
        self.url_seconds = url_seconds
        self.part_size = part_size
        self.quotas: dict[str, int] = {}  # "api" or "resolvers" -> requests a window
        self.log: list[tuple[str, str, str]] = []  # (class, method, target)
        self.leaks: list[str] = []  # tokens that came to the storage
        self.on_hub: Callable[[Request], Reply | None] | None = None
        self.on_storage: Callable[[Request], Reply | None] | None = None
        self.repositories: dict[tuple[str, str], Repository] = {}
        self.large: dict[str, Content] = {}
        self.parts: dict[str, dict[int, bytes]] = collections.defaultdict(dict)
        self.writers: set[str] = {"hf_writer"}  # tokens that may commit
        self._secret = b"a secret of the storage"
        self._generation = 0
        self._lock = threading.Lock()
        self._used: collections.Counter[str] = collections.Counter()
        self._window_ends = time.monotonic() + _WINDOW
        self._api = HubApi(self)
        self.hub = WebServer(self._handle_hub)
        self.storage = WebServer(self._handle_storage)

    def __enter__(self) -> HubFake:
        self.hub.start()
        self.storage.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.hub.stop()
        self.storage.stop()

    @property
    def endpoint(self) -> str:
        return self.hub.origin

    def add(
        self,
        kind: str,
        name: str,
        files: dict[str, bytes | Path],
        token: str = "",
        gated: bool = False,
    ) -> Repository:
        """A repository with one commit on main. `token`: needed to read it."""
        repository = Repository(kind, name, token, gated)
        made = {path: HubFile.make(path, source) for path, source in files.items()}
        for file in made.values():
            if file.sha256:
                self.large[file.sha256] = file.content
        repository.add_commit(made)
        self.repositories[kind, name] = repository
        return repository

    def counts(self) -> dict[str, int]:
        with self._lock:
            return dict(collections.Counter(kind for kind, _, _ in self.log))

    def clear_log(self) -> None:
        with self._lock:
            self.log.clear()

    def new_window(self, seconds: float = _WINDOW) -> None:
        """Quotas begin again, for a window of so many seconds."""
        with self._lock:
            self._used.clear()
            self._window_ends = time.monotonic() + seconds

    def expire_urls(self) -> None:
        """Every signed URL given out so far is refused from now on."""
        self._generation += 1

    def signed_url(self, path: str, operation: str) -> str:
        expires = int(time.time() + self.url_seconds)
        signature = self._sign(path, operation, expires)
        query = urllib.parse.urlencode(
            {"Expires": expires, "X-Operation": operation, "Signature": signature}
        )
        return f"{self.storage.origin}{path}?{query}"

    def _sign(self, path: str, operation: str, expires: int) -> str:
        text = f"{path} {operation} {expires} {self._generation}"
        return hmac.new(self._secret, text.encode(), hashlib.sha256).hexdigest()

    def _handle_hub(self, request: Request) -> Reply:
        kind = request_class(request.path)
        with self._lock:
            self.log.append((kind, request.method, request.target))
            limited, headers = self._charge(kind)
        if limited:
            return Reply(429, headers, b"Too Many Requests")
        if self.on_hub and (reply := self.on_hub(request)):
            return reply
        reply = self._api.answer(request)
        reply.headers.update(headers)
        return reply

    def _charge(self, kind: str) -> tuple[bool, dict[str, str]]:
        now = time.monotonic()
        if now > self._window_ends:
            self._used.clear()
            self._window_ends = now + _WINDOW
        quota = self.quotas.get(kind, 100_000)
        self._used[kind] += 1
        left = max(0, quota - self._used[kind])
        seconds = max(1, round(self._window_ends - now))
        policy = f'"fixed window";"{kind}";q={quota};w={_WINDOW}'
        limit = f'"{kind}";r={left};t={seconds}'
        return self._used[kind] > quota, {"RateLimit": limit, "RateLimit-Policy": policy}

    def _handle_storage(self, request: Request) -> Reply:
        with self._lock:
            self.log.append(("cdn", request.method, request.target))
            if "authorization" in request.headers:
                self.leaks.append(request.headers["authorization"])
        if self.on_storage and (answer := self.on_storage(request)):
            return answer
        expires = int(request.query.get("Expires", 0))
        operation = request.query.get("X-Operation", "")
        signature = self._sign(request.path, operation, expires)
        if request.query.get("Signature") != signature or expires < time.time():
            return Reply(403, {}, b"<Error><Code>AccessDenied</Code></Error>")
        route = {
            ("GET", "read"): self._read,
            ("HEAD", "read"): self._read,
            ("PUT", "write"): self._upload,
            ("POST", "complete"): self._complete,
        }.get((request.method, operation))
        if route is None:
            return Reply(403, {}, b"<Error><Code>MethodNotAllowed</Code></Error>")
        return route(request, request.path.removeprefix("/repos/"))

    def _read(self, request: Request, sha256: str) -> Reply:
        content = self.large.get(sha256)
        if content is None:
            return Reply(404, {}, b"<Error><Code>NoSuchKey</Code></Error>")
        headers = {"ETag": f'"{sha256}"', "Accept-Ranges": "bytes"}
        text = request.headers.get("range")
        if text is None:
            return Reply(200, headers, content.part(0, content.size))
        span = parse_range(text, content.size)
        if span is None:
            return Reply(416, {"Content-Range": f"bytes */{content.size}"})
        begin, end = span
        headers["Content-Range"] = f"bytes {begin}-{end - 1}/{content.size}"
        return Reply(206, headers, content.part(begin, end))

    def _upload(self, request: Request, name: str) -> Reply:
        sha256, _, part = name.partition("/")
        data = request.body
        if part:
            self.parts[sha256][int(part)] = data
            return Reply(200, {"ETag": f'"{hashlib.md5(data).hexdigest()}"'})
        if hashlib.sha256(data).hexdigest() != sha256:
            return Reply(400, {}, b"<Error><Code>BadDigest</Code></Error>")
        self.large[sha256] = Content(data)
        return Reply(200, {"ETag": f'"{hashlib.md5(data).hexdigest()}"'})

    def _complete(self, request: Request, sha256: str) -> Reply:
        wanted = json.loads(request.body)
        parts = self.parts.pop(sha256, {})
        claimed = [(row["partNumber"], row["etag"].strip('"')) for row in wanted["parts"]]
        stored = [(i, hashlib.md5(parts[i]).hexdigest()) for i in sorted(parts)]
        data = b"".join(parts[i] for i in sorted(parts))
        if claimed != stored or hashlib.sha256(data).hexdigest() != sha256:
            return Reply(400, {}, b"<Error><Code>InvalidPart</Code></Error>")
        self.large[sha256] = Content(data)
        return Reply(200, {"Content-Type": "application/json"}, b"{}")


def request_class(path: str) -> str:
    """The bucket of rate limits that a request to the Hub is counted in."""
    if "/resolve/" in path or path.startswith("/api/resolve-cache/"):
        return "resolvers"
    return "api" if path.startswith("/api/") or ".git/" in path else "pages"
