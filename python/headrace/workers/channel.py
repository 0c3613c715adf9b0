"""Messages between a process and its worker: pickled tuples over a socket, with descriptors.

    8 bytes  length of the message, little-endian     <- descriptors travel with these
    n bytes  the message, pickled

Both ends are ours and only tell each other where arrays lie; arrays themselves are not sent.
"""

from __future__ import annotations

import array
import contextlib
import pickle
import socket
import struct
from collections.abc import Sequence
from typing import Any

_HEADER = struct.Struct("<Q")
_MOST_DESCRIPTORS = 64


class Channel:
    """One end. One thread sends, one receives."""

    def __init__(self, end: socket.socket) -> None:
        self._socket = end

    def send(self, message: Any, descriptors: Sequence[int] = ()) -> None:
        """Raises OSError if the other end is gone."""
        text = pickle.dumps(message, protocol=5)
        header = _HEADER.pack(len(text))
        rights = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", descriptors))]
        sent = self._socket.sendmsg([header], rights if descriptors else [])
        self._socket.sendall(header[sent:] + text)

    def receive(self) -> tuple[Any, list[int]]:
        """The next message and its descriptors, which belong to the caller.

        Raises:
            EOFError: the other end is gone.
        """
        space = socket.CMSG_SPACE(_MOST_DESCRIPTORS * array.array("i").itemsize)
        header, ancillary, _, _ = self._socket.recvmsg(_HEADER.size, space)
        descriptors = array.array("i")
        for level, kind, data in ancillary:
            if level == socket.SOL_SOCKET and kind == socket.SCM_RIGHTS:
                descriptors.frombytes(data[: len(data) - len(data) % descriptors.itemsize])
        header += self._exactly(_HEADER.size - len(header))
        text = self._exactly(_HEADER.unpack(header)[0])
        return pickle.loads(text), descriptors.tolist()

    def close(self) -> None:
        """Also wakes a thread that is receiving here."""
        with contextlib.suppress(OSError):  # the other end is gone already
            self._socket.shutdown(socket.SHUT_RDWR)
        self._socket.close()

    def _exactly(self, size: int) -> bytearray:
        out = bytearray(size)
        view = memoryview(out)
        while len(view):
            got = self._socket.recv_into(view)
            if got == 0:
                raise EOFError("the other process is gone")
            view = view[got:]
        return out
