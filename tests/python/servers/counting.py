"""A web server on a folder that takes its time for each answer and writes down when each request of
each client began and ended: for tests of how many are open at once.

    with CountingServer(folder, seconds=0.04) as server:
        server.url
        server.events()             # oldest first
        server.refuse(client, 2)    # its next request: 429, Retry-After: 2

A client says who it is in the header X-Client. A request ends with its answer, or when its
connection is closed.
"""

from __future__ import annotations

import asyncio
import threading
import time
from dataclasses import dataclass
from pathlib import Path

from servers.web import parse_range


@dataclass(frozen=True)
class Event:
    time: float  # of time.monotonic()
    client: str
    change: int  # requests that are open: +1, -1


class CountingServer:
    def __init__(self, folder: Path, seconds: float):
        self._folder = folder
        self._seconds = seconds
        self._events: list[Event] = []
        self._refused: dict[str, int] = {}
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever)
        self.url = ""

    def __enter__(self) -> CountingServer:
        self._thread.start()
        start = asyncio.start_server(self._serve, "127.0.0.1", 0, backlog=256)
        server = asyncio.run_coroutine_threadsafe(start, self._loop).result()
        self.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
        return self

    def __exit__(self, *_: object) -> None:
        asyncio.run_coroutine_threadsafe(self._end(), self._loop).result()
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    def events(self) -> list[Event]:
        return list(self._events)

    def refuse(self, client: str, seconds: int) -> None:
        self._refused[client] = seconds

    async def _end(self) -> None:
        others = asyncio.all_tasks() - {asyncio.current_task()}
        for task in others:
            task.cancel()
        await asyncio.gather(*others, return_exceptions=True)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while await self._serve_one(reader, writer):
                pass
        except (asyncio.IncompleteReadError, asyncio.CancelledError, ConnectionError):
            pass
        finally:
            writer.close()

    async def _serve_one(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        head = (await reader.readuntil(b"\r\n\r\n")).decode()
        method, path, *_ = head.split()
        fields = (line.partition(":") for line in head.lower().splitlines()[1:])
        headers = {name: value.strip() for name, _, value in fields}
        client = headers.get("x-client", "")
        self._events.append(Event(time.monotonic(), client, 1))
        try:
            gone = asyncio.ensure_future(reader.read(1))  # nothing comes before the answer
            await asyncio.wait([gone], timeout=self._seconds)
            if gone.done():
                return False
            gone.cancel()
            await asyncio.wait([gone])
        finally:
            self._events.append(Event(time.monotonic(), client, -1))
        writer.write(self._answer(method, path, headers, self._refused.pop(client, None)))
        await writer.drain()
        return True

    def _answer(
        self, method: str, path: str, headers: dict[str, str], retry_after: int | None
    ) -> bytes:
        file = self._folder / path.lstrip("/")
        if retry_after is not None:
            return _reply("429 Too Many Requests", b"", f"Retry-After: {retry_after}")
        if not file.is_file():
            return _reply("404 Not Found", b"")
        data = file.read_bytes()
        tag = f'ETag: "{len(data)}"'
        span = parse_range(headers.get("range", ""), len(data))
        if span is None:
            return _reply("200 OK", data, tag, is_head=method == "HEAD")
        where = f"Content-Range: bytes {span[0]}-{span[1] - 1}/{len(data)}"
        return _reply("206 Partial Content", data[span[0] : span[1]], tag, where)


def _reply(status: str, body: bytes, *headers: str, is_head: bool = False) -> bytes:
    lines = [f"HTTP/1.1 {status}", f"Content-Length: {len(body)}", "Accept-Ranges: bytes", *headers]
    return "\r\n".join([*lines, "", ""]).encode() + (b"" if is_head else body)
