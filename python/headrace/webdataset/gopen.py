"""Opens URLs as binary streams: `gopen(url)`, and the table of schemes that users add to.

    with gopen("s3://bucket/x.tar") as stream:
        stream.read(1024)

http, https, s3, gs, az, ais and hf are Headrace's own stores (docs/stores.md). `pipe:` and what
they do not know run commands; in strict mode so does everything, as in the original.

Environment: GOPEN_VERBOSE prints what is opened, GOPEN_BUFFER is the buffer size of files,
GOPEN_REWRITE ("prefix=other;prefix2=other2") replaces the beginning of URLs, USE_AIS_FOR names
schemes ("gs:http") that are read through AIStore, and is looked at on import.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable
from typing import IO, Any
from urllib.parse import unquote, urlparse

from . import utils

info: dict[str, Any] = {}

_CURL = ["curl", "--connect-timeout", "30", "--retry", "30", "--retry-delay", "2", "-f", "-s"]
# Of a command that was told that nobody reads any more, by the shell and by the system.
_NOBODY_READS = [141, -13]
_SECONDS = 7200.0


class Pipe:
    """A command's standard output (mode "rb") or input ("wb"), as a file.

    A bad exit status is an OSError: when reading meets the end, or on close. Status 141 (the
    command was told that nobody reads any more) and those in `ignore_status` are accepted.
    """

    def __init__(
        self,
        *args: Any,
        mode: str | None = None,
        timeout: float = _SECONDS,
        ignore_errors: bool = False,
        ignore_status: list[int] = [],  # noqa: B006 (part of the interface)
        **kw: Any,
    ) -> None:
        from subprocess import PIPE, Popen

        if mode not in ("rb", "wb"):
            raise ValueError(f"{mode}: unknown mode")
        self.ignore_errors = ignore_errors
        self.ignore_status = [0, *_NOBODY_READS, *ignore_status]
        self.timeout = timeout
        self.args = (args, kw)
        pipe: dict[str, Any] = {"stdout": PIPE} if mode == "rb" else {"stdin": PIPE}
        self.proc: Popen[bytes] = Popen(*args, **{**pipe, **kw})
        stream = self.proc.stdout if mode == "rb" else self.proc.stdin
        assert stream is not None
        self.stream: IO[bytes] = stream
        self.status: int | None = None

    def __str__(self) -> str:
        return f"<Pipe {self.args}>"

    def check_status(self) -> None:
        """Looks at the exit status if the command has ended."""
        if self.proc.poll() is not None:
            self.wait_for_child()

    def wait_for_child(self) -> None:
        """Waits for the command and raises OSError for a bad exit."""
        if self.status is not None:
            return
        self.status = self.proc.wait()
        if self.status not in self.ignore_status and not self.ignore_errors:
            raise OSError(f"{self.args}: exit {self.status}")

    def read(self, *args: Any, **kw: Any) -> bytes:
        data = self.stream.read(*args, **kw)
        if not data and args != (0,):
            # The command has closed its output; its exit follows at once.
            self.wait_for_child()
        return data

    def readLine(self, *args: Any, **kw: Any) -> bytes:
        data = self.stream.readline(*args, **kw)
        if not data:
            self.wait_for_child()
        return data

    def write(self, *args: Any, **kw: Any) -> int:
        count = self.stream.write(*args, **kw)
        self.check_status()
        return count

    def close(self) -> None:
        """Closes the stream and waits for the command."""
        try:
            self.stream.close()
        finally:
            self.wait_for_child()

    def __enter__(self) -> Pipe:
        return self

    def __exit__(self, etype: Any, value: Any, traceback: Any) -> None:
        self.close()

    def __del__(self) -> None:
        stream = getattr(self, "stream", None)
        if stream is not None:
            stream.close()
            self.proc.poll()


def set_options(
    obj: Any,
    timeout: float | None = None,
    ignore_errors: bool | None = None,
    ignore_status: list[int] | None = None,
    handler: Any = None,
) -> bool:
    """Changes the options of a Pipe; False if `obj` is none."""
    if not isinstance(obj, Pipe):
        return False
    if timeout is not None:
        obj.timeout = timeout
    if ignore_errors is not None:
        obj.ignore_errors = ignore_errors
    if ignore_status is not None:
        obj.ignore_status = ignore_status
    return True


def gopen_file(url: str, mode: str = "rb", bufsize: int = 8192) -> IO[bytes]:
    return open(url, mode)


def gopen_pipe(url: str, mode: str = "rb", bufsize: int = 8192) -> Pipe:
    """`pipe:COMMAND`, run by the shell."""
    utils.refuse_if_secure(f"gopen_pipe: unsafe_gopen is False, cannot open pipe URLs {url}")
    command = url.removeprefix("pipe:")
    if mode[0] not in "rw":
        raise ValueError(f"{mode}: unknown mode")
    return Pipe(command, mode=mode, shell=True, bufsize=bufsize)


def gopen_curl(url: str, mode: str = "rb", bufsize: int = 8192) -> Pipe:
    if mode[0] == "r":
        return Pipe([*_CURL, "-L", url], mode=mode, bufsize=bufsize, ignore_status=[23])
    if mode[0] == "w":
        return Pipe(
            ["curl", "-f", "-s", "-X", "PUT", "-L", "-T", "-", url],
            mode=mode,
            bufsize=bufsize,
            ignore_status=[26],
        )
    raise ValueError(f"{mode}: unknown mode")


def gopen_htgs(url: str, mode: str = "rb", bufsize: int = 8192) -> Pipe:
    if mode[0] != "r":
        raise ValueError(f"{mode}: cannot write")
    location = re.sub(r"(?i)^htgs://", "gs://", url)
    return _read_only(["curl", "-s", "-L", location], url, mode, bufsize, [23])


def gopen_hf(url: str, mode: str = "rb", bufsize: int = 8192) -> Pipe:
    """`hf://…`: a file on the Hugging Face hub, with the user's token where there is one."""
    location = re.sub(r"(?i)^hf://", "https://huggingface.co/", url)
    token = os.environ.get("HF_TOKEN")
    headers = ["-H", f"Authorization: Bearer {token}"] if token else []
    return _read_only([*_CURL, "-L", *headers, location], url, mode, bufsize, [23])


