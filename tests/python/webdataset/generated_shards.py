"""Shards for the generated pipelines: whole, compressed, damaged, with odd names."""

from __future__ import annotations

import io
import json
import tarfile
from pathlib import Path

import numpy as np
import PIL.Image as Image


def picture(number: int, format: str) -> bytes:
    pixels = np.random.default_rng(number).integers(0, 256, (4 + number % 3, 5, 3), dtype=np.uint8)
    stream = io.BytesIO()
    Image.fromarray(pixels).save(stream, format)
    return stream.getvalue()


def array_bytes(number: int) -> bytes:
    stream = io.BytesIO()
    np.save(stream, np.arange(3) + number)
    return stream.getvalue()


def whole_sample(number: int) -> dict[str, bytes]:
    fields = {
        "cls": b"%d" % number,
        "txt": f"sample {number} äöü".encode(),
        "json": json.dumps({"n": number}).encode(),
        "npy": array_bytes(number),
        "bin": bytes([number % 251]) * (number % 7),
        "png": picture(number, "png"),
    }
    if number % 4 == 1:
        fields["jpg"] = picture(number, "jpeg")
    if number % 5 == 2:
        fields["left.PNG"] = picture(number + 1, "png")
    if number % 6 == 3:
        del fields["txt"]
    return fields


def members_of(start: int, stop: int) -> list[tuple[str, bytes]]:
    return [
        (f"dir.{start}/s{number:03d}.{name}", data)
        for number in range(start, stop)
        for name, data in whole_sample(number).items()
    ]


ODD = [
    ("readme", b"no extension"),
    ("__meta__/info.json", b"{}"),
    ("__index__", b"x"),
    ("a/__m__.txt", b"kept"),
    ("./b.txt", b"1"),
    ("b.txt", b"2"),
    ("c.", b"empty field"),
    ("d..jpg", b"dot"),
    (".hidden.txt", b"hidden"),
    ("e/.hidden.txt", b"kept"),
    ("f.TXT", b"upper"),
    ("f.seg.png", b"not a picture"),
    ("b.cls", b"3"),
    ("ö ä.txt", b"4"),
    ("x.y/z.cls", b"5"),
]
TWICE = [("a.txt", b"1"), ("a.cls", b"1"), ("a.TXT", b"2"), ("b.txt", b"3")]
UNDECODABLE = [
    ("a.cls", b"1"),
    ("b.cls", b"one"),
    ("c.json", b"{"),
    ("d.png", b"no"),
    ("e.cls", b"5"),
]


def tar_of(members: list[tuple[str, bytes]], mode: str = "w") -> bytes:
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode=mode) as archive:
        folder = tarfile.TarInfo("folder.d")
        folder.type = tarfile.DIRTYPE
        archive.addfile(folder)
        for name, data in members:
            info = tarfile.TarInfo(name)
            info.size = len(data)
            archive.addfile(info, io.BytesIO(data))
    return stream.getvalue()


def make_shards(folder: Path) -> dict[str, str]:
    big = tar_of([("k.bin", bytes(3000)), ("l.bin", bytes(3000)), ("l.cls", b"1")])
    contents = {
        "p0.tar": tar_of(members_of(0, 9)),
        "p1.tar": tar_of(members_of(9, 11)),
        "p2.tar": tar_of(members_of(11, 25)),
        "p3.tar": tar_of(members_of(25, 30)),
        "zipped.tar.gz": tar_of(members_of(30, 36), "w:gz"),
        "odd.tar": tar_of(ODD),
        "twice.tar": tar_of(TWICE),
        "undecodable.tar": tar_of(UNDECODABLE),
        "empty.tar": tar_of([]),
        "cut.tar": big[: 512 + 512 + 3072 + 512 + 1000],
        "garbage.tar": b"garbage " * 1000,
        "cutzip.tar.gz": tar_of(members_of(30, 36), "w:gz")[:-300],
        "nothing.tar": b"",
    }
    for name, data in contents.items():
        (folder / name).write_bytes(data)
    return {name: str(folder / name) for name in (*contents, "missing.tar")}


GOOD = ["p0.tar", "p1.tar", "p2.tar", "p3.tar", "zipped.tar.gz"]
DAMAGED = ["cut.tar", "garbage.tar", "cutzip.tar.gz", "nothing.tar"]
BAD = ["odd.tar", "twice.tar", "undecodable.tar", "empty.tar", "missing.tar", *DAMAGED]
