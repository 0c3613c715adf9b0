#!/usr/bin/env python3
"""Makes the inputs of the benchmarks, the same bytes on every machine.

    data/bench/photos/<class>/<number>.jpg   8,708 photographs of ImageNet's shape: 500x375, 4:2:0,
                                             86 KB on average, in 100 classes
    data/bench/small/files/<folder>/<number>.{bin,cls}   100,000 small files: 50,000 samples of 2 KB
    data/bench/small/shards/small-<number>.tar           200,000 samples of 2 KB + cls, 8 shards

The photographs are crops, at several scales, of the pictures in three Debian packages, downloaded
with apt-get and unpacked without installing. What is finished is not made again.
usage: make_photos.py [--out data/bench] [--only photos|small]
"""

from __future__ import annotations

import argparse
import io
import multiprocessing
import os
import random
import shutil
import subprocess
import tarfile
from collections.abc import Callable, Iterator
from pathlib import Path

from PIL import Image

PACKAGES = ("plasma-workspace-wallpapers", "gnome-backgrounds", "mate-backgrounds")
PHOTOS = 8708
CLASSES = 100
SHAPE = (500, 375)
MEAN_BYTES = 86_000

SMALL_SAMPLES = 200_000
SMALL_FILES = 100_000  # two a sample
SMALL_BYTES = 2000
SMALL_SHARDS = 8


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, default=Path("data/bench"))
    parser.add_argument("--only", choices=("photos", "small"))
    arguments = parser.parse_args()
    if arguments.only != "small":
        once(arguments.out / "photos", make_photos)
    if arguments.only != "photos":
        once(arguments.out / "small" / "files", make_small_files)
        once(arguments.out / "small" / "shards", make_small_shards)


def once(folder: Path, make: Callable[[Path], None]) -> None:
    """Fills `folder` by `make(folder)` unless it is there; a half-made one never is."""
    if not folder.exists():
        half = folder.with_name(folder.name + ".part")
        shutil.rmtree(half, ignore_errors=True)
        half.mkdir(parents=True)
        make(half)
        half.rename(folder)
    files = [path.stat().st_size for path in folder.rglob("*") if path.is_file()]
    mean = sum(files) / len(files)
    print(f"{folder}: {len(files):,} files, {sum(files):,} bytes, mean {mean:,.0f}")


# --- photographs ---------------------------------------------------------------------------------


def make_photos(folder: Path) -> None:
    pictures = source_pictures(folder.parent / "wallpapers")
    tasks = [(folder, pictures, number) for number in range(CLASSES)]
    with multiprocessing.Pool(os.cpu_count()) as pool:
        pool.starmap(make_class, tasks, chunksize=1)


def source_pictures(folder: Path) -> list[Path]:
    """The pictures of the packages that are large enough, in a fixed order."""
    for package in PACKAGES:
        if not (folder / package).exists():
            unpack(package, folder)
    found = sorted(
        path
        for path in folder.rglob("*")
        if path.suffix in (".jpg", ".png", ".webp")
        and not path.is_symlink()  # the same picture under the name of another size
        and path.stat().st_size > 150_000
    )
    return [path for path in found if large_enough(path)]


def unpack(package: str, folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    subprocess.run(["apt-get", "download", "-qq", package], cwd=folder, check=True)
    (archive,) = folder.glob(f"{package}_*.deb")
    half = folder / f"{package}.part"
    shutil.rmtree(half, ignore_errors=True)
    subprocess.run(["dpkg", "-x", archive, half], check=True)
    archive.unlink()
    half.rename(folder / package)


def large_enough(path: Path) -> bool:
    with Image.open(path) as picture:
        return picture.width >= 2 * SHAPE[0] and picture.height >= 2 * SHAPE[1]


def make_class(folder: Path, pictures: list[Path], number: int) -> None:
    """Class `number`: crops of one picture (some pictures serve two classes)."""
    draw = random.Random(number)
    with Image.open(pictures[number % len(pictures)]) as picture:
        picture = picture.convert("RGB")
    place = folder / f"{number:03d}"
    place.mkdir()
    for photo in range(number, PHOTOS, CLASSES):
        (place / f"{photo:05d}.jpg").write_bytes(photograph(picture, draw))


def photograph(picture: Image.Image, draw: random.Random) -> bytes:
    """A random crop at a random scale, as a JPEG whose size follows that of ImageNet's."""
    largest = min(picture.width / SHAPE[0], picture.height / SHAPE[1])
    scale = draw.uniform(1, min(largest, 4))
    width, height = int(SHAPE[0] * scale), int(SHAPE[1] * scale)
    left = draw.randint(0, picture.width - width)
    top = draw.randint(0, picture.height - height)
    crop = picture.crop((left, top, left + width, top + height)).resize(SHAPE, Image.BILINEAR)
    # A camera's noise: wallpapers are smoother than photographs.
    noise = Image.frombytes("L", SHAPE, draw.randbytes(SHAPE[0] * SHAPE[1]))
    crop = Image.blend(crop, Image.merge("RGB", (noise, noise, noise)), draw.uniform(0.03, 0.12))
    target = draw.lognormvariate(0, 0.35) * MEAN_BYTES * 1.12
    return nearest_size(crop, target)


def nearest_size(crop: Image.Image, target: float) -> bytes:
    """The JPEG, of qualities 50 to 97, whose size comes closest to `target` from below."""
    low, high = 50, 97
    best = encode(crop, low)
    while low < high:
        middle = (low + high + 1) // 2
        encoded = encode(crop, middle)
        if len(encoded) <= target:
            low, best = middle, encoded
        else:
            high = middle - 1
    return best


def encode(crop: Image.Image, quality: int) -> bytes:
    file = io.BytesIO()
    crop.save(file, "jpeg", quality=quality, subsampling="4:2:0")
    return file.getvalue()


# --- small samples -------------------------------------------------------------------------------


def small_samples(count: int) -> Iterator[tuple[str, bytes, bytes]]:
    """Key, payload that does not compress, class."""
    for number in range(count):
        draw = random.Random(number)
        yield f"{number:06d}", draw.randbytes(SMALL_BYTES), str(draw.randrange(1000)).encode()


def make_small_files(folder: Path) -> None:
    for key, payload, label in small_samples(SMALL_FILES // 2):
        place = folder / key[:3]
        if key.endswith("000"):
            place.mkdir()
        (place / f"{key}.bin").write_bytes(payload)
        (place / f"{key}.cls").write_bytes(label)


def make_small_shards(folder: Path) -> None:
    """By Python's tarfile, so that no loader reads what its own writer laid out."""
    each = SMALL_SAMPLES // SMALL_SHARDS
    samples = small_samples(SMALL_SAMPLES)
    for shard in range(SMALL_SHARDS):
        with tarfile.open(folder / f"small-{shard:06d}.tar", "w", tarfile.USTAR_FORMAT) as tar:
            for _ in range(each):
                key, payload, label = next(samples)
                add_member(tar, f"{key}.bin", payload)
                add_member(tar, f"{key}.cls", label)


def add_member(tar: tarfile.TarFile, name: str, content: bytes) -> None:
    member = tarfile.TarInfo(name)
    member.size = len(content)
    tar.addfile(member, io.BytesIO(content))


if __name__ == "__main__":
    main()
