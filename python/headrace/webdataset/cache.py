"""Opening shards: straight (`StreamingOpen`) or through copies in a folder (`FileCache`)."""

from __future__ import annotations

import hashlib
import os
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from typing import IO, Any
from urllib.parse import quote, unquote, urlparse

from . import utils
from .gopen import gopen
from .handlers import Handler, reraise_exception
from .utils import obsolete as obsolete

default_cache_dir = os.environ.get("WDS_CACHE", "./_cache")
default_cache_size = float(os.environ.get("WDS_CACHE_SIZE", "1e18"))
verbose_cache = int(os.environ.get("WDS_VERBOSE_CACHE", "0") or 0)

_PLAIN_SCHEMES = ("", "file", "http", "https", "ftp", "ftps", "gs", "s3", "ais")
_TRIES = 10


def islocal(url: str) -> bool:
    return urlparse(url).scheme in ("", "file")


def _local_path(url: str) -> str:
    """The file of a local URL. A path is taken as it is, also with `#`, `?` or `;` in it."""
    if not url.startswith("file:"):
        return urlparse(url).path if utils.strict_compat() else url
    return unquote(urlparse(url).path)


def _refuse_local(url: str) -> None:
    if not utils.strict_compat():
        utils.refuse_if_secure(f"cannot open local files: {url}")


def get_filetype(fname: str) -> str:
    """What the command `file` says."""
    import subprocess

    assert os.path.exists(fname), fname
    return subprocess.check_output(["file", fname], text=True)


def magic_filetype(fname: str) -> str:
    """What kind of file it is, by its first bytes."""
    with open(fname, "rb") as stream:
        head = stream.read(512)
    if head.startswith(b"\x1f\x8b"):
        return "gzip compressed data"
    if head[257:262] == b"ustar":
        return "POSIX tar archive"
    return "tar archive" if _is_old_tar(head) else "data"


def _is_old_tar(head: bytes) -> bool:
    """The header checksum of archives from before POSIX."""
    try:
        stored = int(head[148:156].strip(b" \0"), 8)
    except ValueError:
        return False
    return len(head) == 512 and stored == sum(head) - sum(head[148:156]) + 8 * 32


def check_tar_format(fname: str) -> bool:
    """Whether the file is a tar archive or compressed by gzip."""
    return magic_filetype(fname) != "data"


def pipe_cleaner(spec: str) -> str:
    """Obsolete: the URL in a `pipe:` command."""
    utils.raise_if_obsolete("pipe_cleaner")
    if not spec.startswith("pipe:"):
        return spec
    for word in spec[5:].split(" "):
        if urlparse(word).scheme in ("http", "https", "gs", "s3", "ais"):
            return word
    return spec[5:]


def url_to_cache_name(url: str, ndir: int = 0) -> str:
    """A file name for a URL: its last 1 + ndir parts; of other schemes the quoted URL's end."""
    assert isinstance(url, str)
    parsed = urlparse(url)
    if parsed.scheme not in _PLAIN_SCHEMES:
        return quote(url, safe="_+{}*,-")[-128:]
    return "/".join(parsed.path.strip("/").split("/")[-1 - ndir :])


class LRUCleanup:
    """Removes the oldest files of a folder until it is within its size."""

    def __init__(
        self,
        cache_dir: str | None = None,
        cache_size: float = int(1e12),
        keyfn: Callable[[str], Any] = os.path.getctime,
        verbose: bool = False,
        interval: float | None = 30,
    ) -> None:
        self.cache_dir = cache_dir
        self.cache_size = cache_size
        self.keyfn = keyfn
        self.verbose = verbose
        self.interval = interval
        self.last_run = 0.0

    def set_cache_dir(self, cache_dir: str) -> None:
        self.cache_dir = cache_dir

    def cleanup(self) -> None:
        """At most once in `interval` seconds; None: each time."""
        if self.cache_dir is None or not os.path.exists(self.cache_dir):
            return
        if self.interval is not None and time.time() - self.last_run < self.interval:
            return
        self.last_run = time.time()
        names = [
            os.path.join(folder, name)
            for folder, _, files in os.walk(self.cache_dir)
            for name in files
        ]
        files = sorted((self.keyfn(name), os.path.getsize(name), name) for name in names)
        total = sum(size for _, size, _ in files)
        for _, size, name in files:
            if total <= self.cache_size:
                return
            if self.verbose:
                print(f"# deleting {name}", file=sys.stderr)
            os.remove(name)
            total -= size


