"""The peers' own readers agree with our shards byte for byte, and we read shards of theirs."""

from __future__ import annotations

import io
import os
import subprocess
import sys
import tarfile
from pathlib import Path

import headrace as hr
import pytest

PROGRAM = Path(sys.executable).with_name("headrace")


@pytest.fixture
def program():
    """The command line program of the same environment."""
    path = Path(os.environ.get("HEADRACE_PROGRAM", PROGRAM))
    if not path.exists():
        pytest.skip(f"no program at {path}: NOT TESTED")
    return path


@pytest.fixture
def packed(program, tmp_path):
    """(what was packed, the shards): 200 samples of three fields, some of them empty."""
    source = tmp_path / "source"
    contents: dict[str, dict[str, bytes]] = {}
    for i in range(200):
        key = f"class{i % 5}/item{i:04d}"
        fields = {
            "jpg": os.urandom(1000 + i),
            "cls": str(i % 5).encode(),
            "txt": b"" if i % 7 == 0 else f"caption {i} ü".encode(),
        }
        (source / key).parent.mkdir(parents=True, exist_ok=True)
        for field, data in fields.items():
            (source / f"{key}.{field}").write_bytes(data)
        contents[key] = fields
    out = tmp_path / "packed"
    subprocess.run([program, "pack", source, "--out", out, "--samples", "60"], check=True)
    shards = sorted(map(str, out.glob("*.tar")))
    assert len(shards) == 4
    return contents, shards


def test_we_read_what_we_packed(packed):
    contents, shards = packed
    ds = hr.open(Path(shards[0]).parent)
    assert {s.key: dict(s.items()) for s in ds} == contents
    assert {s.key: dict(s.items()) for s in hr.open(shards)} == contents


def test_tarfile_reads_our_shards(packed):
    contents, shards = packed
    got: dict[str, dict[str, bytes]] = {}
    for shard in shards:
        with tarfile.open(shard) as archive:
            for member in archive:
                key, field = member.name.rsplit(".", 1)
                data = archive.extractfile(member)
                assert data is not None
                got.setdefault(key, {})[field] = data.read()
    assert got == contents


def test_webdataset_reads_our_shards(packed):
    wds = pytest.importorskip("webdataset", reason="webdataset is not installed: NOT TESTED")
    contents, shards = packed
    got = {
        sample["__key__"]: {f: data for f, data in sample.items() if not f.startswith("__")}
        for sample in wds.WebDataset(shards, shardshuffle=False)
    }
    assert got == contents


def test_hugging_face_datasets_reads_our_shards(packed, tmp_path, monkeypatch):
    monkeypatch.setenv("HF_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    datasets = pytest.importorskip("datasets", reason="datasets is not installed: NOT TESTED")
    contents, shards = packed
    rows = datasets.load_dataset(
        "webdataset",
        data_files={"train": shards},
        split="train",
        streaming=True,
        cache_dir=str(tmp_path / "cache"),
    )
    rows = rows.cast_column("jpg", datasets.Image(decode=False))
    got = {row["__key__"]: row for row in rows}
    assert set(got) == set(contents)
    for key, fields in contents.items():
        assert got[key]["jpg"]["bytes"] == fields["jpg"]
        assert int(got[key]["cls"]) == int(fields["cls"])
        assert got[key]["txt"] == fields["txt"].decode()


def test_we_read_shards_of_webdatasets_writer(tmp_path):
    wds = pytest.importorskip("webdataset", reason="webdataset is not installed: NOT TESTED")
    written = {}
    with wds.ShardWriter(str(tmp_path / "w-%03d.tar"), maxcount=40, verbose=0) as writer:
        for i in range(100):
            fields = {"bin": os.urandom(i * 10), "cls": i, "txt": f"text {i}", "json": {"i": i}}
            writer.write({"__key__": f"dir/k{i:03d}", **fields})
            written[f"dir/k{i:03d}"] = fields
    ds = hr.open(tmp_path)
    assert len(ds) == 100
    assert len(ds.shards) == 3
    for sample in ds:
        fields = written[sample.key]
        assert sample["bin"] == fields["bin"]
        assert int(sample["cls"]) == fields["cls"]
        assert sample["txt"].decode() == fields["txt"]
    decoded = ds.decode(n=hr.integer("cls"), j=hr.json("json")).batch(100).loader()
    (batch,) = decoded
    assert batch["j"].tolist() == [{"i": i} for i in batch["n"].tolist()]


@pytest.mark.parametrize("form", [tarfile.USTAR_FORMAT, tarfile.GNU_FORMAT, tarfile.PAX_FORMAT])
def test_we_read_every_form_of_tarfile(tmp_path, form):
    long_key = "folder/" * 12 + "k" * 60 if form != tarfile.USTAR_FORMAT else "folder/k"
    with tarfile.open(tmp_path / "a.tar", "w", format=form) as archive:
        for field, data in (("txt", b"hello"), ("bin", b"")):
            info = tarfile.TarInfo(f"{long_key}.{field}")
            info.size = len(data)
            archive.addfile(info, io.BytesIO(data))
    (sample,) = hr.open(tmp_path / "a.tar")
    assert sample.key == long_key
    assert dict(sample.items()) == {"txt": b"hello", "bin": b""}
