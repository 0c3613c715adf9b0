"""DirectoryShardList: shards of a folder that others fill meanwhile.

A shard is taken by renaming it, so that several readers may share a folder:

    x.tar --take--> x.tar._PID_ --> unlinked | x.tar._done_ | x.tar again
"""

from __future__ import annotations

import os
import random
import re
import time
from collections.abc import Iterator
from typing import Any

from . import utils
from .pytorch import IterableDataset

_TAKEN = re.compile(r"\._(\d+)_$")


def check_pid_is_running(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True
    return True


def without_last_extension(fname: str) -> str:
    return re.sub(r"[.][^.]*$", "", fname)


def get_pid_from_filename(fname: str) -> int | None:
    """The process that has taken a file, by its name."""
    match = _TAKEN.search(fname)
    return int(match[1]) if match else None


class DirectoryShardList(IterableDataset):
    """Takes files matching `pattern` in `path` one by one.

    mode: what happens after use: "unlink", "keep" (renamed) or "resample" (given back).
    select: "random" or "oldest". poll: seconds between looks; None ends where there is no file.
    """

    def __init__(
        self,
        path: str,
        pattern: str = "*.{tar,tgz,tar.tgz}",
        poll: float | None = 1,
        timeout: float = 1e12,
        mode: str | None = "resample",
        select: str = "random",
        fate: Any = None,
    ) -> None:
        assert os.path.isdir(path)
        self.path = path
        self.pattern = pattern
        self.poll = poll
        self.timeout = timeout
        self.mode = mode or "resample"
        self.select = select
        self.fate = fate

    def recycle(self, activename: str) -> None:
        """Does with a file what the mode says, after its use."""
        name = _TAKEN.sub("", activename)
        if self.mode == "unlink":
            os.unlink(activename)
        elif self.mode == "keep":
            os.rename(activename, name + "._done_")
        elif self.mode == "resample":
            os.rename(activename, name)
        else:
            raise ValueError(f"unknown mode {self.mode}")

    def cleanup_files_without_processes(self) -> None:
        """Gives back the files of processes that are gone."""
        for name in os.listdir(self.path):
            pid = get_pid_from_filename(name)
            if pid is not None and not check_pid_is_running(pid):
                self.recycle(os.path.join(self.path, name))

    def _candidates(self) -> list[str]:
        # The original hands the braces to glob, which finds nothing, and waits for ever.
        return utils.glob_with_braces(os.path.join(self.path, self.pattern))

    def _take(self) -> str | None:
        names = self._candidates()
        if not names:
            return None
        if self.select == "random":
            name = random.choice(names)
        elif self.select == "oldest":
            name = min(names, key=os.path.getmtime)
        else:
            raise ValueError(f"unknown selection strategy {self.select}")
        taken = f"{name}._{os.getpid()}_"
        try:
            os.rename(name, taken)
        except FileNotFoundError:
            return ""  # another reader was quicker
        return taken

    def __iter__(self) -> Iterator[dict[str, Any]]:
        self.cleanup_files_without_processes()
        waiting_since = time.time()
        while True:
            taken = self._take()
            if taken:
                yield {"url": taken}
                self.recycle(taken)
                waiting_since = time.time()
            elif taken is None:
                if self.poll is None or time.time() - waiting_since > self.timeout:
                    return
                time.sleep(self.poll)
