"""Random access: by number, by key, slices, loose files, threads, pickling."""

from __future__ import annotations

import pickle
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import headrace as hr
import pytest
from program import ok


def test_a_data_set_tells_what_it_is(shards):
    folder = shards(100, 3)
    ds = hr.open(folder)
    assert len(ds) == 100
    assert sorted(ds.fields) == ["bin", "cls", "json", "txt"]
    assert ds.classes == []
    assert len(ds.fingerprint) == 64
    assert [Path(name).name for name in ds.shards] == [f"part-{i:03d}.tar" for i in range(3)]
    assert "100 samples" in repr(ds)


def test_samples_come_by_number_from_both_ends(shards):
    ds = hr.open(shards(100, 3))
    assert ds[0].key == "s00000"
    assert ds[99].key == "s00099"
    assert ds[-1].key == "s00099"
    assert ds[-100].key == "s00000"
    for outside in (100, -101):
        with pytest.raises(IndexError):
            ds[outside]


def test_a_sample_is_like_a_dict_of_bytes(shards):
    sample = hr.open(shards(50))[17]
    assert sample.fields == ["cls", "txt", "json", "bin"] == list(sample) == sample.keys()
    assert sample["cls"] == b"17"
    assert sample["txt"].decode() == "sample 17 äöü"
    assert dict(sample.items()) == {name: sample[name] for name in sample}
    assert sample.values()[0] == b"17"
    assert "cls" in sample
    assert "jpg" not in sample
    assert 3 not in sample
    assert sample.get("jpg") is None
    assert sample.get("jpg", b"-") == b"-"
    assert len(sample) == 4
    assert "s00017" in repr(sample)
    with pytest.raises(KeyError, match="jpg"):
        sample["jpg"]


def test_a_sample_says_where_it_came_from(shards):
    folder = shards(50)
    sample = hr.open(folder)[17]
    shard, member, offset = sample.origin
    assert Path(shard).parent == folder
    assert member.startswith("s00017")
    assert offset is not None
    with open(shard, "rb") as file:
        file.seek(offset)
        assert file.read(10) == b"s00017.cls"


def test_samples_come_by_key(shards):
    ds = hr.open(shards(50))
    assert ds["s00031"]["cls"] == b"31"
    assert "s00031" in ds
    assert "s99999" not in ds
    with pytest.raises(KeyError):
        ds["s99999"]
    with pytest.raises(hr.NotFoundError, match="s99999"):
        ds["s99999"]


def test_names_that_are_not_utf8_are_surrogate_escapes_both_ways(tmp_path):
    for name in ("plain.txt", "caf\udce9.txt", "caf\udce9.n\udce9e"):
        (tmp_path / name).write_text(name[:3])
    ds = hr.open(tmp_path)
    keys = [sample.key for sample in ds]
    assert sorted(keys) == ["caf\udce9", "plain"]
    assert all(key in ds and ds[key].key == key for key in keys)
    assert "caf\udcea" not in ds
    sample = ds["caf\udce9"]
    assert [sample[field] for field in sample] == [b"caf", b"caf"]
    assert "n\udce9e" in sample
    with pytest.raises(KeyError, match="no field"):
        sample["n\udceae"]


def test_a_key_that_several_samples_have_is_not_guessed(shards):
    first, second = shards(5, 1, "a"), shards(5, 1, "b")
    ds = hr.open([*first.iterdir(), *second.iterdir()])
    assert len(ds) == 10
    with pytest.raises(hr.UsageError, match="2 samples"):
        ds["s00003"]
    assert [sample["cls"] for sample in ds.find("s00003")] == [b"3", b"3"]


def test_a_slice_is_a_light_view(shards):
    ds = hr.open(shards(100))
    view = ds[10:90:7]
    assert len(view) == len(range(10, 90, 7))
    assert [s["cls"] for s in view] == [b"%d" % i for i in range(10, 90, 7)]
    assert view[2]["cls"] == b"24"
    assert [s["cls"] for s in view[1:3]] == [b"17", b"24"]
    assert [s["cls"] for s in ds[30:35]] == [b"%d" % i for i in range(30, 35)]
    assert [s["cls"] for s in ds[::-1]][:2] == [b"99", b"98"]
    assert list(ds[5:5]) == []


@pytest.mark.parametrize("count", [0, 1, 2, 100, 3000])
def test_plain_iteration_gives_every_sample_in_manifest_order(shards, count):
    ds = hr.open(shards(count, 5)) if count else hr.open(shards(0, 1))
    assert [int(s["cls"]) for s in ds.samples()] == list(range(count))
    assert [s.key for s in ds] == [f"s{i:05d}" for i in range(count)]


def test_samples_stay_valid_after_their_iterator_moved_on(shards):
    ds = hr.open(shards(3000, 5))
    kept = list(ds.samples())
    for number, sample in enumerate(kept):
        assert sample["cls"] == b"%d" % number
        assert sample["bin"] == bytes([number % 251]) * (number % 40)


def test_samples_larger_than_a_span_come_whole(tmp_path, make_tar):
    big = bytes(range(256)) * 20_000  # 5 MB
    make_tar(tmp_path / "big.tar", [(f"k{i}", {"bin": big[i:]}) for i in range(4)])
    got = [(s.key, s["bin"]) for s in hr.open(tmp_path / "big.tar")]
    assert got == [(f"k{i}", big[i:]) for i in range(4)]


