"""Reading shards: the same samples as the real package gives, and what it silently loses."""

from __future__ import annotations

import bz2
import gzip
import lzma
import os
import random
import subprocess
import sys
import tarfile

import headrace.webdataset as ours
import pytest
from small_archives import archive, numbered, write

real = pytest.importorskip("webdataset", reason="webdataset is not installed: NOT TESTED")

pytestmark = pytest.mark.filterwarnings("ignore")

TWO = [("a.txt", b"1"), ("a.cls", b"2"), ("b.txt", b"3" * 2000), ("b.cls", b"4")]


def samples(library, urls, **options):
    """The samples, and the kind of error that ended them."""
    found = []
    options = {
        name: getattr(library, value) if isinstance(value, str) and name == "handler" else value
        for name, value in options.items()
    }
    try:
        for sample in library.WebDataset(urls, shardshuffle=False, **options):
            found.append(sample)
    except Exception as error:
        return found, type(error)
    return found, None


def keys(library, urls, **options):
    found, error = samples(library, urls, **options)
    return [sample["__key__"] for sample in found], error


def test_names_of_members_become_keys_and_fields_as_in_the_real_one(tmp_path):
    # fmt: off
    names = [
        "a.seg.jpg", "d.v1/a.jpg", "./x/y.JPG", "Track.2.0", "foo.", "b..jpg", ".hid.txt",
        ".jpg", "..a", "d/.hid.txt", "d/._a.jpg", "e", "d.x/f", "__m__/a.txt", "__m__",
        "q/__m__.txt", "__i__.txt", "Ä.ÄX", "n/a.b/c.d.e",
    ]
    # fmt: on
    url = write(tmp_path / "x.tar", [(name, name.encode()) for name in names])
    theirs, mine = samples(real, url), samples(ours, url)
    assert mine == theirs
    assert list(map(list, mine[0])) == list(map(list, theirs[0]))  # the order of fields too


@pytest.mark.parametrize(
    ("name", "pack"),
    [
        ("x.tar", bytes),
        ("x.tar.gz", gzip.compress),
        ("x.tar.bz2", bz2.compress),
        ("x.tar.xz", lzma.compress),
    ],
)
@pytest.mark.parametrize("form", ["{}", "file:{}", "pipe:cat {}"])
def test_packed_shards_and_streams_give_the_same_samples(tmp_path, name, pack, form):
    path = tmp_path / name
    path.write_bytes(pack(archive([(f"{i:03d}.bin", bytes([i]) * i * 999) for i in range(99)])))
    url = form.format(path)
    found, error = samples(ours, url)
    assert len(found) == 99
    assert (found, error) == samples(real, url)


@pytest.mark.parametrize("handler", ["reraise_exception", "ignore_and_continue", "ignore_and_stop"])
@pytest.mark.parametrize("cut", [100, 1536, 1636, 4560])
def test_a_shard_cut_in_its_data_is_treated_as_the_handler_says(tmp_path, cut, handler):
    (tmp_path / "cut.tar").write_bytes(archive(TWO)[:cut])
    urls = [str(tmp_path / "cut.tar"), write(tmp_path / "next.tar", [("z.txt", b"9")])]
    theirs, mine = samples(real, urls, handler=handler), samples(ours, urls, handler=handler)
    if handler == "ignore_and_stop":
        # The real one goes on with the next shard where the cut is behind a header.
        assert "z" not in [sample["__key__"] for sample in mine[0]]
    else:
        assert mine == theirs


@pytest.mark.parametrize("cut", [2048, 2048 + 100, 3072])
def test_a_shard_that_ends_early_is_an_error_also_at_a_member(tmp_path, cut, monkeypatch):
    path = tmp_path / "cut.tar"
    path.write_bytes(archive([(f"{c}.txt", b"1") for c in "abcd"])[:cut])
    assert samples(real, str(path))[1] is None
    assert samples(ours, str(path))[1] is tarfile.ReadError
    monkeypatch.setenv("HEADRACE_WDS_STRICT", "1")
    assert samples(ours, str(path)) == samples(real, str(path))


def test_a_repeated_field_is_an_error_that_a_handler_may_pass(tmp_path):
    url = write(tmp_path / "x.tar", [("x.txt", b"1"), ("x.TXT", b"2"), ("y.txt", b"3")])
    for handler in ("reraise_exception", "ignore_and_continue", "ignore_and_stop"):
        assert samples(ours, url, handler=handler) == samples(real, url, handler=handler)


def test_members_are_renamed_and_then_selected(tmp_path):
    url = write(tmp_path / "x.tar", [*TWO, ("c.cls", b"5")])
    options = {
        "rename_files": lambda name: name.replace(".txt", ".text"),
        "select_files": lambda name: "text" in name,
    }
    assert samples(ours, url, **options) == samples(real, url, **options)
    assert samples(ours, url, **options)[0][0]["text"] == b"1"


