"""What convert does to pictures: what pack does to the same ones, from any container into any."""

from __future__ import annotations

import io
import json
import shutil
import signal
import zipfile
from pathlib import Path

import headrace as hr
import numpy as np
import pytest
from pictures import CODEC, CORRUPT, GOOD, members, photo, write_mixed, write_photos
from PIL import Image
from program import flip, ok, run
from servers.nginx import nginx
from test_reshape import contents


def convert(source: object, out: Path, *options: object) -> dict:
    report = json.loads(ok("convert", source, "--out", out, "--json", "--no-fsync", *options))
    assert json.loads(ok("verify", out, "--json"))["findings"] == []
    return report


def pack(source: object, out: Path, *options: object) -> Path:
    ok("pack", source, "--out", out, "--no-fsync", *options)
    return out


@pytest.fixture
def photos(tmp_path: Path) -> Path:
    return pack(write_photos(tmp_path / "photos"), tmp_path / "set", "--samples", "25")


@pytest.fixture
def mixed(tmp_path: Path) -> Path:
    return pack(write_mixed(tmp_path / "mixed"), tmp_path / "damaged")


RECIPES = {
    "smaller": ("--image", "max-side=256, quality=85"),
    "baseline": ("--jpeg", "baseline"),
    "stripped": ("--jpeg", "baseline,strip"),
    "raw": ("--image", "raw-uint8"),
    "small and raw": ("--image", "raw-uint8, max-side=100"),
    "checked": ("--drop-corrupt",),
}


@pytest.mark.parametrize("recipe", RECIPES)
def test_pictures_become_what_pack_makes_of_them(photos, tmp_path, recipe):
    report = convert(photos, tmp_path / "out", *RECIPES[recipe], "--samples", "17")
    options = (*RECIPES[recipe], "--samples", "17", "--json")
    expected = json.loads(ok("pack", tmp_path / "photos", "--out", tmp_path / "packed", *options))
    # Not the payloads alone: the shards are the very same bytes.
    shards = [sorted((tmp_path / folder).glob("*.tar")) for folder in ("out", "packed")]
    assert [p.read_bytes() for p in shards[0]] == [p.read_bytes() for p in shards[1]]
    assert len(shards[0]) == 4
    counts = ("pictures", "changed", "bytes_before", "bytes_after", "timed")
    assert [report["pictures"][name] for name in counts] == [
        expected["pictures"][name] for name in counts
    ]
    if recipe != "checked":
        assert report["pictures"]["timed"] > 0 and report["pictures"]["decode_seconds_after"] > 0


def test_baseline_has_the_same_pixels_and_metadata(photos, tmp_path):
    before, report = members(photos), convert(photos, tmp_path / "out", "--jpeg", "baseline")
    after = members(tmp_path / "out")
    assert list(before) == list(after)
    for name in before:
        if name.endswith(".cls"):
            assert after[name] == before[name]
            continue
        old, new = (Image.open(io.BytesIO(data[name])) for data in (before, after))
        assert not new.info.get("progressive")
        assert np.array_equal(np.asarray(old), np.asarray(new))
        assert dict(old.getexif()) == dict(new.getexif())
    assert report["pictures"]["changed"] == 20


def test_raw_pictures_are_the_arrays_that_pillow_decodes(tmp_path):
    source = tmp_path / "source"
    source.mkdir()
    for name in GOOD:
        shutil.copy(CODEC / f"jpeg/{name}.jpg", source)
    photo(30, 20).save(source / "two.left.png")
    (source / "two.txt").write_text("no picture")
    before = pack(source, tmp_path / "set")
    convert(before, tmp_path / "out", "--image", "raw-uint8")
    after = members(tmp_path / "out")
    assert after.pop("two.txt") == b"no picture"
    for name, data in members(before).items():
        if name.endswith("txt"):
            continue
        array = np.load(io.BytesIO(after.pop(name[:-3] + "npy")))
        expected = np.asarray(Image.open(io.BytesIO(data)))
        assert array.dtype == np.uint8
        assert np.array_equal(array.squeeze(-1) if array.shape[2] == 1 else array, expected)
    assert after == {}


