"""One target of the fake AIStore cluster: objects, ranges, members of archives, uploads."""

from __future__ import annotations

import io
import json
import tarfile
import time
import urllib.parse
import uuid
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import xxhash
from servers.web import Content, Reply, Request, WebServer, parse_range

if TYPE_CHECKING:
    from servers.ais_fake import AisFake


SEED = 1103515245  # of the digests that place objects


def checksum(data: bytes) -> str:
    return f"{xxhash.xxh64(data).intdigest():016x}"


def failure(status: int, code: str, message: str, request: Request) -> Reply:
    text = {
        "tcode": code,
        "message": message,
        "method": request.method,
        "url_path": request.path,
        "remote_addr": "127.0.0.1",
        "caller": "",
        "node": "t[fake]",
        "status": status,
    }
    if request.method == "HEAD":
        return Reply(status, {"Hdr-Error": json.dumps(text)})
    return Reply(status, {"Content-Type": "application/json"}, json.dumps(text).encode())


@dataclass
class Stored:
    content: Content
    version: int
    checksum: str  # "": none, as after an append
    time_ns: int = field(default_factory=time.time_ns)

    def headers(self) -> dict[str, str]:
        out = {"Ais-Atime": str(self.time_ns)}
        if self.checksum:
            out["Ais-Checksum-Type"] = "xxhash2"
            out["Ais-Checksum-Value"] = self.checksum
            out["Ais-Version"] = str(self.version)
        return out


Objects = dict[tuple[str, str], Stored]
ObjectHook = Callable[["Target", Request, str, str], "Reply | None"]


class Target:
    def __init__(self, cluster: AisFake, number: int):
        self.id = f"t{number}fake"
        self.digest = xxhash.xxh64_intdigest(self.id.encode(), SEED)
        self.objects: Objects = {}
        self.uploads: dict[str, dict[int, bytes]] = {}
        self.in_map = True
        self.cluster = cluster
        self.server = WebServer(self._handle)

    def _handle(self, request: Request) -> Reply:
        self.cluster.note(self.id, request)
        if self.cluster.token and not self.cluster.is_authorized(request):
            return failure(401, "", "token required", request)
        if request.path == "/v1/daemon" and request.query.get("what") == "smap":
            return self.cluster.cluster_map()
        if not request.path.startswith("/v1/objects/"):
            return Reply(drop=True)  # as HEAD of a bucket does: the server panics
        bucket, name = split_object(request.path)
        hook = self.cluster.on_object
        answer = hook(self, request, bucket, name) if hook else None
        return answer or self._object(request, bucket, name)

    def _object(self, request: Request, bucket: str, name: str) -> Reply:
        marked = "pid" in request.query and "utm" in request.query
        if request.method not in ("GET", "HEAD") and not marked:
            message = f"{self.id}: {request.method}(obj) is expected to be redirected"
            return failure(400, "", message, request)
        if request.method not in ("GET", "HEAD", "PUT", "POST", "DELETE"):
            return failure(405, "", "invalid method", request)
        if request.method == "PUT":
            return self._put(request, bucket, name)
        if request.method == "POST":
            return self._multipart(request, bucket, name)
        stored = self.objects.get((bucket, name))
        if stored is None:
            return failure(404, "ErrNotFound", f"ais://{bucket}/{name} does not exist", request)
        if request.method == "DELETE":
            del self.objects[bucket, name]
            return Reply()
        if request.method == "HEAD":
            headers = stored.headers() | {"Ais-Present": "true", "Ais-Name": name}
            return Reply(200, headers | {"Content-Length": str(stored.content.size)})
        return self._get(request, bucket, name, stored)

    def _get(self, request: Request, bucket: str, name: str, stored: Stored) -> Reply:
        if "archpath" in request.query:
            return self._member(request, bucket, name, stored)
        kind = {"Content-Type": "application/octet-stream"}
        text = request.headers.get("range")
        size = stored.content.size
        if text is None:
            return Reply(200, stored.headers() | kind, stored.content.part(0, size))
        span = parse_range(text, size)
        if span is None:
            reply = failure(416, "ErrRangeNotSatisfiable", f"range {text} of {size}", request)
            begin = text.removeprefix("bytes=").partition("-")[0]
            if begin.isdigit() and int(begin) >= size:
                reply.headers["Content-Range"] = f"bytes */{size}"
            return reply
        begin, end = span
        where = {"Accept-Ranges": "bytes", "Content-Range": f"bytes {begin}-{end - 1}/{size}"}
        return Reply(206, stored.headers() | kind | where, stored.content.part(begin, end))

    def _member(self, request: Request, bucket: str, name: str, stored: Stored) -> Reply:
        path = request.query["archpath"]
        if "range" in request.headers:
            return failure(400, "ErrUnsupp", "range and archpath", request)
        try:
            with tarfile.open(fileobj=io.BytesIO(stored.content.read())) as archive:
                file = archive.extractfile(path)
                data = file.read() if file else b""
        except tarfile.ReadError:
            return failure(400, "", f"{name} is not an archive", request)
        except KeyError:
            message = f"{path} in ais://{bucket}/{name} does not exist"
            return failure(404, "ErrNotFound", message, request)
        return Reply(200, {"Content-Type": "application/octet-stream"}, data)

    def _put(self, request: Request, bucket: str, name: str) -> Reply:
        data = request.body
        if "uploadId" in request.query:
            parts = self.uploads.get(request.query["uploadId"])
            if parts is None:
                return failure(404, "", "no such upload", request)
            parts[int(request.query["partNumber"])] = data
            return Reply(200)
        claimed = request.headers.get("ais-checksum-value")
        if claimed and claimed != checksum(data):
            return failure(500, "ErrBadCksum", f"BAD CHECKSUM: {claimed}", request)
        return Reply(200, self.store(bucket, name, data).headers())

    def _multipart(self, request: Request, bucket: str, name: str) -> Reply:
        message = json.loads(request.body)
        if message["action"] == "mpt-upload":
            upload = uuid.uuid4().hex
            self.uploads[upload] = {}
            return Reply(200, {}, upload.encode())
        upload = request.query.get("uploadId", "")
        if message["action"] != "mpt-complete" or upload not in self.uploads:
            return failure(400, "", f"cannot {message['action']}", request)
        parts = self.uploads.pop(upload)
        numbers = [part["part-number"] for part in message["value"]]
        if numbers != sorted(parts):
            return failure(400, "", f"parts {sorted(parts)}, not {numbers}", request)
        self.store(bucket, name, b"".join(parts[number] for number in numbers))
        return Reply(200)

    def store(self, bucket: str, name: str, source: bytes | Path) -> Stored:
        content = Content(source)
        old = self.objects.get((bucket, name))
        stored = Stored(content, old.version + 1 if old else 1, checksum(content.read()))
        self.objects[bucket, name] = stored
        return stored


def split_object(path: str) -> tuple[str, str]:
    """Bucket and name of a request's path; names keep no doubled slashes."""
    bucket, _, name = path.removeprefix("/v1/objects/").partition("/")
    while "//" in name:
        name = name.replace("//", "/")
    return urllib.parse.unquote(bucket), urllib.parse.unquote(name)