def test_the_stages_of_reading_work_one_by_one_too(tmp_path):
    url = write(tmp_path / "x.tar", TWO)

    def grouped(library):
        t = library.tariterators
        files = t.tar_file_expander(t.url_opener(iter([{"url": url}])))
        return list(t.group_by_keys(files, suffixes={"txt"}))

    assert grouped(ours) == grouped(real)
    assert list(ours.tarfile_samples(iter([{"url": url}]))) == list(
        real.tarfile_samples(iter([{"url": url}]))
    )


@pytest.mark.parametrize("name", ["a#b.tar", "a?b.tar", "a;b.tar", "a%20b.tar"])
def test_file_names_are_no_urls(tmp_path, name):
    url = write(tmp_path / name, TWO)
    assert keys(ours, url) == (["a", "b"], None)


@pytest.mark.parametrize(
    "url", ["/nowhere/x.tar", "unknown:x", "pipe:exit 3", "pipe:cat {}; exit 3"]
)
def test_what_cannot_be_opened_or_fails_is_an_error(tmp_path, url):
    url = url.format(write(tmp_path / "x.tar", TWO))
    _, error = keys(ours, url)
    assert error is not None and issubclass(error, OSError | ValueError)


def test_a_stop_handler_stops(tmp_path):
    good = write(tmp_path / "x.tar", TWO)
    urls = ["/nowhere/x.tar", good]
    assert keys(ours, urls, handler="ignore_and_stop", empty_check=False) == ([], None)
    assert keys(ours, urls, handler="ignore_and_continue") == (["a", "b"], None)


def test_the_shuffle_draws_as_the_real_one_does():
    for size, initial in ((1, 1), (5, 3), (100, 100), (0, 0), (7, 30)):
        for count in (0, 1, 3, 50):
            for options in ({"seed": 4}, {"rng": None}):
                chosen = [
                    list(
                        library.filters._shuffle(
                            iter(range(count)),
                            size,
                            initial,
                            **{
                                k: random.Random(9) if k == "rng" else v for k, v in options.items()
                            },
                        )
                    )
                    for library in (real, ours)
                ]
                assert chosen[0] == chosen[1]


def test_detshuffle_goes_from_epoch_to_epoch_as_the_real_one_does():
    stages = [library.detshuffle(10, initial=5, seed=3) for library in (real, ours)]
    for _ in range(3):
        first, second = (list(stage.run(iter(range(40)))) for stage in stages)
        assert first == second
    assert stages[1].epoch == 2


def test_the_order_of_shards_differs_from_epoch_to_epoch_and_begins_as_before(tmp_path):
    urls = numbered(tmp_path, shards=12, samples=1)
    theirs = real.WebDataset(urls, shardshuffle=12, seed=5)
    mine = ours.WebDataset(urls, shardshuffle=12, seed=5)
    first = [sample["__key__"] for sample in theirs]
    assert [sample["__key__"] for sample in mine] == first
    later = [tuple(sample["__key__"] for sample in mine) for _ in range(4)]
    assert len({tuple(first), *later}) == 5
    assert all(sorted(order) == sorted(first) for order in later)
    assert [s["__key__"] for s in mine.map(lambda s: s)] == first  # a pipeline of its own


@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_the_order_of_shards_differs_in_workers_too(tmp_path, method):
    torch = pytest.importorskip("torch")
    torch.manual_seed(1)
    urls = numbered(tmp_path, shards=12, samples=1)
    data = ours.WebDataset(urls, shardshuffle=12, seed=5).to_tuple("__key__")
    loader = torch.utils.data.DataLoader(
        data, batch_size=None, num_workers=1, multiprocessing_context=method
    )
    epochs = [tuple(key for (key,) in loader) for _ in range(2 if method == "spawn" else 3)]
    assert len(set(epochs)) == len(epochs)
    if method == "fork":
        assert epochs[0] == tuple(
            s["__key__"] for s in real.WebDataset(urls, shardshuffle=12, seed=5)
        )


def test_stages_leave_the_data_set_as_it_is(tmp_path):
    data = ours.WebDataset(numbered(tmp_path, 1, 10), shardshuffle=False)
    longer = data.with_epoch(25)
    assert [len(list(data)), len(list(longer)), len(list(data.repeat(2)))] == [10, 25, 20]
    assert len(data.with_length(7, silent=True)) == 7
    with pytest.raises(TypeError):
        len(data)


def test_security_refuses_files_pipes_and_pickles(tmp_path, monkeypatch):
    url = write(tmp_path / "x.tar", [("a.pyd", b"\x80\x04K\x05.")])
    (sample,) = ours.WebDataset(url, shardshuffle=False).decode()
    assert sample["pyd"] == 5
    monkeypatch.setattr(ours.utils, "enforce_security", True)
    assert keys(ours, url)[1] is ValueError
    assert keys(ours, f"pipe:cat {url}")[1] is ValueError
    with pytest.raises(ValueError, match="Unpickling is not allowed"):
        ours.autodecode.unpickle_loads(b"\x80\x04N.")
    with pytest.raises(ValueError, match="Unpickling is not allowed"):
        list(ours.xdecode()(iter([{"a.pyd": b"\x80\x04N."}])))