def test_two_pictures_that_would_become_one_array_are_named(tmp_path):
    source = tmp_path / "source"
    source.mkdir()
    photo(20, 20).save(source / "a.jpg")
    photo(20, 20).save(source / "a.png")
    before = pack(source, tmp_path / "set")
    raw = ("--image", "raw-uint8", "--drop-corrupt")
    done = run("convert", before, "--out", tmp_path / "out", *raw)
    assert done.returncode == 2
    assert b"'jpg' and 'png'" in done.stderr and b"member a" in done.stderr
    ok("rename", before, "--fields", "other.png=png", "--out", tmp_path / "renamed")
    convert(tmp_path / "renamed", tmp_path / "out2", *raw)
    assert set(members(tmp_path / "out2")) == {"a.npy", "a.other.npy"}


def test_corrupt_pictures_are_left_out_and_listed(mixed, tmp_path):
    report = convert(mixed, tmp_path / "out", "--drop-corrupt")
    lost = {sample["key"]: sample for sample in report["skipped"]}
    assert set(lost) == {*CORRUPT, "noise"}
    for key, sample in lost.items():
        assert sample["corrupt"] and sample["reason"]
        field = "png" if key == "noise" else "jpg"
        assert sample["file"] == f"{mixed}/shard-000000.tar/{key}.{field}"
    assert "Huffman" in lost["bad_huffman_table"]["reason"]
    assert report["corrupt_samples"] == report["skipped_samples"] == len(lost)
    assert report["samples"] == len(GOOD) + 1 == report["pictures"]["pictures"] + 1
    before = members(mixed)
    assert members(tmp_path / "out") == {
        name: data for name, data in before.items() if name.split(".")[0] not in lost
    }


def test_people_are_told_what_was_left_out_and_what_was_gained(mixed, photos, tmp_path):
    told = run("convert", mixed, "--out", tmp_path / "a", "--drop-corrupt").stderr.decode()
    assert "shard-000000.tar/bad_huffman_table.jpg" in told
    assert "left out: 6 samples in all, 6 with a corrupt picture" in told
    told = run("convert", photos, "--out", tmp_path / "b", "--jpeg", "baseline").stderr.decode()
    assert "60 pictures, 20 changed: " in told and "decoding one takes" in told


@pytest.mark.parametrize("container", ["tar", "tar.zst", "zip"])
def test_without_the_option_a_corrupt_picture_stops_it_and_is_named(mixed, tmp_path, container):
    """The first one, whatever the threads: its shard, member and offset."""
    ok("convert", mixed, "--out", tmp_path / "set", "--container", container)
    raw = ("--image", "raw-uint8", "--threads", "3")
    done = run("convert", tmp_path / "set", "--out", tmp_path / "out", *raw, "--json")
    error = json.loads(done.stderr)["error"]
    assert done.returncode == 4 and "--drop-corrupt" in error["hint"]
    assert error["shard"].endswith(f"shard-000000.{container}")
    assert error["member"] == "bad_huffman_table.jpg"
    if container == "tar":
        payload = members(mixed)["bad_huffman_table.jpg"]
        at = error["offset"]
        assert (mixed / "shard-000000.tar").read_bytes()[at : at + len(payload)] == payload
    assert not (tmp_path / "out/headrace.json").exists()


