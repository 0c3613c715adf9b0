"""What can go wrong, as exceptions.

Every exception of Headrace is an `Error`. It says what happened, where (shard, member, byte offset)
and what to do next; the parts are attributes, so that a program need not read the message.
"""

from __future__ import annotations

from typing import Any, NamedTuple


class Origin(NamedTuple):
    """Where bytes came from."""

    shard: str
    """Path or URL of the shard; empty if unknown."""
    member: str
    """Name of the member or key of the sample; empty if unknown."""
    offset: int | None
    """In bytes from the start of the shard; None if unknown, and for loose files."""


_NOWHERE = Origin("", "", None)


class Error(Exception):
    """The base of all errors of Headrace.

    Attributes:
        code: the kind of error as in JSON output: "failure", "usage", "not_found", "corrupt", …
        message: one sentence that says what happened.
        shard: path or URL of the shard, or None.
        member: name of the member or key of the sample, or None.
        offset: in bytes from the start of the shard, or None.
        hint: what to do next, or None.
    """

    code: str = "failure"

    def __init__(
        self,
        message: str = "",
        *,
        code: str | None = None,
        origin: Origin = _NOWHERE,
        hint: str = "",
    ) -> None:
        super().__init__(message)
        self.message = message
        if code is not None:
            self.code = code
        self.shard = origin.shard or None
        self.member = origin.member or None
        self.offset = origin.offset
        self.hint = hint or None

    def __str__(self) -> str:
        where = [
            part
            for part in (
                f"shard {self.shard}" if self.shard else "",
                f"member {self.member}" if self.member else "",
                f"at byte {self.offset}" if self.offset is not None else "",
            )
            if part
        ]
        place = f" ({', '.join(where)})" if where else ""
        return f"{self.message}{place}" + (f". {self.hint}" if self.hint else "")

    def __reduce__(self) -> tuple[Any, ...]:
        origin = Origin(self.shard or "", self.member or "", self.offset)
        return _rebuild, (type(self), self.message, self.code, origin, self.hint or "")


class UsageError(Error, ValueError):
    """What was asked for makes no sense."""

    code = "usage"


class StateError(UsageError):
    """A state that belongs to other data or other options; the message names what differs."""


class NotFoundError(Error, KeyError, FileNotFoundError):
    """A file, shard, key or field is not there."""

    code = "not_found"


class DataError(Error):
    """Bytes are not what their format or their checksum says."""

    code = "corrupt"


class PartialError(Error):
    """Stopped half-way; the same call again goes on."""

    code = "partial"


class ChangedError(Error):
    """An input is no longer what it was."""

    code = "changed"


class DeniedError(Error, PermissionError):
    """Permissions or credentials do not allow it."""

    code = "denied"


class NoSpaceError(Error, OSError):
    """The disk or the quota is full."""

    code = "no_space"


class StoppedError(Error):
    """It was stopped, as a loader that was closed."""

    code = "interrupted"


class FunctionError(Error):
    """A function of `.map`, `.map_batches` or `.filter` raised, or returned what makes no column.

    `shard`, `member` and `offset` say on which sample. The exception itself is `__cause__`, if it
    can be pickled.

    Attributes:
        traceback: of the function itself, as text; empty if it returned something useless.
    """

    def __init__(self, message: str = "", *, traceback: str = "", **more: Any) -> None:
        super().__init__(message, **more)
        self.traceback = traceback

    def __str__(self) -> str:
        trace = f"\n\nIn the function:\n{self.traceback.rstrip()}" if self.traceback else ""
        return super().__str__() + trace

    def __reduce__(self) -> tuple[Any, ...]:
        rebuild, arguments = super().__reduce__()
        return rebuild, (*arguments, {"traceback": self.traceback})


class WorkerError(Error):
    """A worker process ended by itself; the message says which, how, and what it worked on."""


class RowError(NamedTuple):
    """A row that was left out of a batch (`on_error="skip"`) or became gray, and why."""

    key: str | None
    position: int
    """Of the row, in the epoch."""
    error: Error


_CLASSES: dict[str, type[Error]] = {
    kind.code: kind
    for kind in (
        UsageError,
        NotFoundError,
        DataError,
        PartialError,
        ChangedError,
        DeniedError,
        NoSpaceError,
        StoppedError,
    )
}


def from_native(code: str, message: str, origin: Origin, hint: str) -> Error:
    """The exception for an error of the engine."""
    kind = _CLASSES.get(code, Error)
    return kind(message, code=code, origin=origin, hint=hint)


def _rebuild(
    kind: type[Error],
    message: str,
    code: str,
    origin: Origin,
    hint: str,
    more: dict[str, Any] | None = None,
) -> Error:
    return kind(message, code=code, origin=origin, hint=hint, **(more or {}))