def test_pickles_are_warned_of_once_and_the_warning_says_how_to_refuse_them(tmp_path):
    url = write(tmp_path / "x.tar", [(f"{c}.pyd", b"\x80\x04K\x05.") for c in "abc"])
    script = f"""
import warnings, headrace.webdataset as wds
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    for _ in range(2):
        list(wds.WebDataset({url!r}, shardshuffle=False).decode())
print([str(each.message) for each in caught])
"""
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, timeout=60
    )
    assert done.stdout.count("is unpickled") == 1, done.stderr
    assert "enforce_security" in done.stdout
    secure = {**os.environ, "WDS_SECURE": "1"}
    done = subprocess.run(
        [sys.executable, "-c", script], env=secure, capture_output=True, text=True, timeout=60
    )
    assert "ValueError" in done.stderr


def test_a_description_in_a_file_runs_no_command(tmp_path, monkeypatch):
    monkeypatch.setenv("ALLOW_OBSOLETE", "1")
    spec = {"datasets": [{"name": "x", "shards": ["pipe:touch " + str(tmp_path / "ran")]}]}
    with pytest.raises(ValueError, match="commands"):
        list(ours.WebDataset(spec, shardshuffle=False))
    assert not (tmp_path / "ran").exists()


def test_an_idle_import_loads_neither_numpy_nor_torch():
    code = "import sys, headrace.webdataset; print({'numpy', 'torch', 'PIL'} & set(sys.modules))"
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert out.stdout.strip() == "set()"


def test_a_command_that_fails_half_way_is_an_error_behind_what_it_gave(tmp_path):
    url = write(tmp_path / "x.tar", TWO)
    urls = [f"pipe:head -c 1536 {url}; exit 3", url]
    assert keys(ours, urls) == ([], OSError)
    assert keys(ours, urls, handler="ignore_and_continue") == (["a", "a", "b"], None)
    assert keys(ours, urls, handler="ignore_and_stop") == (["a"], None)


def test_a_stream_that_does_not_close_is_left_once(tmp_path):
    class Stuck:
        def __init__(self, url, *options):
            self.file = open(url.removeprefix("stuck:"), "rb")  # noqa: SIM115
            self.read = self.file.read

        def close(self):
            raise OSError("cannot close")

    ours.gopen_schemes["stuck"] = Stuck
    try:
        urls = ["stuck:" + write(tmp_path / "x.tar", TWO)] * 2
        assert keys(ours, urls, handler="ignore_and_continue") == (["a", "b"] * 2, None)
        assert keys(ours, urls) == (["a", "b"], OSError)
    finally:
        del ours.gopen_schemes["stuck"]


def test_a_folder_is_read_until_it_is_empty(tmp_path):
    folder = tmp_path / "shards"
    folder.mkdir()
    numbered(folder, shards=3, samples=2)
    shards = ours.shardlists.DirectoryShardList(f"{folder}/", mode="keep", poll=None)
    found = [sample["__key__"] for sample in ours.DataPipeline(shards, ours.tarfile_to_samples())]
    assert sorted(found) == [f"{i:04d}" for i in range(6)]
    assert len(list(folder.glob("*._done_"))) == 3


def test_the_cache_of_the_environment_is_used(tmp_path, monkeypatch):
    url = "pipe:cat " + write(tmp_path / "x.tar", TWO)
    cache = tmp_path / "cache"
    monkeypatch.setenv("WDS_CACHE", str(cache))
    assert samples(ours, url)[1] is ValueError  # it must be there
    cache.mkdir()
    (first, _), _ = samples(ours, url)
    assert first["__local_path__"].startswith(str(cache)) and len(list(cache.iterdir())) == 1
    (first, _), _ = samples(ours, url, url_to_name=lambda url: f"own-{len(url)}")
    assert first["__local_path__"] == str(cache / f"own-{len(url)}")


def test_the_seed_of_the_environment_works_with_detshuffle(tmp_path, monkeypatch):
    urls = numbered(tmp_path, shards=12, samples=1)
    monkeypatch.setenv("WDS_SEED", "5")
    by_environment = ours.WebDataset(urls, shardshuffle=12, detshuffle=True)
    by_argument = real.WebDataset(urls, shardshuffle=12, detshuffle=True, seed=5)
    for _ in range(2):
        first, second = ([s["__key__"] for s in data] for data in (by_environment, by_argument))
        assert first == second


def test_limits_are_kept_that_the_real_one_ignores(tmp_path):
    data = ours.WebDataset(numbered(tmp_path, 1, 10), shardshuffle=False)
    assert len(list(data.repeat(1, 3))) == 3
    assert [len(each) for each in data.listed(4, partial=False)] == [4, 4]