def test_what_is_not_what_was_packed_is_no_corrupt_picture(photos, tmp_path):
    """A checksum that differs stops every job, for it may be any other file's bytes."""
    shard = photos / "shard-000001.tar"
    payload = members(photos)["30.jpg"]
    flip(shard, shard.read_bytes().index(payload) + len(payload) // 2)
    done = run("convert", photos, "--out", tmp_path / "out", "--drop-corrupt", "--json")
    error = json.loads(done.stderr)["error"]
    assert done.returncode == 4 and error["member"] == "30.jpg"
    assert error["shard"].endswith("shard-000001.tar") and error["offset"] > 0
    assert not (tmp_path / "out/headrace.json").exists()


@pytest.mark.parametrize(
    "options",
    [
        ("--image", "max-side=128, quality=70", "--drop-corrupt"),
        ("--image", "raw-uint8", "--drop-corrupt", "--container", "tar.zst"),
        ("--jpeg", "baseline,strip", "--drop-corrupt", "--container", "zip"),
    ],
)
def test_the_same_bytes_whatever_the_threads(photos, mixed, tmp_path, options):
    made = []
    for threads in (1, 2, 5):
        out = tmp_path / f"out{threads}"
        more = ("--samples", "17", "--memory", "1MiB", "--threads", threads)
        ok("convert", photos, mixed, "--out", out, *options, *more)
        made.append(contents(out))
    assert made[0] == made[1] == made[2]


@pytest.mark.parametrize("container", ["tar.zst", "tgz", "tar.lz4", "zip"])
def test_from_any_container_into_any(photos, tmp_path, container):
    options = ("--image", "max-side=200", "--shard-size", "1MiB")
    there = tmp_path / "there"
    convert(photos, there, *options, "--container", container)
    convert(photos, tmp_path / "plain", *options)
    convert(there, tmp_path / "back", "--container", "tar")
    assert members(tmp_path / "back") == members(tmp_path / "plain")
    ok("convert", photos, "--out", tmp_path / "same", "--container", container)
    convert(tmp_path / "same", tmp_path / "again", *options)
    assert members(tmp_path / "again") == members(tmp_path / "plain")
    if container == "zip":
        names = [n for p in there.glob("*.zip") for n in zipfile.ZipFile(p).namelist()]
        assert sorted(names) == sorted(members(photos))


def test_names_and_rekeying_are_those_of_convert(photos, tmp_path):
    options = ("--jpeg", "baseline", "--rekey", "--name", "p-%03d.tar", "--multiple-of", "4")
    convert(photos, tmp_path / "out", *options)
    assert len(list((tmp_path / "out").glob("p-*.tar"))) == 4
    after = members(tmp_path / "out")
    keys = list(dict.fromkeys(name.split(".")[0] for name in after))
    assert keys == [f"{i:09d}" for i in range(60)]
    assert after["000000001.jpg"] == members(photos)["01.jpg"]


def test_measures_stay_right(tmp_path):
    write_photos(tmp_path / "photos")
    set_ = pack(tmp_path / "photos", tmp_path / "set", "--measure", "jpg=pixels,cls=value")
    convert(set_, tmp_path / "out", "--image", "max-side=256")
    manifest = json.loads((tmp_path / "out/headrace.json").read_text())
    assert {f["name"]: f["measure"] for f in manifest["fields"]} == {
        "cls": "value",
        "jpg": "pixels",
    }
    width, height = Image.open(io.BytesIO(members(tmp_path / "out")["59.jpg"])).size
    shown = json.loads(ok("ls", tmp_path / "out", "--json").splitlines()[-1])
    assert shown["measures"] == {"jpg": {"pixels": width * height}, "cls": {"value": 3}}
    convert(set_, tmp_path / "raw", "--image", "raw-uint8")
    manifest = json.loads((tmp_path / "raw/headrace.json").read_text())
    assert {f["name"]: f.get("measure") for f in manifest["fields"]} == {
        "cls": "value",
        "npy": None,
    }


def test_from_parquet(photos, tmp_path):
    arrow = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    pictures = [data for name, data in members(photos).items() if name.endswith(".jpg")]
    kind = arrow.struct([("bytes", arrow.binary()), ("path", arrow.string())])
    column = arrow.array([{"bytes": data, "path": None} for data in pictures], kind)
    source = tmp_path / "theirs.parquet"
    table = arrow.table({"image": column, "label": list(range(60))})
    parquet.write_table(table, source, row_group_size=25)
    convert(source, tmp_path / "out", "--image", "max-side=128, quality=80")
    convert(photos, tmp_path / "same", "--image", "max-side=128, quality=80")
    made = [data for name, data in members(tmp_path / "out").items() if name.endswith("image.jpg")]
    assert made == [v for name, v in members(tmp_path / "same").items() if name.endswith(".jpg")]


def test_over_a_network(photos, tmp_path):
    with nginx(photos, tmp_path / "nginx") as server:
        convert(server.url, tmp_path / "a", "--image", "max-side=128")
    convert(photos, tmp_path / "b", "--image", "max-side=128")
    assert members(tmp_path / "a") == members(tmp_path / "b")


@pytest.mark.parametrize("point", ["begun", "shard_written:2", "shard_committed:2", "recorded:3"])
def test_killed_runs_leave_nothing_half_written_and_go_on(photos, tmp_path, point):
    options = ("--image", "max-side=128", "--samples", "10")
    command = ("convert", photos, "--out", tmp_path / "out", *options)
    killed = run(*command, env={"HEADRACE_CRASH_AT": point})
    assert killed.returncode == -signal.SIGKILL
    assert not (tmp_path / "out/headrace.json").exists()
    convert(photos, tmp_path / "out", *options)
    convert(photos, tmp_path / "whole", *options)
    assert contents(tmp_path / "out") == contents(tmp_path / "whole")


def test_tasks_on_their_own_write_the_same(photos, tmp_path):
    options = ("--image", "max-side=128, quality=70", "--drop-corrupt", "--samples", "20")
    plan, out = tmp_path / "plan", tmp_path / "out"
    ok("plan", "convert", photos, "--out", out, "--plan", plan, *options)
    for task in range(3):
        report = json.loads(ok("run-task", plan, task, "--json"))
        assert report["pictures"]["pictures"] == 20
    ok("run", plan)
    convert(photos, tmp_path / "whole", *options)
    assert members(out) == members(tmp_path / "whole")


def test_another_recipe_is_another_data_set(photos, tmp_path):
    out = tmp_path / "out"
    convert(photos, out, "--image", "max-side=128")
    assert convert(photos, out, "--image", "max-side=128")["complete_before"]
    assert run("convert", photos, "--out", out, "--image", "max-side=64").returncode == 2
    assert run("convert", photos, "--out", out).returncode == 2


@pytest.mark.parametrize(
    "options",
    [
        ("--image", "max-side=0"),
        ("--image", "quality=90"),
        ("--image", "raw-int7"),
        ("--image", "raw-uint8", "--jpeg", "baseline"),
        ("--jpeg", "progressive"),
        ("--jpeg", "baseline", "--algorithm", "buckets"),
    ],
)
def test_wrong_recipes_are_refused(photos, tmp_path, options):
    done = run("convert", photos, "--out", tmp_path / "out", *options)
    assert done.returncode == 2 and done.stderr.startswith(b"error: ")
    assert not (tmp_path / "out").exists()


PYTHON_OPTIONS = {
    "max-side": ({"max_side": 160, "quality": 80}, ("--image", "max-side=160, quality=80")),
    "raw": ({"raw": True, "max_side": 100}, ("--image", "raw-uint8, max-side=100")),
    "baseline": (
        {"jpeg": "baseline,strip", "container": "tar.zst"},
        ("--jpeg", "baseline,strip", "--container", "tar.zst"),
    ),
    "nothing": ({"samples": 7}, ("--samples", "7")),
}


@pytest.mark.parametrize("name", PYTHON_OPTIONS)
def test_python_converts_as_the_program_does(photos, mixed, tmp_path, name):
    options, words = PYTHON_OPTIONS[name]
    drop = name != "nothing"
    program = convert(photos, tmp_path / "a", *words, *(["--drop-corrupt"] * drop))
    python = hr.jobs.convert(photos, tmp_path / "b", drop_corrupt=drop, **options).wait()
    assert contents(tmp_path / "a") == contents(tmp_path / "b")
    assert python["fingerprint"] == program["fingerprint"]
    if drop:
        assert python["pictures"]["changed"] == program["pictures"]["changed"] > 0
        lost = hr.jobs.convert(mixed, tmp_path / "c", drop_corrupt=True, **options).wait()
        assert lost["corrupt_samples"] == len(lost["skipped"]) == len(CORRUPT) + 1


def test_options_of_python_that_make_no_sense_are_refused(photos, tmp_path):
    for options in ({"jpeg": "progressive"}, {"max_side": -1}, {"max_side": 9, "quality": 0}):
        with pytest.raises(hr.UsageError):
            hr.jobs.convert(photos, tmp_path / "out", **options)
