"""The original's behaviour on request: of all pipelines by the environment, of one by a method."""

from __future__ import annotations

import pickle
from pathlib import Path

import headrace.webdataset as ours
import pytest
from headrace.webdataset import utils
from small_archives import archive, numbered, write

real = pytest.importorskip("webdataset", reason="webdataset is not installed: NOT TESTED")

pytestmark = pytest.mark.filterwarnings("ignore")


@pytest.fixture(params=["environment", "method"])
def strict(request, monkeypatch):
    """Makes a data set of ours strict."""
    if request.param == "method":
        return lambda dataset: dataset.strict_compat()
    monkeypatch.setenv("HEADRACE_WDS_STRICT", "1")
    return lambda dataset: dataset


def dataset(library, urls, **options):
    return library.WebDataset(urls, **{"shardshuffle": False, **options})


def outcome(pipeline):
    items = []
    try:
        items.extend(pipeline)
    except Exception as error:
        items.append(type(error))
    return items


def opened_as_file(url, *_, **__):
    return Path(url.removeprefix("http:")).open("rb")


@pytest.fixture
def shards(tmp_path):
    return [write(tmp_path / f"{i}.tar", [(f"{i}.txt", b"%d" % i)]) for i in range(9)]


def both(strict, make):
    """What the real one and our strict one give, and what ours gives otherwise."""
    return outcome(make(real)), outcome(strict(make(ours)))


def test_a_shard_that_ends_early_is_a_shorter_one(strict, tmp_path):
    path = tmp_path / "cut.tar"
    path.write_bytes(archive([(f"{c}.txt", b"1") for c in "abcd"])[:2048])
    theirs, mine = both(strict, lambda library: dataset(library, str(path)))
    assert mine == theirs and len(mine) == 2


def test_shards_come_in_one_order_in_all_epochs(strict, shards):
    mine = strict(dataset(ours, shards, shardshuffle=9, seed=4))
    epochs = [[s["__key__"] for s in mine] for _ in range(3)]
    assert epochs[0] == epochs[1] == epochs[2]
    assert epochs[0] == [s["__key__"] for s in dataset(real, shards, shardshuffle=9, seed=4)]


def test_copies_of_one_name_are_one_copy(strict, tmp_path, monkeypatch):
    for folder, text in (("d1", b"1"), ("d2", b"2")):
        (tmp_path / folder).mkdir()
        write(tmp_path / folder / "x.tar", [("a.txt", text)])
    for library in (real, ours):
        monkeypatch.setitem(library.gopen_schemes, "http", opened_as_file)

    def fields(library, prepare):
        kept = tmp_path / library.__name__
        kept.mkdir(exist_ok=True)
        urls = [f"http:{tmp_path}/{folder}/x.tar" for folder in ("d1", "d2")]
        data = dataset(library, urls, cache_dir=str(kept), cache_size=10**9)
        return [sample["txt"] for sample in prepare(data)]

    assert fields(ours, strict) == fields(real, lambda data: data) == [b"1", b"1"]


def test_methods_change_the_object_itself(strict, shards):
    mine = strict(dataset(ours, shards))
    assert mine.with_epoch(3) is mine and len(list(mine)) == 3
    assert mine.with_length(7, silent=True) is mine and len(mine) == 7
    assert mine.repeat(2) is mine
    assert dataset(ours, shards).is_strict is False


def test_repeat_once_and_listed_ignore_their_arguments(strict, shards):
    for change in (
        lambda data: data.repeat(1, 2),
        lambda data: data.listed(4, partial=False),
    ):
        theirs, mine = outcome(change(dataset(real, shards))), change(strict(dataset(ours, shards)))
        assert [len(each) for each in mine] == [len(each) for each in theirs]
        assert len(outcome(change(strict(dataset(ours, shards))))) == len(theirs)


def test_a_command_may_fail_behind_its_last_sample(strict, tmp_path):
    """In time: the real one is now and then quick enough to see it."""
    (shard,) = numbered(tmp_path, 1, 30)
    theirs, mine = both(strict, lambda w: dataset(w, f"pipe:cat {shard}; sleep 0.3; exit 3"))
    assert mine == theirs and len(mine) == 30


def test_local_names_are_urls(strict, tmp_path):
    url = write(tmp_path / "a#b.tar", [("a.txt", b"1")])
    theirs, mine = both(strict, lambda library: dataset(library, url))
    assert mine == theirs == [FileNotFoundError]


def test_security_stops_at_local_files(strict, shards, monkeypatch):
    monkeypatch.setattr(utils, "enforce_security", True)
    assert outcome(dataset(ours, shards)) == [ValueError] or utils.strict_compat()
    assert len(outcome(strict(dataset(ours, shards)))) == 9


def test_the_variable_of_the_cache_does_nothing(strict, shards, tmp_path, monkeypatch):
    (tmp_path / "kept").mkdir()
    monkeypatch.setenv("WDS_CACHE", str(tmp_path / "kept"))
    assert len(outcome(strict(dataset(ours, f"pipe:cat {shards[0]}")))) == 1
    assert not list((tmp_path / "kept").iterdir())


def test_a_list_in_a_file_may_name_commands(strict, shards, monkeypatch):
    monkeypatch.setenv("ALLOW_OBSOLETE", "1")
    spec = {"datasets": [{"name": "a", "shards": [f"pipe:cat {shards[2]}"]}]}
    if not utils.strict_compat():
        assert outcome(dataset(ours, spec)) == [ValueError]
    assert len(outcome(strict(dataset(ours, spec)))) == 1


def test_kept_samples_are_changed_by_later_stages(strict, shards):
    def numbers(data):
        data = data.map_dict(txt=int).mcached().map_dict(txt=lambda n: n + 10)
        return [[s["txt"] for s in data] for _ in range(2)]

    assert numbers(strict(dataset(ours, shards[1:2]))) == numbers(dataset(real, shards[1:2]))


def test_one_pipeline_is_strict_and_its_neighbour_is_not(tmp_path, shards):
    path = tmp_path / "cut.tar"
    path.write_bytes(archive([(f"{c}.txt", b"1") for c in "abcd"])[:2048])
    plain = dataset(ours, str(path))
    strict_one = plain.strict_compat()
    assert strict_one is not plain and strict_one.shuffle(3).is_strict
    mine, other = iter(strict_one), iter(plain)
    assert [next(mine)["__key__"], next(other)["__key__"]] == ["a", "a"]
    assert not utils.strict_compat(), "only while it makes its items"
    assert len(list(mine)) == 1
    with pytest.raises(Exception, match="end"):
        list(other)


def test_it_goes_to_workers_and_through_pickle(tmp_path):
    path = tmp_path / "cut.tar"
    path.write_bytes(archive([(f"{c}.txt", b"1") for c in "abcd"])[:2048])
    data = dataset(ours, str(path)).strict_compat().with_length(5, silent=True)
    assert len(list(pickle.loads(pickle.dumps(data)))) == 2
    pytest.importorskip("torch", reason="torch is not installed: NOT TESTED")
    assert len(list(ours.WebLoader(data, batch_size=None, num_workers=1))) == 2