def download(url: str, dest: str, chunk_size: int = 1024**2, verbose: bool = False) -> None:
    """Copies a URL to a file, which appears when it is whole."""
    temporary = f"{dest}.temp{os.getpid()}"
    try:
        with gopen(url) as stream, open(temporary, "wb") as copy:
            while data := stream.read(chunk_size):
                copy.write(data)
        os.rename(temporary, dest)
    finally:
        if os.path.exists(temporary):
            os.remove(temporary)


def _url_of(item: Any) -> str:
    return str(item["url"]) if isinstance(item, dict) else item


def _open(path: str) -> IO[bytes]:
    return open(path, "rb")


class StreamingOpen:
    """URLs, or dictionaries with a `url`, to dictionaries with `url`, `stream`, `local_path`."""

    def __init__(self, verbose: bool = False, handler: Handler = reraise_exception) -> None:
        self.verbose = verbose
        self.handler = handler

    def __call__(self, urls: Iterable[Any]) -> Iterator[dict[str, Any]]:
        for item in urls:
            url = _url_of(item)
            try:
                if islocal(url):
                    _refuse_local(url)
                    path = _local_path(url)
                    result = {"url": url, "stream": _open(path), "local_path": path}
                else:
                    result = {"url": url, "stream": gopen(url)}
            except Exception as exn:
                exn.args = (*exn.args, url)
                if self.handler(exn):
                    continue
                break
            yield result


class FileCache:
    """The same through copies in `cache_dir`. Local files are not copied."""

    def __init__(
        self,
        cache_dir: str | None = None,
        *,
        url_to_name: Callable[[str], str] = url_to_cache_name,
        verbose: bool = False,
        validator: Callable[[str], bool] = check_tar_format,
        handler: Handler = reraise_exception,
        cache_size: int = -1,
        cache_cleanup_interval: int = 30,
    ) -> None:
        self.url_to_name = url_to_name
        self.validator = validator
        self.handler = handler
        self.cache_dir = default_cache_dir if cache_dir is None else cache_dir
        self.verbose = verbose
        self.cleaner = None
        if cache_size > 0:
            self.cleaner = LRUCleanup(self.cache_dir, cache_size, interval=cache_cleanup_interval)

    def _name_of(self, url: str) -> str:
        """Shards of one name in different folders are different shards."""
        name = self.url_to_name(url)
        if self.url_to_name is not url_to_cache_name or utils.strict_compat():
            return name
        return f"{hashlib.sha256(url.encode()).hexdigest()[:16]}-{name}"

    def get_file(self, url: str) -> str:
        """The local file with the URL's content. ValueError: it is no archive."""
        assert isinstance(url, str)
        if islocal(url):
            _refuse_local(url)
            return _local_path(url)
        dest = os.path.join(self.cache_dir, self._name_of(url))
        if not os.path.exists(dest):
            if self.cleaner is not None:
                self.cleaner.cleanup()
            if self.verbose:
                print(f"# downloading {url} to {dest}", file=sys.stderr)
            os.makedirs(os.path.dirname(dest) or ".", exist_ok=True)
            download(url, dest, verbose=self.verbose)
        if self.validator is not None and not self.validator(dest):
            os.remove(dest)
            raise ValueError(f"{url} is no tar archive, nor compressed by gzip")
        return dest

    def __call__(self, urls: Iterable[Any]) -> Iterator[dict[str, Any]]:
        for item in urls:
            url = _url_of(item)
            for _ in range(_TRIES):
                try:
                    path = self.get_file(url)
                    result = {"url": url, "stream": _open(path), "local_path": path}
                except Exception as exn:
                    exn.args = (*exn.args, url)
                    if self.handler(exn):
                        continue
                    if utils.strict_compat():
                        break
                    return
                yield result
                break
