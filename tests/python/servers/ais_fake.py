"""A strict fake of an AIStore 5.0 cluster: one proxy, some targets, as real ones answer.

    with AisFake() as ais:
        ais.put("bucket", "a/b.jpg", b"...")
        ais.endpoint                        # for AIS_ENDPOINT

Like the real one it redirects every request for an object, honours no conditional header, answers
ranges with the checksum of the whole object, lists from the proxy alone, and stores what is PUT to
the wrong target where nobody finds it. A test may set `on_object` (called before a target answers)
to change things or to answer itself, and stop, kill and start targets.
"""

from __future__ import annotations

import argparse
import json
import signal
import threading
import time
import urllib.parse
import uuid
from pathlib import Path
from typing import Any

import msgpack
import xxhash
from servers.ais_target import SEED, ObjectHook, Target, failure, split_object
from servers.web import Reply, Request, WebServer

PAGE = 10_000


def weight(seed: int) -> int:
    """AIStore's: SplitMix64 twice, then one step of xoshiro256**."""
    mask, z = 2**64 - 1, seed
    for _ in range(2):
        z = (z + 0x9E3779B97F4A7C15) & mask
        z = ((z ^ z >> 30) * 0xBF58476D1CE4E5B9) & mask
        z = ((z ^ z >> 27) * 0x94D049BB133111EB) & mask
        z ^= z >> 31
    z = z * 5 & mask
    return ((z << 7 | z >> 57) & mask) * 9 & mask


