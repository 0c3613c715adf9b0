"""Shards written to web servers: to nginx, to rclone's WebDAV, and to one that has its moods."""

from __future__ import annotations

import contextlib
import http.server
import threading

import headrace.webdataset as ours
import pytest
from servers.buckets import free_port, program, running
from servers.nginx import nginx

real = pytest.importorskip("webdataset", reason="webdataset is not installed: NOT TESTED")

pytestmark = pytest.mark.filterwarnings("ignore")

SAMPLES = [{"__key__": f"{i:03d}", "bin": bytes([i]) * 300_000, "cls": str(i)} for i in range(20)]


def write_shards(library, url):
    with library.ShardWriter(url + "/x-%02d.tar", maxcount=10, verbose=0, mtime=0) as sink:
        for sample in SAMPLES:
            sink.write(dict(sample))


def check_written(url):
    read = list(ours.WebDataset(url + "/x-{00..01}.tar", shardshuffle=False))
    assert [(s["__key__"], s["bin"]) for s in read] == [(s["__key__"], s["bin"]) for s in SAMPLES]


def test_nginx_takes_shards_as_from_curl(tmp_path):
    files = tmp_path / "files"
    files.mkdir(mode=0o777)
    taking = "dav_methods PUT; create_full_put_path on; client_max_body_size 0;"
    with nginx(files, tmp_path / "s", taking) as server:
        write_shards(ours, server.url + "/ours")
        write_shards(real, server.url + "/real")
        check_written(server.url + "/ours")
        check_written(server.url + "/real")
        assert {r.method for r in server.requests() if r.path.startswith("ours")} == {
            *("PUT", "HEAD", "GET")
        }


def test_webdav_takes_shards(tmp_path):
    (tmp_path / "files" / "there").mkdir(parents=True)
    port = free_port()
    command = [program("rclone"), "serve", "webdav", "--addr", f"127.0.0.1:{port}"]
    with running(
        [*command, tmp_path / "files"], port, tmp_path / "log", RCLONE_CONFIG=str(tmp_path / "c")
    ):
        write_shards(ours, f"http://127.0.0.1:{port}/there")
        check_written(f"http://127.0.0.1:{port}/there")


def test_a_server_that_takes_nothing_is_an_error_with_address_and_status(tmp_path):
    with nginx(tmp_path, tmp_path / "s") as server:
        sink = ours.gopen(server.url + "/x.bin", "wb")
        sink.write(b"1")
        with pytest.raises(OSError, match=r"405.*" + server.url + "/x.bin"):
            sink.close()
        stream = real.gopen(server.url + "/x.bin", "wb")
        stream.write(b"1")
        with pytest.raises(OSError, match="exit"):
            stream.close()


class Moody(http.server.BaseHTTPRequestHandler):
    """Sends /moved/NAME on to /NAME, refuses /secret, and fails the first time."""

    protocol_version = "HTTP/1.1"
    stored: dict[str, bytes]
    failures: int

    def do_PUT(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        if self.path.startswith("/moved/"):
            return self.answer(307, Location=self.path.removeprefix("/moved"))
        if self.path.startswith("/secret"):
            return self.answer(403)
        if self.failures:
            type(self).failures -= 1
            return self.answer(503)
        self.stored[self.path] = body
        return self.answer(201)

    def answer(self, status, **headers):
        self.send_response(status)
        for name, value in {**headers, "Content-Length": "0"}.items():
            self.send_header(name, value)
        self.end_headers()

    def log_message(self, *_):
        pass


@contextlib.contextmanager
def moody():
    handler = type("Handler", (Moody,), {"stored": {}, "failures": 1})
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}", handler
    finally:
        server.shutdown()
        server.server_close()


def test_the_very_address_is_written_again_after_a_failure_and_where_a_redirect_leads():
    content = bytes(range(256)) * 20_000  # more than is kept in memory until it is sent
    with moody() as (url, server):
        with ours.gopen(url + "/moved/a%20b/x.bin?sig=a%2Fb&part=1", "wb") as sink:
            for begin in range(0, len(content), 100_000):
                sink.write(content[begin : begin + 100_000])
        assert server.stored == {"/a%20b/x.bin?sig=a%2Fb&part=1": content}
        assert server.failures == 0


def test_signatures_are_not_told():
    with moody() as (url, _):
        signature = "0123456789abcdef" * 4
        sink = ours.gopen(url + "/secret?sig=" + signature, "wb")
        sink.write(b"1")
        with pytest.raises(OSError, match=r"403.*/secret") as caught:
            sink.close()
        assert signature not in str(caught.value)


def test_what_ends_in_an_exception_is_not_sent():
    with moody() as (url, server):
        with contextlib.suppress(KeyError), ours.gopen(url + "/x", "wb") as sink:
            sink.write(b"half")
            raise KeyError
        assert server.stored == {} and server.failures == 1
