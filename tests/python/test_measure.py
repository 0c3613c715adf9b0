"""Lengths that pack measures: right for each kind of payload, kept by the verbs that move samples,
and what buckets of like length are made from."""

from __future__ import annotations

import io
import json
import struct
import wave
from itertools import chain
from pathlib import Path

import headrace as hr
import numpy as np
import pytest
from PIL import Image
from program import ok, run


def encoded(kind: str, width: int, height: int) -> bytes:
    out = io.BytesIO()
    Image.new("RGB", (width, height), (width % 255, 80, 10)).save(out, kind)
    return out.getvalue()


def npy(*shape: int) -> bytes:
    out = io.BytesIO()
    np.save(out, np.zeros(shape, np.int16))
    return out.getvalue()


def wav(frames: int, channels: int = 2) -> bytes:
    out = io.BytesIO()
    with wave.open(out, "wb") as file:
        file.setnchannels(channels)
        file.setsampwidth(2)
        file.setframerate(16_000)
        file.writeframes(bytes(2 * channels * frames))
    return out.getvalue()


def flac(frames: int) -> bytes:
    """What lies before the first frame: the mark, and STREAMINFO as the format describes it."""
    rates = (44_100 << 44) | (1 << 41) | (15 << 36) | frames
    info = struct.pack(">HH6x", 4096, 4096) + struct.pack(">Q", rates) + bytes(16)
    return b"fLaC" + struct.pack(">I", 0x80000000 | len(info)) + info


PAYLOADS = [
    ("jpg", "pixels", encoded("JPEG", 70, 31), 70 * 31),
    ("png", "pixels", encoded("PNG", 1, 900), 900),
    ("webp", "pixels", encoded("WEBP", 33, 44), 33 * 44),
    ("gif", "pixels", encoded("GIF", 5, 6), 30),
    ("npy", "tokens", npy(3, 50), 150),
    ("npy", "frames", npy(3, 50), 3),
    ("json", "tokens", b" [1, 22, [3, 4], 5]\n", 4),
    ("txt", "tokens", "  zwölf  Boxkämpfer\njagen\t".encode(), 3),
    ("txt", "tokens", b"", 0),
    ("txt", "tokens", b"[Music] a man sings", 4),
    ("txt", "tokens", b"[1, 2", 2),
    ("json", "tokens", b"[" * 100_000 + b"]" * 100_000, 1),
    ("json", "tokens", b'[{"a": [1, 2]}, [], {}, "x", null]', 5),
    ("wav", "frames", wav(1234), 1234),
    ("flac", "frames", flac(5_000_000_000), 5_000_000_000),
    ("len", "value", b" 512\n", 512),
]


def steps_by_length(place: Path, by: str) -> list[list[int]]:
    """The numbers of the samples of each step, when buckets of the whole epoch are made."""
    loader = (
        hr.open(place).shuffle(seed=1, lanes=1).decode(n=hr.integer("n")).bucket(by=by, window=64)
    )
    return [batch["n"].tolist() for batch in loader.batch(4).loader()]


def in_files(folder: Path, count: int, payload) -> Path:
    """Samples whose `n` is their number, and whose `payload(n)` is (field, bytes)."""
    folder.mkdir()
    for n in range(count):
        field, data = payload(n)
        (folder / f"{n:03}.{field}").write_bytes(data)
        (folder / f"{n:03}.n").write_text(str(n))
    return folder


@pytest.mark.parametrize(("field", "unit", "payload", "value"), PAYLOADS)
def test_each_unit_is_measured_right(field, unit, payload, value, tmp_path):
    files = in_files(tmp_path / "files", 1, lambda n: (field, payload))
    ok("pack", files, "--out", tmp_path / "set", "--measure", f"{field}={unit}")
    manifest = json.loads((tmp_path / "set/headrace.json").read_text())
    assert [f.get("measure") for f in manifest["fields"]] == [
        unit if f["name"] == field else None for f in manifest["fields"]
    ]
    shown = json.loads(ok("ls", tmp_path / "set", "--json").splitlines()[0])
    assert shown["measures"] == {field: {unit: value}}


