"""Pictures that announce more pixels than they may have are refused before memory is taken for
them: in a process that has little, and whose peak is looked at."""

from __future__ import annotations

import json
import re
import struct
import subprocess
import zlib
from collections.abc import Callable
from pathlib import Path

from test_images import shard

CODEC = Path(__file__).parents[1] / "data" / "codec"
SIDE = 60_000
LIMIT = r"pixels are more than the limit of 178956970"
TOO_FEW_BYTES = r"pixels, too many for its bytes"

#: Bytes that the process may have beyond those it begins with, and how many of them a picture may
#: use, whose file has up to eight million. A loader's threads reserve much and use little.
HEADROOM = 512 << 20
MOST = 16 << 20


def jpeg(width: int, height: int, frame: int, size: int) -> bytes:
    """Gray, up to its first scan; `frame` is the marker that tells the kind."""
    header = b"\xff\xd8\xff" + struct.pack(">BHBHHBBBB", frame, 11, 8, height, width, 1, 1, 0x11, 0)
    last = 0 if frame == 0xC2 else 63
    return header + b"\xff\xda" + struct.pack(">HBBBBBB", 8, 1, 1, 0, 0, last, 0) + bytes(size)


def png(width: int, height: int, bits: int, size: int) -> bytes:
    """Gray, with so many bytes of image data."""

    def chunk(name: bytes, data: bytes) -> bytes:
        return (
            struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))
        )

    header = struct.pack(">IIBBBBB", width, height, bits, 0, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", bytes(size))


def webp(name: bytes, data: bytes) -> bytes:
    data = data.ljust(64, b"\0")
    chunk = b"WEBP" + name + struct.pack("<I", len(data)) + data
    return b"RIFF" + struct.pack("<I", len(chunk)) + chunk


def gif(canvas: tuple[int, int], frame: tuple[int, int]) -> bytes:
    screen = struct.pack("<HHBBB", *canvas, 0, 0, 0)
    return b"GIF89a" + screen + b"," + struct.pack("<HHHHB", 0, 0, *frame, 0) + b"\x08\0;"


def tiff(size: tuple[int, int], tile: tuple[int, int] | None = None) -> bytes:
    """Gray of 8 bits, one strip or one deflated tile."""
    data = zlib.compress(bytes(4096))
    width, height = size
    tags = {256: width, 257: height, 258: 8, 259: 8, 262: 1, 277: 1}
    if tile is None:
        tags |= {273: 8, 278: height, 279: len(data)}
    else:
        tags |= {322: tile[0], 323: tile[1], 324: 8, 325: len(data)}
    entries = [struct.pack("<HHII", tag, 4, 1, value) for tag, value in tags.items()]
    ifd = struct.pack("<H", len(tags)) + b"".join(entries) + bytes(4)
    return b"II*\0" + struct.pack("<I", 8 + len(data)) + data + ifd


def bmp(width: int, height: int, compression: int) -> bytes:
    """Of 8 bits; compression 1 is run lengths."""
    header = struct.pack("<IiiHHIIiiII", 40, width, height, 1, 8, compression, 0, 0, 0, 0, 0)
    return b"BM" + struct.pack("<IHHI", 54 + 64, 0, 0, 54) + header + bytes(64)


def avif(width: int, height: int) -> bytes:
    """A real one whose size is overwritten."""
    file = bytearray((CODEC / "avif/444.avif").read_bytes())
    at = file.index(b"ispe") + 8
    file[at : at + 8] = struct.pack(">II", width, height)
    return bytes(file)


# A JPEG's block takes a bit, and deflate makes at most 1032 bytes of one: files that are shorter
# than that are refused for it, longer ones for their pixels.
BOMBS: dict[str, tuple[bytes, str]] = {
    "jpeg": (jpeg(SIDE, SIDE, 0xC0, 8 << 20), LIMIT),
    "progressive jpeg": (jpeg(SIDE, SIDE, 0xC2, 8 << 20), LIMIT),
    "short jpeg": (jpeg(SIDE, SIDE, 0xC2, 99), TOO_FEW_BYTES),
    "png": (png(SIDE, SIDE, 1, 450_000), LIMIT),
    "wide png": (png((1 << 31) - 1, 1, 1, 300_000), LIMIT),
    "high png": (png(1, (1 << 31) - 1, 1, 300_000), LIMIT),
    "short png": (png(SIDE, SIDE, 16, 99), TOO_FEW_BYTES),
    "webp": (
        webp(b"VP8 ", b"\x10\0\0\x9d\x01\x2a" + struct.pack("<HH", 16383, 16383)),
        LIMIT,
    ),
    "lossless webp": (webp(b"VP8L", b"\x2f" + struct.pack("<I", 16383 | 16383 << 14)), LIMIT),
    "gif": (gif((SIDE, SIDE), (SIDE, SIDE)), LIMIT),
    "gif with a small frame": (gif((SIDE, SIDE), (1, 1)), LIMIT),
    "gif on a small canvas": (gif((1, 1), (SIDE, SIDE)), LIMIT),
    "tiff": (tiff((SIDE, SIDE)), LIMIT),
    "tiff of one large tile": (tiff((16, 16), (20_000, 20_000)), "its tiles are larger"),
    "bmp in runs": (bmp(SIDE, SIDE, 1), LIMIT),
    "bmp": (bmp(SIDE, SIDE, 0), "the file ends too soon"),
    "ppm": (b"P6 %d %d 255\n" % (SIDE, SIDE) + bytes(64), "the file ends too soon"),
    "avif": (avif(16384, 16384), LIMIT),
    "larger avif": (avif(SIDE, SIDE), "AVIF"),
}

READ = """
import json, resource, sys
import headrace as hr

def outcome(shard):
    decoded = hr.open(shard).decode(image=hr.image("x"))
    try:
        with decoded.batch(1).loader(threads=1, memory="32MiB") as loader:
            return str([batch["image"].shape for batch in loader])
    except hr.DataError as error:
        return str(error)

def status(name):
    return int(open("/proc/self/status").read().split(name + ":")[1].split()[0]) * 1024

outcome(sys.argv[2])  # what a good picture needs is there already
resource.setrlimit(resource.RLIMIT_AS, (status("VmSize") + int(sys.argv[1]),) * 2)
for shard in sys.argv[3:]:
    open("/proc/self/clear_refs", "w").write("5")  # the peak begins again from here
    before = status("VmRSS")
    print(json.dumps([outcome(shard), status("VmHWM") - before]), flush=True)
"""


def test_bombs_are_refused_before_memory_is_taken(
    tmp_path: Path, run_python: Callable[..., subprocess.CompletedProcess[str]]
) -> None:
    files = {name: bomb for name, (bomb, _) in BOMBS.items()}
    shards = []
    for name, file in {"good": (CODEC / "avif/444.avif").read_bytes(), **files}.items():
        (tmp_path / name).mkdir()
        shard(tmp_path / name, [{"x": file}])
        shards.append(tmp_path / name / "a.tar")
    done = run_python(READ, HEADROOM, *shards)
    outcomes = [json.loads(line) for line in done.stdout.splitlines()]
    for (name, (_, words)), (error, peak) in zip(BOMBS.items(), outcomes, strict=False):
        assert re.search(words, error), name
        assert peak < MOST, name
    assert len(outcomes) == len(BOMBS), f"{list(BOMBS)[len(outcomes)]}: {done.stderr}"
