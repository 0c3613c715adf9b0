"""Parquet shards: the same rows as pyarrow and datasets read, through every way of reading."""

from __future__ import annotations

import datetime
import decimal
import json
import random
import shutil
import uuid
from pathlib import Path

import datasets
import headrace as hr
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from exactly_once import read_on_two_worlds
from hub_tables import hub_rows, picture, write_repository
from parquet_oracle import check_file
from program import flip, ok, run
from servers.nginx import nginx

DATA = Path(__file__).resolve().parents[1] / "data/parquet"
ROWS = 300


def sometimes(rng: random.Random, value: object) -> object:
    return None if rng.random() < 0.2 else value


def flat_table(rows: int = ROWS) -> pa.Table:
    """Every type that is not nested, with nulls."""
    rng = random.Random(3)
    words = ["river", "stone", "łąka", "数据", "", 'quote"', "tab\t"]

    def column(make, kind, nulls=True):
        return pa.array([sometimes(rng, make(i)) if nulls else make(i) for i in range(rows)], kind)

    day = datetime.datetime(2024, 2, 29, 12, 30, 59, 123456)
    step = datetime.timedelta(days=97, microseconds=1)
    return pa.table(
        {
            "id": column(lambda i: i, pa.int64(), nulls=False),
            "flag": column(lambda i: i % 3 == 0, pa.bool_()),
            "i8": column(lambda i: i % 256 - 128, pa.int8()),
            "u8": column(lambda i: i % 256, pa.uint8()),
            "i32": column(lambda i: -(2**31) + i * 7919, pa.int32()),
            "u32": column(lambda i: 2**32 - 1 - i, pa.uint32()),
            "u64": column(lambda i: 2**64 - 1 - i, pa.uint64()),
            "f16": column(lambda i: np.float16(i / 7), pa.float16()),
            "f32": column(lambda i: [0.1, -1e30, float("nan"), float("inf")][i % 4], pa.float32()),
            "f64": column(lambda i: rng.random() * 10 ** (i % 40 - 20), pa.float64()),
            "text": column(lambda i: rng.choice(words) * (i % 5), pa.string()),
            "bin": column(lambda i: rng.randbytes(i % 60), pa.binary()),
            "large": column(lambda i: f"path/{i // 10:05}/{i}", pa.large_string(), nulls=False),
            "fixed": column(lambda i: rng.randbytes(5), pa.binary(5)),
            "word": column(lambda i: words[i % 7], pa.dictionary(pa.int32(), pa.string())),
            "date": column(lambda i: (day - step * i).date(), pa.date32()),
            "time": column(lambda i: (day + step * i).time(), pa.time64("us")),
            "ms": column(lambda i: 1_700_000_000_000 - i * 10**10, pa.timestamp("ms")),
            "us": column(lambda i: day - step * i, pa.timestamp("us", "UTC")),
            "ns": column(lambda i: i * 10**15 + 7, pa.timestamp("ns")),
            "money": column(lambda i: decimal.Decimal(i - 150).scaleb(-2), pa.decimal128(9, 2)),
            "wide": column(lambda i: decimal.Decimal(-(7**i % 10**60)), pa.decimal256(70)),
            "uuid": column(lambda i: uuid.UUID(int=i << 90).bytes, pa.uuid()),
            "none": pa.nulls(rows),
        }
    )


def nested_table(rows: int = ROWS) -> pa.Table:
    """Lists, structs and maps in each other, with nulls at every depth."""
    rng = random.Random(4)
    point = pa.struct([("x", pa.float32()), ("name", pa.string()), ("raw", pa.binary())])

    def numbers(depth: int) -> object:
        if depth == 0:
            return sometimes(rng, rng.randint(-9, 9))
        return sometimes(rng, [numbers(depth - 1) for _ in range(rng.randint(0, 3))])

    def a_point() -> object:
        values = {"x": rng.random(), "name": 'a"\\\n', "raw": rng.randbytes(3)}
        return sometimes(rng, {name: sometimes(rng, v) for name, v in values.items()})

    def points() -> object:
        return sometimes(rng, [a_point() for _ in range(rng.randint(0, 3))])

    return pa.table(
        {
            "id": pa.array(range(rows)),
            "one": pa.array([numbers(1) for _ in range(rows)], pa.list_(pa.int64())),
            "three": pa.array(
                [numbers(3) for _ in range(rows)], pa.list_(pa.list_(pa.list_(pa.int32())))
            ),
            "point": pa.array([a_point() for _ in range(rows)], point),
            "points": pa.array([points() for _ in range(rows)], pa.list_(point)),
            "pair": pa.array([[i, None] for i in range(rows)], pa.list_(pa.int32(), 2)),
            "deep": pa.array(
                [sometimes(rng, {"a": {"b": points()}}) for _ in range(rows)],
                pa.struct([("a", pa.struct([("b", pa.list_(point))]))]),
            ),
            "map": pa.array(
                [sometimes(rng, [("k", numbers(0)), ("l", 1)]) for _ in range(rows)],
                pa.map_(pa.string(), pa.int64()),
            ),
            "days": pa.array([[datetime.date(2024, 1, 31)]] * rows, pa.list_(pa.date32())),
        }
    )