def pictures(n: int) -> tuple[str, bytes]:
    """The more pixels, the fewer bytes: PNGs of noise and of one colour."""
    side = 4 + n
    if n >= 32:
        return "png", encoded("PNG", side, side)
    out = io.BytesIO()
    noise = np.random.default_rng(n).integers(0, 256, (side, side, 3), np.uint8)
    Image.fromarray(noise).save(out, "PNG")
    return "png", out.getvalue()


@pytest.fixture(scope="module")
def measured(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("measured")
    in_files(folder / "files", 64, pictures)
    hr.pack(folder / "files", folder / "set", samples=10, measure={"png": "pixels"}, shuffle=3)
    return folder / "set"


def is_sorted_by_pixels(place: Path) -> bool:
    """Steps of four neighbours in size, when a bucket is the epoch."""
    steps = steps_by_length(place, "png:pixels")
    return all(max(step) - min(step) == 3 for step in steps) and len(steps) == 16


def test_buckets_are_made_by_pixels(measured):
    assert is_sorted_by_pixels(measured)
    by_bytes = steps_by_length(measured, "png")
    assert not all(max(step) - min(step) == 3 for step in by_bytes)
    assert sorted(chain(*by_bytes)) == list(range(64))


VERBS = {
    "shuffle": ["shuffle", "--seed", "5", "--shards", "3"],
    "shuffle in buckets": ["shuffle", "--algorithm", "buckets", "--memory", "1MiB"],
    "split": ["split", "--samples", "7"],
    "merge": ["merge"],
    "sort": ["sort", "--by", "n", "--as", "integer"],
    "dedupe": ["dedupe"],
    "convert": ["convert", "--container", "tar.zst"],
    "convert to zip": ["convert", "--container", "zip"],
    "project": ["project", "--fields", "png,n"],
    "select": ["select", "--where", "size >= 0"],
    "rename": ["rename", "--fields", "png=png,n=n"],
    "other keys": ["split", "--rekey", "--samples", "9"],
}


@pytest.mark.parametrize("verb", VERBS)
def test_verbs_keep_what_was_measured(verb, measured, tmp_path):
    words = VERBS[verb]
    ok(words[0], measured, "--out", tmp_path / "out", *words[1:])
    ok("verify", tmp_path / "out")
    assert is_sorted_by_pixels(tmp_path / "out")


def test_tasks_on_their_own_keep_it(measured, tmp_path):
    out, plan = tmp_path / "out", tmp_path / "plan"
    ok("plan", "shuffle", measured, "--out", out, "--plan", plan, "--shards", "3")
    for task in range(3):
        ok("run-task", plan, task, "--algorithm", "buckets")
    ok("run", plan)
    assert is_sorted_by_pixels(out)


def test_copies_keep_it(measured, tmp_path):
    ok("cp", measured, tmp_path / "copy")
    assert is_sorted_by_pixels(tmp_path / "copy")


def test_selections_keep_it(measured):
    half = hr.open(measured).select(lambda key: int(key) % 2 == 0)
    loader = half.shuffle(seed=1, lanes=1).decode(n=hr.integer("n")).bucket(by="png:pixels")
    steps = [batch["n"].tolist() for batch in loader.batch(4).loader()]
    assert all(max(step) - min(step) == 6 for step in steps) and len(steps) == 8


@pytest.mark.parametrize("verb", ["join", "zip"])
def test_samples_put_together_keep_it(verb, measured, tmp_path):
    ok("rename", measured, "--fields", "more=n", "--out", tmp_path / "more")
    ok("project", measured, "--fields", "png,n", "--out", tmp_path / "one")
    ok(verb, tmp_path / "one", tmp_path / "more", "--out", tmp_path / "out",
       "--on-conflict", "first")  # fmt: skip
    assert is_sorted_by_pixels(tmp_path / "out")


def test_data_sets_grow_with_it(tmp_path):
    for name, numbers in (("a", range(32)), ("b", range(32, 64))):
        files = in_files(tmp_path / name, 64, pictures)
        for n in set(range(64)) - set(numbers):
            for path in files.glob(f"{n:03}.*"):
                path.unlink()
    hr.pack(tmp_path / "a", tmp_path / "grown", measure={"png": "pixels"})
    hr.pack(tmp_path / "b", tmp_path / "b-set", measure={"png": "pixels"})
    hr.jobs.concat([tmp_path / "grown", tmp_path / "b-set"], tmp_path / "both").wait()
    ok("pack", tmp_path / "b", "--out", tmp_path / "grown", "--append", "--measure", "png=pixels")
    for place in (tmp_path / "grown", tmp_path / "both"):
        ok("verify", place)
        assert is_sorted_by_pixels(place)


def test_a_manifest_that_lies_about_it_is_found(tmp_path):
    files = in_files(tmp_path / "files", 8, lambda n: ("txt", b"x " * n))
    ok("pack", files, "--out", tmp_path / "set")
    root = tmp_path / "set/headrace.json"
    manifest = json.loads(root.read_text())
    next(f for f in manifest["fields"] if f["name"] == "txt")["measure"] = "tokens"
    root.write_text(json.dumps(manifest))
    assert run("verify", tmp_path / "set").returncode == 4
    with pytest.raises(hr.DataError, match="'txt' was measured in tokens, and its index does not"):
        steps_by_length(tmp_path / "set", "txt:tokens")


def test_what_some_samples_lack_no_data_set_has(measured, tmp_path):
    more = in_files(tmp_path / "more", 4, lambda n: ("png", encoded("PNG", 3, 3)))
    ok("pack", more, "--out", tmp_path / "unmeasured")
    ok("concat", measured, tmp_path / "unmeasured", "--out", tmp_path / "both")
    with pytest.raises(hr.UsageError, match="not all measured: 'png' in pixels") as caught:
        steps_by_length(tmp_path / "both", "png:pixels")
    assert "--measure png=pixels" in caught.value.hint
    ok("cp", measured, tmp_path / "grown")
    ok("pack", more, "--out", tmp_path / "grown", "--append")
    with pytest.raises(hr.UsageError, match="not all measured"):
        steps_by_length(tmp_path / "grown", "png:pixels")
    with pytest.raises(hr.UsageError, match="'png' in tokens"):
        steps_by_length(measured, "png:tokens")


def test_a_picture_that_changes_is_measured_as_it_is_packed(tmp_path):
    files = in_files(tmp_path / "files", 8, lambda n: ("jpg", encoded("JPEG", 400, 100 + n)))
    ok("pack", files, "--out", tmp_path / "small", "--image", "max-side=40", "--measure",
       "jpg=pixels")  # fmt: skip
    shown = map(json.loads, ok("ls", tmp_path / "small", "--json").splitlines())
    assert all(sample["measures"]["jpg"]["pixels"] <= 40 * 11 for sample in shown)
    ok("pack", files, "--out", tmp_path / "raw", "--image", "raw-uint8", "--measure",
       "npy=frames")  # fmt: skip
    shown = map(json.loads, ok("ls", tmp_path / "raw", "--json").splitlines())
    assert [sample["measures"]["npy"]["frames"] for sample in shown] == list(range(100, 108))


def test_samples_in_pieces_are_measured_whole(tmp_path):
    """A sample of more than 4 MiB is written in pieces; its picture and its text are not cut."""
    words = "word " * 1_500_000
    files = in_files(tmp_path / "files", 2, lambda n: ("txt", words.encode() + b"x " * n))
    for n in range(2):
        (files / f"{n:03}.bin").write_bytes(bytes(3_000_000))
    ok("pack", files, "--out", tmp_path / "set", "--measure", "txt=tokens")
    ok("verify", tmp_path / "set")
    shown = map(json.loads, ok("ls", tmp_path / "set", "--json").splitlines())
    assert [sample["measures"]["txt"]["tokens"] for sample in shown] == [1_500_000, 1_500_001]


def test_the_class_number_can_be_measured(tmp_path):
    for name in ("cat", "dog"):
        (tmp_path / "files" / name).mkdir(parents=True)
        (tmp_path / "files" / name / "1.txt").write_text("x")
    ok("pack", tmp_path / "files", "--out", tmp_path / "set", "--label-from", "folder",
       "--measure", "cls=value")  # fmt: skip
    shown = map(json.loads, ok("ls", tmp_path / "set", "--json").splitlines())
    assert [sample["measures"]["cls"]["value"] for sample in shown] == [0, 1]


@pytest.mark.parametrize(
    ("measure", "payload", "said"),
    [
        ("x=pixels", b"no picture", "cannot be measured in pixels"),
        ("x=frames", b"RIFF....WAVE", "no 'fmt ' and 'data' chunks"),
        ("x=frames", flac(0), "does not say how long it is"),
        ("x=frames", b"text", "none of them"),
        ("x=frames", wav(7)[:-3], "shorter than it says"),
        ("x=frames", wav(7)[:20] + b"\x11" + wav(7)[21:], "compressed"),
        ("x=frames", wav(0) + bytes(8), "does not say how long it is"),
        ("x=value", b"-3", "whole number"),
        ("x=value", b"99999999999999999999", "whole number"),
    ],
)
def test_what_cannot_be_measured_is_named_or_left_out(measure, payload, said, tmp_path):
    bad = in_files(tmp_path / "files", 1, lambda n: ("x", payload)) / "000.x"
    done = run("pack", tmp_path / "files", "--out", tmp_path / "set", "--measure", measure)
    assert done.returncode == 4
    assert said in done.stderr.decode() and str(bad) in done.stderr.decode()


@pytest.mark.parametrize("policy", ["error", "skip"])
def test_a_class_number_is_no_picture(policy, tmp_path):
    for name in ("cat", "dog"):
        (tmp_path / "files" / name).mkdir(parents=True)
        (tmp_path / "files" / name / "1.txt").write_text("x")
    done = run("pack", tmp_path / "files", "--out", tmp_path / "set", "--label-from", "folder",
               "--measure", "cls=pixels", "--on-error", policy)  # fmt: skip
    said = done.stderr.decode()
    assert "a class number cannot be measured in pixels" in said
    assert "bug" not in said and done.returncode == (4 if policy == "error" else 0)


def test_samples_that_cannot_be_measured_are_left_out(tmp_path):
    files = in_files(tmp_path / "files", 9, lambda n: ("x", b"none" if n == 4 else b"7"))
    command = ["pack", files, "--out", tmp_path / "set", "--measure", "x=value"]
    ok(*command, "--on-error", "skip")
    assert [int(sample["n"]) for sample in hr.open(tmp_path / "set").samples()] == [
        *range(4),
        *range(5, 9),
    ]
    assert json.loads(ok("info", tmp_path / "set", "--json"))["measures"] == {"x": "value"}


@pytest.mark.parametrize(
    ("measure", "said"),
    [
        ("jpg", "does not say what a field is measured in"),
        ("jpg=inches", "there is no unit 'inches'"),
        ("jpg=none", "there is no unit 'none'"),
        ("n=value,n=tokens", "measured twice"),
        ("jpg=pixels", "no sample has the field 'jpg'"),
    ],
)
def test_what_makes_no_sense_is_said(measure, said, tmp_path):
    files = in_files(tmp_path / "files", 1, lambda n: ("txt", b"x"))
    done = run("pack", files, "--out", tmp_path / "set", "--measure", measure)
    assert done.returncode == 2 and said in done.stderr.decode()
    assert not (tmp_path / "set/headrace.json").exists()