class AisFake:
    def __init__(self, targets: int = 2, token: str = ""):
        self.token = token
        self.log: list[tuple[str, str, str]] = []  # (node, method, request target)
        self.buckets: set[str] = set()
        self.on_object: ObjectHook | None = None
        self.proxy = WebServer(self._handle)
        self.targets = [Target(self, number) for number in range(targets)]
        self._map_version = 1
        self._lock = threading.Lock()

    def __enter__(self) -> AisFake:
        for server in [self.proxy, *(target.server for target in self.targets)]:
            server.start()
        return self

    def __exit__(self, *_: object) -> None:
        for server in [self.proxy, *(target.server for target in self.targets)]:
            server.stop()

    @property
    def endpoint(self) -> str:
        return self.proxy.origin

    def put(self, bucket: str, name: str, source: bytes | Path) -> None:
        """Stores an object where it belongs; a Path is served from its file."""
        self.buckets.add(bucket)
        self.owner(bucket, name).store(bucket, name, source)

    def get(self, bucket: str, name: str) -> bytes | None:
        stored = self.owner(bucket, name).objects.get((bucket, name))
        return stored and stored.content.read()

    def names(self, bucket: str) -> list[str]:
        found = (key for target in self.targets if target.in_map for key in target.objects)
        return sorted((name for b, name in found if b == bucket), key=str.encode)

    def owner(self, bucket: str, name: str) -> Target:
        """The target in the map that has the highest random weight for this object."""
        targets = [target for target in self.targets if target.in_map]
        digest = xxhash.xxh64_intdigest(f"ais/@#/{bucket}/{name}".encode(), SEED)
        return max(targets, key=lambda t: weight(digest ^ t.digest))

    def stop_target(self, number: int) -> None:
        """As SIGTERM: gone from the map at once; what it holds is missing without a word."""
        self.targets[number].in_map = False
        self._map_version += 1
        self.targets[number].server.stop()

    def kill_target(self, number: int) -> None:
        """As SIGKILL: still in the map, connections are refused."""
        self.targets[number].server.stop()

    def start_target(self, number: int) -> None:
        self.targets[number].server.start()
        self.targets[number].in_map = True
        self._map_version += 1

    def note(self, node: str, request: Request) -> None:
        with self._lock:
            self.log.append((node, request.method, request.target))

    def is_authorized(self, request: Request) -> bool:
        return request.headers.get("authorization") == f"Bearer {self.token}"

    def cluster_map(self) -> Reply:
        def node(node_id: str, server: WebServer, kind: str) -> dict[str, object]:
            net = {
                "node_ip_addr": "127.0.0.1",
                "daemon_port": str(server.port),
                "direct_url": server.origin,
            }
            digest = xxhash.xxh64_intdigest(node_id.encode(), SEED)
            return {
                "public_net": net,
                "daemon_type": kind,
                "daemon_id": node_id,
                "id_digest": digest,
            }

        targets = {t.id: node(t.id, t.server, "target") for t in self.targets if t.in_map}
        proxy = node("p0fake", self.proxy, "proxy")
        text = {
            "pmap": {"p0fake": proxy},
            "tmap": targets,
            "proxy_si": proxy,
            "uuid": "fake",
            "version": str(self._map_version),
        }
        return Reply(200, {"Content-Type": "application/json"}, json.dumps(text).encode())

    def _handle(self, request: Request) -> Reply:
        self.note("p0fake", request)
        if self.token and not self.is_authorized(request):
            return failure(401, "", "token required", request)
        if request.path in ("/v1/daemon", "/v1/cluster") and request.query.get("what") == "smap":
            return self.cluster_map()
        if request.path == "/v1/health":
            return Reply(200, {"Ais-Cluster-Uptime": "1000000000"})
        if request.path.startswith("/v1/buckets/"):
            return self._bucket(request, urllib.parse.unquote(request.path.split("/")[3]))
        if request.path.startswith("/v1/objects/"):
            return self._redirect(request)
        return failure(400, "", f"invalid path {request.path}", request)

    def _redirect(self, request: Request) -> Reply:
        bucket, name = split_object(request.path)
        if not name or name.endswith("/") or ".." in name.split("/"):
            return failure(400, "errInvalidPath", f"invalid object name {name!r}", request)
        if bucket not in self.buckets:
            return failure(404, "ErrBckNotFound", f"bucket ais://{bucket} does not exist", request)
        marks = f"pid=p0fake&utm={time.time_ns():x}"
        query = f"{request.query_text}&{marks}" if request.query_text else marks
        location = f"{self.owner(bucket, name).server.origin}{request.path}?{query}"
        if request.method != "GET":
            return Reply(307, {"Location": location})
        text = f'<a href="{location}">Moved Permanently</a>.\n\n'.encode()
        return Reply(301, {"Location": location, "Content-Type": "text/html"}, text)

    def _bucket(self, request: Request, bucket: str) -> Reply:
        if request.method == "POST":
            if bucket in self.buckets:
                return failure(409, "ErrBucketAlreadyExists", f"{bucket} already exists", request)
            self.buckets.add(bucket)
            return Reply()
        if bucket not in self.buckets:
            return failure(404, "ErrBckNotFound", f"bucket ais://{bucket} does not exist", request)
        if request.method == "HEAD":
            return Reply(200, {"Ais-Bucket-Props": "{}"})
        if request.method == "DELETE":
            self.buckets.discard(bucket)
            return Reply()
        return self._list(request, bucket)

    def _list(self, request: Request, bucket: str) -> Reply:
        message = json.loads(request.body or b'{"action":"list","value":{}}')
        value = message.get("value")
        if message.get("action") != "list" or value is None:
            return failure(400, "", f"invalid action {message}", request)
        if not isinstance(value.get("flags", ""), str) or not isinstance(
            value.get("pagesize", 0), int
        ):
            return failure(400, "", "cannot unmarshal", request)
        down = [t for t in self.targets if t.in_map and not t.server.is_running]
        if down:
            message = f"failed to call t[{down[0].id}]: list: connection refused"
            return failure(400, "ErrFailedTo", message, request)
        after = value.get("continuation_token") or value.get("start_after") or ""
        names = [
            name
            for name in self.names(bucket)
            if name.startswith(value.get("prefix", "")) and name.encode() > after.encode()
        ]
        page = names[: min(value.get("pagesize") or PAGE, PAGE)]
        more = len(page) < len(names)
        text = {
            "uuid": value.get("uuid") or uuid.uuid4().hex[:10],
            "continuation_token": page[-1] if more else "",
            "entries": [self._entry(bucket, name, value.get("props", "")) for name in page] or None,
            "flags": 0,
        }
        if "application/msgpack" in request.headers.get("accept", ""):
            packed = msgpack.packb(short(text))
            return Reply(200, {"Content-Type": "application/msgpack"}, packed)
        return Reply(200, {"Content-Type": "application/json"}, json.dumps(text).encode())

    def _entry(self, bucket: str, name: str, props: str) -> dict[str, object]:
        stored = next(t.objects[bucket, name] for t in self.targets if (bucket, name) in t.objects)
        size = {"size": str(stored.content.size)} if stored.content.size else {}
        told = {"checksum": stored.checksum, "version": str(stored.version)}
        asked = {prop: told[prop] for prop in props.split(",") if prop in told and stored.checksum}
        return {"name": name, **size, **asked, "flags": 64}


def short(listing: dict[str, Any]) -> dict[str, object]:
    """A listing as msgpack has it: other names, and sizes are numbers."""
    names = {"name": "n", "checksum": "cs", "version": "v", "size": "s", "flags": "f"}
    entries = [
        {names[key]: int(value) if key == "size" else value for key, value in entry.items()}
        for entry in listing["entries"] or []
    ]
    return {
        "UUID": listing["uuid"],
        "ContinuationToken": listing["continuation_token"],
        "Flags": listing["flags"],
        "Entries": entries,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description="Serve the files of a folder as a bucket.")
    parser.add_argument("folder", type=Path)
    parser.add_argument("--bucket", default="data")
    options = parser.parse_args()
    with AisFake() as ais:
        for path in sorted(options.folder.rglob("*")):
            if path.is_file():
                ais.put(options.bucket, path.relative_to(options.folder).as_posix(), path)
        print(ais.endpoint, flush=True)
        signal.pause()


if __name__ == "__main__":
    main()
