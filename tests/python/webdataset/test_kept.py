"""Samples kept in memory and in LMDB, beside the real stages, and where ours keep more."""

from __future__ import annotations

import json
import pickle

import headrace.webdataset as ours
import pytest
from headrace.webdataset import utils

real = pytest.importorskip("webdataset", reason="webdataset is not installed: NOT TESTED")

SAMPLES = [{"__key__": key, "n": i} for i, key in enumerate("cabac")]


def counted(samples, counter):
    """A first stage that counts how often it is read to its end."""

    def source():
        yield from samples
        counter.append(1)

    return source


# --- In memory -----------------------------------------------------------------------------------


def test_the_first_whole_pass_is_kept():
    for library in (real, ours):
        passes = []
        pipeline = library.DataPipeline(counted(SAMPLES, passes), library.Cached())
        assert [list(pipeline) for _ in range(3)] == [SAMPLES] * 3
        assert len(passes) == 1


def test_a_broken_off_pass_is_not_kept():
    for library in (real, ours):
        passes = []
        pipeline = library.DataPipeline(counted(SAMPLES, passes), library.Cached())
        assert next(iter(pipeline)) == SAMPLES[0]
        assert list(pipeline) == SAMPLES and list(pipeline) == SAMPLES
        assert len(passes) == 1


def test_a_later_stage_does_not_change_what_is_kept():
    def numbers(library):
        pipeline = library.DataPipeline(
            lambda: iter([{"n": 1}]), library.Cached(), library.map_dict(n=lambda n: n + 1)
        )
        return [sample["n"] for _ in range(3) for sample in pipeline]

    assert numbers(ours) == [2, 2, 2]
    assert numbers(real) != [2, 2, 2]  # there each epoch adds to the one before


# --- In LMDB -------------------------------------------------------------------------------------


@pytest.fixture
def lmdb():
    return pytest.importorskip("lmdb", reason="lmdb is not installed: NOT TESTED")


def cached(library, path, samples, passes, **options):
    options.setdefault("map_size", 1 << 20)
    return library.DataPipeline(counted(samples, passes), library.LMDBCached(str(path), **options))


@pytest.mark.parametrize("chunksize", [1, 2, 500])
def test_lmdb_gives_every_sample_in_the_order_it_came(lmdb, tmp_path, chunksize):
    passes = []
    pipeline = cached(ours, tmp_path / "a", SAMPLES, passes, chunksize=chunksize)
    assert [list(pipeline) for _ in range(3)] == [SAMPLES] * 3
    assert len(passes) == 1
    theirs = cached(real, tmp_path / "b", SAMPLES, [])
    assert [len(list(theirs)) for _ in range(2)] == [5, 3]  # repeated keys are dropped there


def test_a_later_process_reads_the_folder(lmdb, tmp_path, run_python):
    assert list(cached(ours, tmp_path / "a", SAMPLES, [])) == SAMPLES
    code = """
    import json, sys
    import headrace.webdataset as wds
    pipeline = wds.DataPipeline(lambda: iter(()), wds.LMDBCached(sys.argv[1], map_size=1 << 20))
    print(json.dumps(list(pipeline)))
    """
    done = run_python(code, tmp_path / "a")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == SAMPLES


@pytest.mark.parametrize(("writer", "reader"), [(ours, real), (real, ours)])
def test_either_reads_the_folder_of_the_other(lmdb, tmp_path, run_python, writer, reader):
    samples = [{"__key__": f"{i:03d}", "n": i} for i in range(7)]
    code = """
    import importlib, json, sys
    wds = importlib.import_module(sys.argv[1])
    samples = json.loads(sys.argv[3])
    stage = wds.LMDBCached(sys.argv[2], map_size=1 << 20)
    print(json.dumps(list(wds.DataPipeline(lambda: iter(samples), stage))))
    """
    run_python(code, writer.__name__, tmp_path / "a", json.dumps(samples))
    done = run_python(code, reader.__name__, tmp_path / "a", "[]")
    assert json.loads(done.stdout) == samples, done.stderr


def test_what_a_broken_off_pass_left_is_forgotten(lmdb, tmp_path):
    pipeline = cached(ours, tmp_path / "a", SAMPLES, [], chunksize=2)
    iterator = iter(pipeline)
    assert [next(iterator) for _ in range(4)] == SAMPLES[:4]
    iterator.close()
    shorter = cached(ours, tmp_path / "a", SAMPLES[:2], [], chunksize=2)
    pipeline.stage(1).db.close()
    assert [list(shorter), list(shorter)] == [SAMPLES[:2]] * 2


def test_ranks_and_workers_keep_folders_of_their_own(lmdb, tmp_path, monkeypatch):
    stage = ours.LMDBCached(str(tmp_path / "a"), map_size=1 << 20)
    monkeypatch.setenv("WORLD_SIZE", "2")
    for rank in (0, 1, 0, 1):
        monkeypatch.setenv("RANK", str(rank))
        assert list(stage.run(iter([rank]))) == [rank]
    assert len(list((tmp_path / "a").iterdir())) == 2


def test_the_stage_can_be_pickled_in_use(lmdb, tmp_path):
    stage = ours.LMDBCached(str(tmp_path / "a"), map_size=1 << 20)
    assert list(stage.run(iter(SAMPLES))) == SAMPLES
    stage.db.close()
    assert list(pickle.loads(pickle.dumps(stage)).run(iter(()))) == SAMPLES


def test_secure_mode_refuses_what_unpickles(lmdb, tmp_path, monkeypatch):
    monkeypatch.setattr(utils, "enforce_security", True)
    with pytest.raises(ValueError, match="Unpickling"):
        list(ours.LMDBCached(str(tmp_path / "a")).run(iter(SAMPLES)))


# --- Small data sets -----------------------------------------------------------------------------


def test_mock_data_gives_one_object_many_times():
    sample = {"a": 1}
    for library in (real, ours):
        items = list(library.MockDataset(sample, 3))
        assert len(items) == 3 and all(item is sample for item in items)


def test_with_length_and_with_epoch_can_be_built():
    assert len(ours.with_length([1, 2, 3], 7)) == 7 and list(ours.with_length([1, 2], 7)) == [1, 2]
    epochs = ours.with_epoch([1, 2, 3], 2)
    assert [list(epochs) for _ in range(3)] == [[1, 2], [3, 1], [2, 3]]
    assert list(ours.extradatasets.repeatedly([1, 2], nepochs=2)) == [1, 2, 1, 2]
    with pytest.raises(TypeError):
        real.with_epoch([1], 2)