@pytest.mark.parametrize("page", ["1.0", "2.0"])
@pytest.mark.parametrize("codec", ["none", "snappy", "gzip", "zstd", "lz4", "brotli"])
def test_every_codec_and_page_version_is_read_as_pyarrow_reads_it(codec, page, tmp_path):
    path = tmp_path / f"{codec}.parquet"
    options = {"compression": codec, "data_page_version": page, "write_page_checksum": True}
    pq.write_table(flat_table(), path, row_group_size=120, data_page_size=700, **options)
    assert check_file(path) == ROWS


ENCODINGS = {
    "PLAIN": ["id", "flag", "f32", "text", "fixed", "us"],
    "RLE": ["flag"],
    "DELTA_BINARY_PACKED": ["id", "i8", "i32", "u32", "u64", "us", "date"],
    "DELTA_LENGTH_BYTE_ARRAY": ["text", "bin", "large"],
    "DELTA_BYTE_ARRAY": ["text", "bin", "large", "fixed"],
    "BYTE_STREAM_SPLIT": ["f16", "f32", "f64", "i32", "u64", "fixed"],
}


@pytest.mark.parametrize("page", ["1.0", "2.0"])
@pytest.mark.parametrize("encoding", ENCODINGS)
def test_every_encoding_is_read_as_pyarrow_reads_it(encoding, page, tmp_path):
    path = tmp_path / "set.parquet"
    names = ENCODINGS[encoding]
    pq.write_table(
        flat_table(2000).select(names),
        path,
        use_dictionary=False,
        column_encoding=dict.fromkeys(names, encoding),
        data_page_version=page,
        data_page_size=2000,
    )
    chunk = pq.ParquetFile(path).metadata.row_group(0).column(0)
    assert encoding in chunk.encodings
    assert check_file(path) == 2000


@pytest.mark.parametrize("page", ["1.0", "2.0"])
@pytest.mark.parametrize("compliant", [True, False])
def test_nested_columns_are_json(page, compliant, tmp_path):
    path = tmp_path / "nested.parquet"
    pq.write_table(
        nested_table(),
        path,
        row_group_size=77,
        data_page_size=300,
        data_page_version=page,
        use_compliant_nested_type=compliant,
    )
    assert check_file(path) == ROWS


def test_old_and_odd_writing_is_read(tmp_path):
    table = flat_table()
    variants = {
        "v1": {"version": "1.0"},
        "v24": {"version": "2.4"},
        "int96": {"use_deprecated_int96_timestamps": True},
        "integers": {"store_decimal_as_integer": True},
        "bare": {"store_schema": False},
        "fallback": {"dictionary_pagesize_limit": 300},
        "index": {"write_page_index": True},
    }
    for name, options in variants.items():
        some = table if name in ("v1", "fallback", "index") else table.drop(["f16", "uuid"])
        if name == "int96":
            some = some.drop(["ms", "us", "time"]).select(["id", "ns", "text"])
        if name == "bare":
            some = some.drop(["word", "none"])
        if name in ("v1", "v24"):
            some = some.drop(["ns"])
        pq.write_table(some, tmp_path / f"{name}.parquet", **options)
        assert check_file(tmp_path / f"{name}.parquet") == ROWS


@pytest.mark.parametrize("path", sorted(DATA.glob("ok-*.parquet")), ids=lambda path: path.stem)
def test_files_of_other_writers_are_read(path):
    assert check_file(path) > 0