def test_loose_files_open_as_a_data_set(tmp_path):
    (tmp_path / "cats").mkdir()
    for i in range(5):
        (tmp_path / "cats" / f"{i}.txt").write_text(f"cat {i}")
        (tmp_path / "cats" / f"{i}.cls").write_text("1")
    ds = hr.open(tmp_path)
    assert len(ds) == 5
    assert ds["cats/3"]["txt"] == b"cat 3"
    assert [s["txt"] for s in ds.samples()] == [b"cat %d" % i for i in range(5)]


def test_a_regex_gives_keys_and_fields(tmp_path):
    (tmp_path / "tiger_desc_es.ogg").write_bytes(b"sound")
    (tmp_path / "tiger.png").write_bytes(b"picture")
    ds = hr.open(tmp_path, key=r"(?<key>[^_.]+)[_.](?<field>.+)")
    assert [(s.key, sorted(s.fields)) for s in ds] == [("tiger", ["desc_es.ogg", "png"])]


def test_the_memory_cache_does_not_read_again(shards):
    folder = shards(100, 2)
    ds = hr.open(folder, cache="memory")
    before = [dict(s.items()) for s in ds]
    for shard in folder.iterdir():
        shard.unlink()
    assert [dict(s.items()) for s in ds] == before
    assert ds[50]["cls"] == b"50"


def test_any_number_of_threads_may_read(shards):
    ds = hr.open(shards(500, 4))
    numbers = [i * 7919 % 500 for i in range(4000)]
    with ThreadPoolExecutor(8) as pool:
        got = list(pool.map(lambda i: int(ds[i]["cls"]), numbers))
    assert got == numbers


def test_threads_may_share_one_iterator(shards):
    samples = hr.open(shards(2000, 4)).samples()
    with ThreadPoolExecutor(4) as pool:
        parts = list(pool.map(lambda _: [int(s["cls"]) for s in samples], range(4)))
    assert sorted(number for part in parts for number in part) == list(range(2000))


def test_a_data_set_pickles_as_where_it_lies(shards):
    folder = shards(20, 2)
    ds = hr.open(folder)
    again = pickle.loads(pickle.dumps(ds))
    assert again.fingerprint == ds.fingerprint
    assert again[3]["cls"] == b"3"
    (folder / "part-000.tar").unlink()
    with pytest.raises(hr.ChangedError):
        pickle.loads(pickle.dumps(ds))


def test_a_sample_pickles_with_its_bytes(shards):
    for sample in (hr.open(shards(20))[7], next(iter(hr.open(shards(20, 2, "b"))))):
        again = pickle.loads(pickle.dumps(sample))
        assert again.key == sample.key
        assert again.items() == sample.items()
        assert again.origin == sample.origin


def test_nothing_there_is_a_file_not_found_error(tmp_path):
    with pytest.raises(FileNotFoundError) as caught:
        hr.open(tmp_path / "nowhere")
    assert isinstance(caught.value, hr.NotFoundError)
    assert caught.value.code == "not_found"
    assert caught.value.hint


@pytest.mark.parametrize("location", [3, None, b"set", 2.5])
def test_what_is_no_location_is_a_type_error(location):
    with pytest.raises(TypeError, match="location is a str, a path or a list of them"):
        hr.open(location)


def look_up(folder):
    ds = hr.open(folder)
    return ds[ds[0].key]


def test_a_missing_table_is_named_with_what_to_do(packed):
    for name in ("shards", "index", "keys"):
        (table,) = (packed / "_headrace").glob(f"{name}-*.bin")
        kept = table.read_bytes()
        table.unlink()
        with pytest.raises(hr.NotFoundError, match="table that the manifest names") as caught:
            look_up(packed)
        assert caught.value.shard == str(table)
        assert "headrace index --replace" in str(caught.value.hint)
        table.write_bytes(kept)
    (packed / "_headrace" / table.name).unlink()
    ok("index", packed, "--replace", "--quiet")  # it does help
    assert len(hr.open(packed)) == 60


def test_a_truncated_shard_is_an_error_with_its_name(shards):
    folder = shards(50, 2)
    path = folder / "part-001.tar"
    path.write_bytes(path.read_bytes()[:3000])
    with pytest.raises(hr.DataError) as caught:
        list(hr.open(folder))
    assert caught.value.shard == str(path)
    assert caught.value.code == "corrupt"
    assert str(path) in str(caught.value)


def test_errors_pickle_with_their_parts():
    error = hr.DataError("bad", origin=hr.Origin("a.tar", "k.jpg", 512), hint="Copy it again.")
    again = pickle.loads(pickle.dumps(error))
    assert type(again) is hr.DataError
    assert (
        str(again) == str(error) == ("bad (shard a.tar, member k.jpg, at byte 512). Copy it again.")
    )
    assert (again.shard, again.member, again.offset) == ("a.tar", "k.jpg", 512)


def test_options_that_make_no_sense_are_refused(shards):
    folder = shards(5)
    with pytest.raises(ValueError, match="cache"):
        hr.open(folder, cache=3)  # type: ignore[arg-type]
    with pytest.raises(hr.UsageError, match="location"):
        hr.open([])
