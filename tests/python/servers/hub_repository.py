"""What a Hub holds: repositories, their commits, and large objects by their SHA-256."""

from __future__ import annotations

import base64
import hashlib
import json
import threading
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

from servers.web import Content

_TEXT = (".md", ".txt", ".json", ".yaml", ".yml", ".csv", ".py", ".cls", ".gitattributes")
_LARGE = 10 << 20


def is_lfs(path: str, size: int) -> bool:
    """Whether the server wants a file as a large object, told from its name and size."""
    return size > _LARGE or (size > 0 and not path.endswith(_TEXT))


@dataclass(frozen=True)
class HubFile:
    content: Content
    oid: str  # of git: SHA-1 of the blob, or of the pointer
    sha256: str = ""  # of a large object

    @staticmethod
    def make(path: str, source: bytes | Path) -> HubFile:
        content = Content(source)
        data = content.read()
        if not is_lfs(path, content.size):
            return HubFile(content, _blob_oid(data))
        digest = hashlib.sha256(data).hexdigest()
        return HubFile(content, _blob_oid(_pointer(digest, content.size)), digest)

    def entry(self, path: str) -> dict[str, object]:
        """As a tree listing has it."""
        out = {"type": "file", "oid": self.oid, "size": self.content.size, "path": path}
        if self.sha256:
            pointer = len(_pointer(self.sha256, self.content.size))
            lfs = {"oid": self.sha256, "size": self.content.size, "pointerSize": pointer}
            out |= {"lfs": lfs, "xetHash": self.sha256[::-1]}
        return out


Files = dict[str, HubFile]


@dataclass
class Repository:
    kind: str  # "datasets", "models"
    id: str
    token: str = ""  # needed to read, if private or gated
    gated: bool = False
    commits: dict[str, Files] = field(default_factory=dict)
    refs: dict[str, str] = field(default_factory=dict)
    lock: threading.Lock = field(default_factory=threading.Lock)
    _trees: dict[str, list[dict[str, object]]] = field(default_factory=dict)

    def add_commit(self, files: Files, branch: str = "main") -> str:
        text = "\n".join(f"{path} {files[path].oid}" for path in sorted(files))
        sha = hashlib.sha1(f"{len(self.commits)} {text}".encode()).hexdigest()
        self.commits[sha] = files
        self.refs[branch] = sha
        return sha

    def resolve(self, revision: str) -> str | None:
        """The commit that a branch, a tag or a commit names."""
        sha = self.refs.get(revision.removeprefix("refs/heads/"), revision)
        return sha if sha in self.commits else None

    def tree(self, commit: str, folder: str, recursive: bool) -> list[dict[str, object]]:
        """Folders first, then files, each by name."""
        if commit not in self._trees:
            self._trees[commit] = _whole_tree(self.commits[commit])
        prefix = f"{folder}/" if folder else ""
        return [
            entry
            for entry in self._trees[commit]
            if str(entry["path"]).startswith(prefix)
            and (recursive or "/" not in str(entry["path"])[len(prefix) :])
        ]

    def apply(self, lines: Iterable[bytes], large: dict[str, Content], branch: str) -> str:
        """Makes a commit of the lines of a commit request. ValueError says what is wrong with them,
        LookupError that the parent is not the branch's head."""
        rows = [json.loads(line) for line in lines if line.strip()]
        header = rows[0]["value"]
        if rows[0]["key"] != "header" or not header.get("summary"):
            raise ValueError("the first line must be a header with a summary")
        with self.lock:
            head = self.refs[branch]
            if header.get("parentCommit", head) != head:
                raise LookupError("a commit has happened since")
            files = dict(self.commits[head])
            for row in rows[1:]:
                _apply_row(row["key"], row["value"], files, large)
            return self.add_commit(files, branch)


def _apply_row(key: str, value: dict[str, object], files: Files, large: dict[str, Content]) -> None:
    path = str(value["path"])
    if key == "file":
        data = base64.b64decode(str(value["content"]), validate=True)
        if is_lfs(path, len(data)):
            raise ValueError(f"{path} has to be uploaded as a large object")
        files[path] = HubFile.make(path, data)
    elif key == "lfsFile":
        sha256 = str(value["oid"])
        if sha256 not in large:
            raise ValueError(f"the large object of {path} was not uploaded")
        content = large[sha256]
        if value.get("size", content.size) != content.size:
            raise ValueError(f"{path} has {content.size} bytes")
        files[path] = HubFile(content, _blob_oid(_pointer(sha256, content.size)), sha256)
    elif key == "deletedFile":
        del files[path]
    elif key == "deletedFolder":
        for name in [name for name in files if name.startswith(path.rstrip("/") + "/")]:
            del files[name]
    else:
        raise ValueError(f"unknown operation {key}")


def _whole_tree(files: Files) -> list[dict[str, object]]:
    above = {path[:i] for path in files for i in range(len(path)) if path[i] == "/"}
    out: list[dict[str, object]] = [
        {"type": "directory", "oid": _blob_oid(name.encode()), "size": 0, "path": name}
        for name in sorted(above)
    ]
    return out + [files[path].entry(path) for path in sorted(files)]


def _blob_oid(data: bytes) -> str:
    return hashlib.sha1(b"blob %d\0" % len(data) + data).hexdigest()


def _pointer(sha256: str, size: int) -> bytes:
    text = f"version https://git-lfs.github.com/spec/v1\noid sha256:{sha256}\nsize {size}\n"
    return text.encode()