REFUSED = {
    "encrypted-footer": (2, b"encrypted"),
    "encrypted-column": (2, b"encrypted"),
    "bad-crc": (4, b"CRC-32"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_not_read_says_so(name, tmp_path):
    status, message = REFUSED[name]
    done = run("index", DATA / f"{name}.parquet", "--out", tmp_path / "index")
    assert done.returncode == status
    assert message in done.stderr and f"{name}.parquet".encode() in done.stderr


def test_empty_tables_are_empty_data_sets(tmp_path):
    pq.write_table(flat_table(0), tmp_path / "empty.parquet")
    assert len(hr.open(str(tmp_path / "empty.parquet"))) == 0
    pq.write_table(pa.table({"gone": pa.nulls(5)}), tmp_path / "nulls.parquet")
    ds = hr.open(str(tmp_path / "nulls.parquet"))
    assert [(s.key, s.fields) for s in ds.samples()] == [(f"nulls/{i:08}", []) for i in range(5)]
    pq.write_table(pa.table({}), tmp_path / "nothing.parquet")
    assert len(hr.open(str(tmp_path / "nothing.parquet"))) == 0


def test_columns_that_would_be_one_field_are_refused(tmp_path):
    pq.write_table(pa.table({"A": [1], "a": [2]}), tmp_path / "twice.parquet")
    with pytest.raises(hr.UsageError, match="would become one field"):
        hr.open(str(tmp_path / "twice.parquet"))
    pq.write_table(pa.table({"Label/x": [1]}), tmp_path / "odd.parquet")
    assert hr.open(str(tmp_path / "odd.parquet"))[0].fields == ["label_x"]


def test_a_row_group_that_is_too_large_says_what_to_do(tmp_path):
    large = pa.table({"text": ["x" * (1 << 20)] * 140})
    pq.write_table(large, tmp_path / "large.parquet")
    with pytest.raises(hr.UsageError, match="row group is larger") as caught:
        hr.open(str(tmp_path / "large.parquet"))
    assert "row groups" in caught.value.hint
    pq.write_table(large, tmp_path / "small.parquet", row_group_size=50)
    assert len(bytes(hr.open(str(tmp_path / "small.parquet"))[139]["text"])) == 1 << 20


# --- As the Hub has them -------------------------------------------------------------------------


@pytest.fixture
def hub_folder(tmp_path) -> Path:
    return write_repository(tmp_path / "repository")


def test_pictures_train(hub_folder):
    ds = hr.open(str(hub_folder / "data/train-*.parquet"))
    assert len(ds) == 60
    assert {f for s in ds.samples() for f in s.fields} == {
        "image.jpg",
        "image.png",
        "label",
        "caption",
        "boxes",
    }
    assert "image.jpg" not in ds[5].fields and "image.png" not in ds[5].fields  # null
    with_picture = ds.select(lambda key: not key.endswith("/00000005"))
    loader = (
        with_picture.shuffle(seed=1)
        .decode(
            image=hr.image("image.jpg;image.png").resize((8, 8)),
            label=hr.integer("label"),
            caption=hr.text("caption"),
            boxes=hr.json("boxes"),
        )
        .batch(8, tail="short")
        .loader()
    )
    seen = {}
    for batch in loader:
        assert batch["image"].shape[1:] == (3, 8, 8)
        for row, caption in enumerate(batch["caption"].tolist()):
            number = int(caption.split()[1])
            seen[number] = batch["label"][row], batch["image"][row, 0].mean()
            assert batch["boxes"][row] == [[float(number), 2.0]] * (number % 3)
    assert sorted(seen) == [i for i in range(60) if i % 20 != 5]
    for number, (label, red) in seen.items():
        assert label == number % 2 and abs(red - number * 5 % 256) < 3


def rows_of(location: object) -> dict[str, dict[str, bytes]]:
    return {
        sample.key: {name: bytes(sample[name]) for name in sample.fields}
        for sample in hr.open(str(location)).samples()
    }


def test_every_sample_comes_once_an_epoch(hub_folder, tmp_path):
    read_on_two_worlds(str(hub_folder / "data"), tmp_path / "bare")
    ok("index", hub_folder / "data")
    read_on_two_worlds(str(hub_folder / "data"), tmp_path / "indexed")
    with nginx(hub_folder / "data", tmp_path / "nginx") as server:
        read_on_two_worlds(server.url, tmp_path / "served")
        some = rows_of(f"{server.url}/train-{{00000..00002}}-of-00003.parquet")
        assert some == rows_of(hub_folder / "data/train-*.parquet")


def test_the_index_changes_nothing(hub_folder, tmp_path):
    before = rows_of(hub_folder / "data")
    assert next(iter(before)) == "test-00000-of-00001/00000000" and len(before) == 70
    ok("index", hub_folder / "data")
    assert rows_of(hub_folder / "data") == before
    shutil.copytree(hub_folder / "data", tmp_path / "elsewhere")
    assert rows_of(tmp_path / "elsewhere") == before
    assert json.loads(ok("info", hub_folder / "data", "--json"))["container"] == "parquet"
    key = "train-00001-of-00003/00000007"
    assert ok("cat", hub_folder / "data", key, "caption") == "caption 27 ü".encode()
    assert len(ok("ls", hub_folder / "data").splitlines()) == 70
    lines = ok("ls", hub_folder / "data", "--members").splitlines()
    assert len(lines) == sum(len(fields) for fields in before.values())
    ok("index", hub_folder / "data")  # nothing to do


def test_keys_tell_shards_of_one_name_apart(hub_folder, tmp_path):
    for split in ("train", "test"):
        (tmp_path / "set" / split).mkdir(parents=True)
        source = next((hub_folder / "data").glob(f"{split}*"))
        shutil.copy(source, tmp_path / "set" / split / "0000.parquet")
    keys = list(rows_of(tmp_path / "set"))
    assert len(keys) == 30 and keys[0] == "test/0000/00000000" and keys[-1] == "train/0000/00000019"
    assert list(rows_of(tmp_path / "set/*/0000.parquet")) == keys
    assert next(iter(rows_of(tmp_path / "set/train"))) == "0000/00000000"
    ok("index", tmp_path / "set")
    assert list(rows_of(tmp_path / "set")) == keys
    ok("verify", tmp_path / "set")


def test_verify_names_damage(hub_folder):
    data = hub_folder / "data"
    bare = json.loads(ok("verify", data, "--json"))["findings"]
    assert [f["kind"] for f in bare] == ["unprotected"]
    ok("index", data)
    assert json.loads(ok("verify", data, "--json"))["findings"] == []
    shard = data / "train-00001-of-00003.parquet"
    whole = shard.read_bytes()
    # Within the bytes of a picture, which nothing but a checksum can tell.
    flip(shard, whole.index(picture(22, "JPEG")) + 200)
    report = json.loads(run("verify", data, "--json").stdout)
    assert any("values of a row group" in f["message"] for f in report["findings"])
    with pytest.raises(hr.DataError, match=shard.name):
        rows_of(data)
    shard.write_bytes(whole[:-9])
    done = run("verify", data)
    assert done.returncode == 4 and shard.name.encode() in done.stdout + done.stderr


def test_convert_gives_the_same_samples(hub_folder, tmp_path):
    before = rows_of(hub_folder / "data")
    for kind in ("tar", "zip"):
        out = tmp_path / kind
        ok("convert", hub_folder / "data", "--container", kind, "--out", out, "--quiet")
        assert rows_of(out) == before
        ok("verify", out)
    ok("shuffle", hub_folder / "data", "--out", tmp_path / "mixed", "--seed", "3", "--quiet")
    assert rows_of(tmp_path / "mixed") == before
    ok("merge", hub_folder / "data", tmp_path / "tar", "--rekey", "--out", tmp_path / "both")
    assert len(rows_of(tmp_path / "both")) == 140
    ok("pack", hub_folder / "data/test-00000-of-00001.parquet", "--out", tmp_path / "packed")
    test_rows = {key: fields for key, fields in before.items() if key.startswith("test")}
    assert rows_of(tmp_path / "packed") == test_rows


def test_datasets_reads_the_tar_that_parquet_became(hub_folder, tmp_path):
    rows = hub_rows(6, 40).filter(lambda row: row["image"] is not None and row["label"] == 1)
    (tmp_path / "in").mkdir()
    rows.to_parquet(tmp_path / "in/a.parquet")
    ok("convert", tmp_path / "in", "--out", tmp_path / "tar", "--quiet")
    theirs = datasets.load_dataset(
        "webdataset",
        data_files=[str(p) for p in (tmp_path / "tar").glob("*.tar")],
        split="train",
        streaming=True,
    )
    assert [row["caption"].decode() for row in theirs] == list(rows["caption"])


def test_cp_copies_the_files_and_nothing_writes_parquet(hub_folder, tmp_path):
    ok("index", hub_folder / "data")
    ok("cp", hub_folder / "data", tmp_path / "copy", "--quiet")
    ok("cp", hub_folder / "data", tmp_path / "renamed", "--quiet", "--transform", "s/train/t/")
    for copy in ("copy", "renamed"):
        assert rows_of(tmp_path / copy) == rows_of(hub_folder / "data")
        ok("verify", tmp_path / copy)
    for args in (
        ["convert", hub_folder / "data", "--container", "parquet", "--out", tmp_path / "x"],
        ["pack", hub_folder, "--name", "a-%03d.parquet", "--out", tmp_path / "x"],
        ["shuffle", hub_folder / "data", "--name", "a-%03d.parquet", "--out", tmp_path / "x"],
    ):
        done = run(*args)
        assert done.returncode == 2 and b"Parquet is read, but not written" in done.stderr
    assert not (tmp_path / "x").exists()
