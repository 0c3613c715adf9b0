"""Shards opened directly and through copies, beside the real ones, and where ours are safer."""

from __future__ import annotations

import gzip
import io
import os
import tarfile
from pathlib import Path

import headrace.webdataset as ours
import pytest
from headrace.webdataset import cache, utils

real = pytest.importorskip("webdataset", reason="webdataset is not installed: NOT TESTED")
real_cache = pytest.importorskip("webdataset.cache")


@pytest.fixture
def place(tmp_path, monkeypatch):
    """A working folder with a tar, a compressed one, garbage and nothing."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("time.sleep", lambda seconds: None)
    write_tar(tmp_path / "a.tar", "a")
    (tmp_path / "a.tgz").write_bytes(gzip.compress((tmp_path / "a.tar").read_bytes()))
    (tmp_path / "garbage.tar").write_bytes(b"garbage" * 1000)
    (tmp_path / "empty.tar").write_bytes(b"")
    (tmp_path / "kept").mkdir()
    return tmp_path


def write_tar(path: Path, text: str) -> None:
    path.parent.mkdir(exist_ok=True)
    with tarfile.open(path, "w") as archive:
        info = tarfile.TarInfo("s.txt")
        info.size = len(text)
        archive.addfile(info, io.BytesIO(text.encode()))


def outcome(function, *arguments, **options):
    try:
        return function(*arguments, **options)
    except Exception as error:
        return type(error)


URLS = [
    *("a/b/c.tar", "file:a/b.tar", "http://h/x/y.tar?q=1#f", "s3://b/k/x.tar", "gs://b/x.tar"),
    *("ais://b/x", "pipe:cat /a/b c.tar", "hf://d/x/y.tar", "ftp://h/x.tar", "scp:h:/x.tar"),
    *("-", "", "pipe:" + "x" * 300),
]


@pytest.mark.parametrize("url", URLS)
def test_urls_are_named_and_sorted_alike(url):
    for ndir in (0, 1, 5):
        assert cache.url_to_cache_name(url, ndir) == real_cache.url_to_cache_name(url, ndir)
    assert cache.islocal(url) == real_cache.islocal(url)


@pytest.mark.parametrize("name", ["a.tar", "a.tgz", "garbage.tar", "empty.tar"])
def test_archives_are_told_from_others(place, name):
    assert cache.check_tar_format(name) == real_cache.check_tar_format(name)


def opened(stage, urls):
    return [(x["url"], x.get("local_path"), x["stream"].read()[:5]) for x in stage(urls)]


@pytest.mark.parametrize("handler", [None, lambda error: True, lambda error: False])
def test_opening_directly(place, handler):
    options = {} if handler is None else {"handler": handler}
    urls = ["a.tar", "file:a.tar", {"url": "pipe:cat a.tar", "x": 2}, "missing.tar", "a.tgz"]
    for count in (3, 5):
        mine = outcome(opened, cache.StreamingOpen(**options), urls[:count])
        assert mine == outcome(opened, real_cache.StreamingOpen(**options), urls[:count])


def test_copies_are_made_once_and_give_the_same(place):
    urls = ["a.tar", "pipe:cat a.tar", "file:a.tar", "pipe:cat a.tgz"]
    for _ in range(2):
        got = opened(cache.FileCache("kept"), urls)
        assert [each[::2] for each in got] == [
            each[::2] for each in opened(real_cache.FileCache("kept2"), urls)
        ]
        assert got[0][1] == "a.tar" and got[1][1].startswith("kept")
        assert len(os.listdir("kept")) == 2
    (place / "a.tar").unlink()
    assert len(opened(cache.FileCache("kept"), urls[1:2])) == 1


def test_what_is_no_tar_is_refused_and_not_kept(place):
    with pytest.raises(ValueError, match="no tar"):
        opened(cache.FileCache("kept"), ["pipe:cat garbage.tar"])
    with pytest.raises(OSError):  # noqa: PT011
        opened(cache.FileCache("kept"), ["pipe:cat a.tar; exit 1"])
    assert os.listdir("kept") == []
    anything = cache.FileCache("kept", validator=lambda path: True)
    assert len(opened(anything, ["pipe:cat garbage.tar"])) == 1


def test_a_handler_that_skips_is_asked_ten_times(place):
    asked = []
    stage = cache.FileCache("kept", handler=lambda error: asked.append(error) or True)
    assert len(opened(stage, ["pipe:cat garbage.tar", "a.tar"])) == 1
    assert len(asked) == 10


def test_a_handler_that_stops_stops(place):
    urls = ["pipe:cat garbage.tar", "a.tar"]
    assert opened(cache.FileCache("kept", handler=lambda error: False), urls) == []
    # The original goes on with the next shard.
    assert len(opened(real_cache.FileCache("kept2", handler=lambda error: False), urls)) == 1


def test_copies_of_equal_base_names_are_kept_apart(place, monkeypatch):
    def open_far(url, mode="rb", bufsize=8192, **options):
        return open(url.removeprefix("ais://"), mode)

    for folder in ("d1", "d2"):
        write_tar(place / folder / "x.tar", folder)
    for library, stage, expected in (
        (ours, cache.FileCache("kept"), [b"d1", b"d2"]),
        (real, real_cache.FileCache("kept2"), [b"d1", b"d1"]),
    ):
        monkeypatch.setitem(library.gopen_schemes, "ais", open_far)
        copies = [x["local_path"] for x in stage(["ais://d1/x.tar", "ais://d2/x.tar"])]
        assert [Path(copy).read_bytes()[512:514] for copy in copies] == expected


def test_strange_local_names_open(place):
    for name in ("a#1.tar", "b?c.tar", "d;e.tar", "ä b.tar"):
        write_tar(place / name, "x")
        assert len(opened(cache.StreamingOpen(), [name])) == 1
        assert len(opened(cache.FileCache("kept"), [name])) == 1


def test_the_oldest_copies_go(place):
    for library in (cache, real_cache):
        for i in range(4):
            (place / "kept" / f"f{i}").write_bytes(bytes(100))
            os.utime(place / "kept" / f"f{i}", (i, i))
        cleaner = library.LRUCleanup("kept", 250, keyfn=os.path.getmtime, interval=None)
        cleaner.cleanup()
        assert sorted(os.listdir("kept")) == ["f2", "f3"]
        library.LRUCleanup("missing", 250).cleanup()


def test_clean_ups_keep_their_distance(place):
    (place / "kept" / "f").write_bytes(bytes(100))
    cleaner = cache.LRUCleanup("kept", 1000, interval=1000)
    cleaner.cleanup()
    cleaner.cache_size = 0
    cleaner.cleanup()
    assert os.listdir("kept") == ["f"]


def test_the_cache_of_a_data_set(place):
    urls = ["pipe:cat a.tar"]
    for library in (ours, real):
        ds = library.WebDataset(urls, shardshuffle=False, cache_dir="kept", cache_size=10**9)
        for _ in range(2):
            (sample,) = ds
            assert sample["txt"] == b"a" and sample["__local_path__"].startswith("kept")
        with pytest.raises(ValueError):  # noqa: PT011
            library.WebDataset(urls, shardshuffle=False, cache_dir="nowhere", cache_size=10**9)


def test_secure_mode_refuses_local_files(place, monkeypatch):
    monkeypatch.setattr(utils, "enforce_security", True)
    for stage in (cache.StreamingOpen(), cache.FileCache("kept")):
        with pytest.raises(ValueError, match="cannot open local files"):
            opened(stage, ["a.tar"])


def test_pipe_cleaner_is_obsolete(monkeypatch):
    commands = ["pipe:cat x", "pipe:curl -sL https://h/x.tar | cat", "gs://b/x"]
    with pytest.raises(utils.ObsoleteException):
        cache.pipe_cleaner(commands[0])
    monkeypatch.setenv("ALLOW_OBSOLETE", "1")
    for command in commands:
        assert cache.pipe_cleaner(command) == real_cache.pipe_cleaner(command)
