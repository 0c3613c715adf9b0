"""Everything the benchmarks read, made once under data/bench: our shards, and the same samples in
the formats that the peers read best."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from function_readers import ROW_SHAPE
from programs import HEADRACE
from readers import pack_record, shards

HERE = Path(__file__).parent


SIDES = (256, 384)  # of photographs that were scaled when they were packed
_INSTALLED = Path("/usr/share/tuxpaint/stamps")
STAMPS = (_INSTALLED, HERE.parent / "data/tuxpaint" / _INSTALLED.relative_to("/"))


@dataclass(frozen=True)
class Inputs:
    """Places, all below `root`."""

    root: Path

    @property
    def photos(self) -> Path:
        return self.root / "photos"

    @property
    def small_files(self) -> Path:
        return self.root / "small" / "files"

    @property
    def small(self) -> Path:
        return self.root / "small" / "shards"

    @property
    def photo_shards(self) -> Path:
        return self.root / "photo-shards"

    @property
    def photos_index(self) -> Path:
        """The manifest of the loose photos, beside them so that they stay as they are."""
        return self.root / "photos-index"

    @property
    def rows(self) -> Path:
        """Arrays of 200 KB: files/, the same in shards/, and all in rows.npy."""
        return self.root / "rows"

    @property
    def small_arrays(self) -> Path:
        """20,000 samples of 500 float32 and a class, in 4 shards."""
        return self.root / "small-arrays"

    def pictures(self, kind: str) -> Path:
        """A thousand of the photos as "png" or "webp"."""
        return self.root / f"photos-{kind}"

    def smaller(self, side: int) -> Path:
        """The photo shards, scaled when they were packed."""
        return self.root / f"photos-max-{side}"

    @property
    def stamps(self) -> Path:
        """The drawings of Tux Paint, PNG with alpha, of many sizes; there after `./dev demo`."""
        return self.root / "stamps"

    def of(self, peer: str, data: str) -> Path:
        return self.root / f"{data}-{peer}"


def prepare(inputs: Inputs) -> None:
    """Makes what is missing."""
    subprocess.run([sys.executable, HERE / "make_photos.py", "--out", inputs.root], check=True)
    # 13 shards; packed in a shuffled order, as one packs for training.
    pack = ("pack", inputs.photos, "--label-from", "folder", "--shuffle", 1, "--shards", 13)
    once(inputs.photo_shards, lambda out: headrace(*pack, "--out", out))
    once(inputs.photos_index, lambda out: headrace("index", inputs.photos, "--out", out))
    if not (inputs.small / "headrace.json").exists():
        headrace("index", inputs.small)
    once(inputs.rows, write_rows)
    once(inputs.small_arrays, write_small_arrays)
    for kind in ("png", "webp"):
        once(inputs.pictures(kind), lambda out, kind=kind: write_pictures(inputs.photos, kind, out))
    for side in SIDES:
        image = ("--image", f"max-side={side}, quality=90")
        once(inputs.smaller(side), lambda out, image=image: headrace(*pack, *image, "--out", out))
    stamps = [place for place in STAMPS if place.is_dir()]
    if stamps:
        only = ("--fields", "png", "--label-from", "folder", "--shuffle", 1, "--shards", 4)
        once(inputs.stamps, lambda out: headrace("pack", stamps[0], *only, "--out", out))
    convert(inputs, "photos", inputs.photo_shards, "jpg")
    convert(inputs, "small", inputs.small, "bin")


def convert(inputs: Inputs, data: str, place: Path, payload: str) -> None:
    """The samples of `place`, in the peers' formats."""
    files = len(shards(str(place)))
    once(inputs.of("mds", data), lambda out: write_mds(samples(place, payload), out))
    once(
        inputs.of("array-record", data),
        lambda out: write_array_records(samples(place, payload), files, out),
    )


def once(place: Path, make: Callable[[Path], None]) -> None:
    """Makes `place` unless it is there; a half-made one never is."""
    if place.exists():
        return
    print(f"making {place}", file=sys.stderr)
    half = place.with_name(place.name + ".part")
    shutil.rmtree(half, ignore_errors=True)
    make(half)
    half.rename(place)


def headrace(*arguments: object) -> None:
    subprocess.run([HEADRACE, *map(str, arguments), "--quiet"], check=True)


def write_rows(out: Path) -> None:
    """A thousand of them, from a seed."""
    (out / "files").mkdir(parents=True)
    rows = np.lib.format.open_memmap(
        str(out / "rows.npy"), mode="w+", dtype=np.uint8, shape=(1000, *ROW_SHAPE)
    )
    rows[:] = np.random.default_rng(5).integers(0, 256, ROW_SHAPE, np.uint8)
    for number, row in enumerate(rows):
        row[0] = number % 251
        np.save(out / "files" / f"{number:04d}.npy", row)
    headrace("pack", out / "files", "--shuffle", 1, "--shards", 8, "--out", out / "shards")


def write_small_arrays(out: Path) -> None:
    import headrace.webdataset as wds

    out.mkdir(parents=True)
    draw = np.random.default_rng(6)
    for shard in range(4):
        with wds.TarWriter(str(out / f"{shard}.tar")) as sink:
            for number in range(5000):
                array = draw.random(500, dtype=np.float32)
                sink.write({"__key__": f"{shard}{number:05d}", "npy": array, "cls": number % 1000})


def write_pictures(photos: Path, kind: str, out: Path) -> None:
    from PIL import Image

    (out / "files").mkdir(parents=True)
    for path in sorted(photos.rglob("*.jpg"))[::9]:
        Image.open(path).save(out / "files" / f"{path.stem}.{kind}", quality=80)
    headrace("pack", out / "files", "--shuffle", 1, "--shards", 4, "--out", out / "shards")
    for made in list((out / "shards").iterdir()):
        made.rename(out / made.name)
    shutil.rmtree(out / "files")


Samples = Iterator[tuple[bytes, int]]


def samples(place: Path, payload: str) -> Samples:
    import headrace as hr

    return ((sample[payload], int(sample["cls"])) for sample in hr.open(place).samples())


def write_mds(samples: Samples, out: Path) -> None:
    """Shards of 64 MiB, the default."""
    from streaming import MDSWriter

    with MDSWriter(out=str(out), columns={"payload": "bytes", "label": "int"}) as writer:
        for payload, label in samples:
            writer.write({"payload": payload, "label": label})


def write_array_records(samples: Samples, files: int, out: Path) -> None:
    from array_record.python.array_record_module import ArrayRecordWriter

    out.mkdir(parents=True)
    writers = [
        ArrayRecordWriter(str(out / f"part-{number:05d}.array_record"), "group_size:1")
        for number in range(files)
    ]
    for number, (payload, label) in enumerate(samples):
        writers[number % files].write(pack_record(payload, label))
    for writer in writers:
        writer.close()