def gopen_gsutil(url: str, mode: str = "rb", bufsize: int = 8192) -> Pipe:
    if mode[0] == "r":
        return Pipe(["gsutil", "cat", url], mode=mode, bufsize=bufsize, ignore_status=[23])
    if mode[0] == "w":
        return Pipe(["gsutil", "cp", "-", url], mode=mode, bufsize=bufsize, ignore_status=[26])
    raise ValueError(f"{mode}: unknown mode")


def gopen_ais(url: str, mode: str = "rb", bufsize: int = 8192) -> Pipe:
    if mode[0] == "r":
        return Pipe(["ais", "get", url, "-"], mode=mode, bufsize=bufsize, ignore_status=[23])
    if mode[0] == "w":
        return Pipe(["ais", "put", "-", url], mode=mode, bufsize=bufsize, ignore_status=[26])
    raise ValueError(f"{mode}: unknown mode")


def _read_only(
    command: list[str], url: str, mode: str, bufsize: int, ignore_status: list[int]
) -> Pipe:
    if mode[0] != "r":
        raise ValueError(f"{url}: cannot be written")
    return Pipe(command, mode=mode, bufsize=bufsize, ignore_status=ignore_status)


#: What the original does with the schemes of our stores.
_COMMANDS: dict[str, Callable[..., Any]] = {
    "gs": gopen_gsutil,
    "hf": gopen_hf,
    "ais": gopen_ais,
}


def gopen_store(url: str, mode: str = "rb", bufsize: int = 8192) -> Any:
    """An object of s3, gs, az, ais or hf, through Headrace's own store.

    Reading runs ahead, in a bounded amount of memory; seek() works. What is written is there,
    whole, after close(), and not at all if the `with` block is left by an exception.
    """
    if utils.strict_compat():
        command: Callable[..., Any] = _COMMANDS.get(urlparse(url).scheme, gopen_error)
        return command(url, mode, bufsize)
    from .store_files import open_store_file

    return open_store_file(url, mode)


def gopen_web(url: str, mode: str = "rb", bufsize: int = 8192) -> Any:
    """A file on a web server: read as other objects are, written by one PUT to its address."""
    if utils.strict_compat():
        return gopen_curl(url, mode, bufsize)
    from .store_files import open_store_file

    return open_store_file(url, mode)


def gopen_error(url: str, *args: Any, **kw: Any) -> Any:
    raise ValueError(f"{url}: no gopen handler defined")


#: scheme -> f(url, mode, bufsize, **kw). Add your own; "__default__" opens what has no entry.
gopen_schemes: dict[str, Callable[..., Any]] = {
    "__default__": gopen_error,
    "pipe": gopen_pipe,
    "http": gopen_web,
    "https": gopen_web,
    "sftp": gopen_curl,
    "ftps": gopen_curl,
    "scp": gopen_curl,
    "s3": gopen_store,
    "gs": gopen_store,
    "az": gopen_store,
    "htgs": gopen_htgs,
    "hf": gopen_store,
    "ais": gopen_store,
}
if "USE_AIS_FOR" in os.environ:
    gopen_schemes.update(dict.fromkeys(os.environ["USE_AIS_FOR"].split(":"), gopen_ais))


def rewrite_url(url: str) -> str:
    """The URL with the first matching rule of GOPEN_REWRITE applied at its beginning."""
    rules = os.environ.get("GOPEN_REWRITE")
    if not rules:
        return url
    utils.refuse_if_secure("gopen: cannot rewrite URLs when enforce_security is set")
    for rule in rules.split(";"):
        pattern, _, replacement = rule.partition("=")
        changed = re.sub(f"^{pattern}", replacement, url)
        if changed != url:
            return changed
    return url


def gopen(url: Any, mode: str = "rb", bufsize: int = 8192, **kw: Any) -> Any:
    """Opens `url` for reading ("rb") or writing ("wb") as a context manager.

    Raises ValueError for an unknown scheme, OSError for a file that cannot be opened; a command
    that fails raises OSError when its end is read, or on close.
    """
    verbose = int(os.environ.get("GOPEN_VERBOSE", "0") or 0)
    if verbose:
        print("GOPEN", url, info, file=sys.stderr)
    assert mode in ("rb", "wb"), mode
    if url == "-":
        return sys.stdin.buffer if mode == "rb" else os.fdopen(1, "wb", 0, closefd=False)
    url = rewrite_url(url) if isinstance(url, str) else url
    scheme = urlparse(url).scheme
    if scheme in ("", "file") and isinstance(url, str):
        utils.refuse_if_secure(f"gopen: cannot open local files: {url}")
        path = unquote(urlparse(url).path) if scheme == "file" else url
        return open(path, mode, buffering=int(os.environ.get("GOPEN_BUFFER", -1)))
    opener = gopen_schemes.get(scheme, gopen_schemes["__default__"])
    return opener(url, mode, bufsize, **kw)


def reader(url: str, **kw: Any) -> Any:
    """`gopen` for reading."""
    return gopen(url, "rb", **kw)
