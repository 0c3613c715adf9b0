"""TarWriter and ShardWriter beside the real ones: what each writes the other reads, and tarfile."""

from __future__ import annotations

import bz2
import gzip
import inspect
import io
import json
import lzma
import pickle
import tarfile

import headrace.webdataset as ours
import numpy as np
import pytest
from headrace.webdataset import writer

real = pytest.importorskip("webdataset", reason="webdataset is not installed: NOT TESTED")
Image = pytest.importorskip("PIL.Image", reason="Pillow is not installed: NOT TESTED")

PICTURE = np.random.default_rng(0).integers(0, 256, (7, 9, 3), dtype=np.uint8)
GREY = PICTURE[:, :, 0]
FLOATS = (PICTURE / 255.0).astype(np.float32)

# A value for each rule of the encoders.
VALUES = {
    "cls": 3,
    "cls2": np.int64(4),
    "class": "already text",
    "count": 5,
    "index": 6,
    "inx": 7,
    "id": 8,
    "txt": "äöü",
    "text": "t",
    "transcript": "said",
    "html": "<p>",
    "htm": "<br>",
    "json": {"a": [1, "ä"]},
    "jsn": [1, 2],
    "pyd": {"a": 1},
    "pickle": [1],
    "npy": FLOATS,
    "npz": {"a": GREY, "b": FLOATS},
    "ten": FLOATS,
    "tb": [GREY, np.zeros((0, 3))],
    "tenbin": [GREY],
    "jpg": PICTURE,
    "left.jpeg": FLOATS,
    "img": GREY,
    "image": Image.fromarray(PICTURE),
    "png": Image.fromarray(PICTURE).convert("RGBA"),
    "ppm": PICTURE,
    "tiff": PICTURE,
    "tif": GREY,
    "bin": b"\0bytes",
    "CLS": 9,
    "deep.er.cls": 10,
    "txt.gz": "squeezed",
    "json.gz": {"a": 1},
    "bin.gz": b"bytes",
}
SAMPLE = {"__key__": "dir/one", "__index__": "17", **VALUES}


def written(library, *samples, **options):
    stream = io.BytesIO()
    with library.TarWriter(stream, **options) as sink:
        sizes = [sink.write(dict(sample)) for sample in samples]
    return sizes, stream.getvalue()


def members(archive):
    with tarfile.open(fileobj=io.BytesIO(archive)) as opened:
        return [
            (
                m.name,
                (m.mode, m.uid, m.gid, m.uname, m.gname, m.type),
                opened.extractfile(m).read(),
            )
            for m in opened
        ]


def read(library, path):
    return list(library.WebDataset(str(path), shardshuffle=False))


def ungzipped(listing):
    """Compressed members hold a time; their contents do not."""
    return [
        (name, how, gzip.decompress(data) if name.endswith(".gz") else data)
        for name, how, data in listing
    ]


@pytest.mark.parametrize("options", [{}, {"keep_meta": True}, {"user": "u", "mode": 0o644}])
def test_the_same_members_with_the_same_bytes(options):
    our_sizes, our_archive = written(ours, SAMPLE, {**SAMPLE, "__key__": "two"}, **options)
    real_sizes, real_archive = written(real, SAMPLE, {**SAMPLE, "__key__": "two"}, **options)
    assert ungzipped(members(our_archive)) == ungzipped(members(real_archive))
    assert len(our_archive) < len(real_archive)
    assert [abs(a - b) < 64 for a, b in zip(our_sizes, real_sizes, strict=True)] == [True, True]


def test_every_default_encoder_is_there_and_gives_the_same():
    assert writer.default_handlers.keys() == real.writer.default_handlers.keys()
    for name, value in VALUES.items():
        kind = name.removesuffix(".gz").rpartition(".")[2].lower()
        handler = writer.default_handlers.get(kind)
        if handler is None or isinstance(value, bytes | str):
            continue
        assert bytes(handler(value)) == bytes(real.writer.default_handlers[kind](value)), name


def test_pth_goes_through_torch():
    torch = pytest.importorskip("torch", reason="torch is not installed: NOT TESTED")
    _, archive = written(ours, {"__key__": "a", "pth": {"x": torch.arange(3)}})
    assert torch.load(io.BytesIO(members(archive)[0][2]))["x"].tolist() == [0, 1, 2]


@pytest.mark.parametrize(("extension", "package"), [("mp", "msgpack"), ("cbor", "cbor")])
def test_optional_encoders(extension, package):
    module = pytest.importorskip(package, reason=f"{package} is not installed: NOT TESTED")
    _, archive = written(ours, {"__key__": "a", extension: {"x": [1, "ä"]}})
    load = module.unpackb if package == "msgpack" else module.loads
    assert load(members(archive)[0][2]) == {"x": [1, "ä"]}


def test_pbm_and_pgm_are_written_where_the_real_one_raises_keyerror():
    bits = np.kron([[0, 1], [1, 0]], np.ones((4, 4))).astype(np.uint8) * 255
    _, archive = written(ours, {"__key__": "a", "pbm": bits, "pgm": GREY})
    pbm, pgm = (Image.open(io.BytesIO(data)) for _, _, data in members(archive))
    assert (pbm.mode, pgm.mode) == ("1", "L")
    assert np.array_equal(np.asarray(pbm), bits > 0) and np.array_equal(np.asarray(pgm), GREY)
    with pytest.raises(KeyError):
        written(real, {"__key__": "a", "pgm": GREY})


@pytest.mark.parametrize("format", ["PNG", "jpg", "JPEG", "webp", "tiff", "bmp", "image"])
@pytest.mark.parametrize("picture", [PICTURE, GREY, FLOATS, Image.fromarray(PICTURE)])
def test_imageencoder_gives_the_same_file(format, picture):
    assert writer.imageencoder(picture, format) == real.writer.imageencoder(picture, format)


@pytest.mark.parametrize("picture", [FLOATS + 1, [1], np.zeros((2, 2, 4), np.uint8), PICTURE[None]])
def test_imageencoder_refuses_the_same(picture):
    with pytest.raises((ValueError, AssertionError)) as theirs:
        real.writer.imageencoder(picture)
    with pytest.raises(theirs.type):
        writer.imageencoder(picture)


BAD_SAMPLES = [
    {"cls": 1},  # no key
    {"__key__": "a", "foo": 1},  # no encoder
    {"__key__": "a", "foo": bytearray(b"x")},
    {"__key__": "a", "cls": 1, "__index__": 3},  # metadata that is no text
    {"__key__": b"a", "cls": 1},
    {"__key__": "a", "txt": 5},
    {"__key__": "a", "npz": [1]},
    {"__key__": "a", 5: b"x"},
]


@pytest.mark.parametrize("sample", BAD_SAMPLES)
def test_bad_samples_raise_the_same_type_and_leave_nothing(sample):
    with pytest.raises(Exception) as theirs:  # noqa: PT011
        written(real, sample)
    stream = io.BytesIO()
    with ours.TarWriter(stream) as sink, pytest.raises(theirs.type):
        sink.write(sample)
    assert members(stream.getvalue()) == []


@pytest.mark.parametrize(
    ("encoder", "sample"),
    [
        (False, {"__key__": "a", "x": b"1", "y": bytearray(b"2"), "z": memoryview(b"3")}),
        (None, {"__key__": "a", "x": b"1"}),
        (False, {"__key__": "a", "x": "text"}),
        (False, {"__key__": "a", "x": 1}),
        ({"x": lambda v: b"z" * v}, {"__key__": "a", "x": 3, "y": b"1", "t": "text"}),
        ({"x": lambda v: b""}, {"__key__": "a", "cls": 3}),
        ({"x": lambda v: "text"}, {"__key__": "a", "x": 3}),
        (lambda s: {"__key__": "k", "n": str(len(s)).encode()}, {"x": 1}),
        (lambda s: s, {"__key__": "a", "x": 1}),
        ("unknown", {"__key__": "a", "x": b"1"}),
        (0, {"__key__": "a", "x": b"1"}),
    ],
)
def test_encoders_that_users_give(encoder, sample):
    def outcome(library):
        try:
            sizes, archive = written(library, sample, encoder=encoder)
        except Exception as error:
            return type(error)
        return sizes, members(archive)

    assert outcome(ours) == outcome(real)


def test_mtime_is_kept_in_whole_seconds_and_fixes_the_file():
    samples = [{"__key__": f"{i}", "cls": i} for i in range(5)]
    first, second = (written(ours, *samples, mtime=1700000000.75)[1] for _ in range(2))
    assert first == second and len(first) == 5 * 1024 + 1024
    with tarfile.open(fileobj=io.BytesIO(first)) as archive:
        assert archive.next().mtime == 1700000000
    assert written(ours, *samples, mtime=0)[1] != first
    with pytest.raises(ValueError, match="before 1970"):
        written(ours, mtime=-1)


@pytest.mark.parametrize("key", ["k" * 99, "d/" * 60 + "k", "k" * 300, "ä" * 80, "sp ace\n", "/a"])
@pytest.mark.parametrize("user", ["", "u" * 31, "u" * 40, "jürgen"])
def test_long_and_strange_names_read_back(key, user):
    _, archive = written(ours, {"__key__": key, "bin": b"x"}, user=user, group=user)
    ((name, how, data),) = members(archive)
    assert (name, how[3], how[4], data) == (key + ".bin", user, user, b"x")


@pytest.mark.parametrize("key", ["a\0b", "a"])
def test_names_that_no_tar_can_hold_are_refused(key):
    sample = {"__key__": key, "bin" if "\0" in key else "dir/": b""}
    with pytest.raises(ValueError, match="no member"):
        written(ours, sample)


@pytest.mark.parametrize("writer_library", [ours, real], ids=["ours", "real"])
@pytest.mark.parametrize("reader_library", [ours, real], ids=["ours", "real"])
def test_each_reads_what_the_other_wrote(tmp_path, writer_library, reader_library):
    pattern = str(tmp_path / "part-%03d.tar")
    with writer_library.ShardWriter(pattern, maxcount=2, verbose=0) as sink:
        for i in range(5):
            sample = {name: value for name, value in SAMPLE.items() if name != "CLS"}
            sink.write({**sample, "__key__": f"s{i}", "cls": i})
    shards = sorted(tmp_path.glob("*.tar"))
    assert [path.name for path in shards] == [f"part-{i:03d}.tar" for i in range(3)]
    samples = [sample for path in shards for sample in read(reader_library, path)]
    assert [sample["__key__"] for sample in samples] == [f"s{i}" for i in range(5)]
    assert [sample["deep.er.cls"] for sample in samples] == [b"10"] * 5


def test_every_field_survives_a_round_trip_through_either_decoder(tmp_path):
    values = {k: v for k, v in VALUES.items() if k not in ("CLS", "class", "htm", "tenbin", "tb")}
    path = tmp_path / "a.tar"
    with ours.TarWriter(path) as sink:
        sink.write({"__key__": "a", **values})
    decoded = []
    for library in (ours, real):
        decoded += list(library.WebDataset(str(path), shardshuffle=False).decode("rgb8"))
    for name, value in decoded[0].items():
        if name.startswith("__"):
            continue
        assert type(value) is type(decoded[1][name]), name
        if name in ("npz", "ten"):
            assert len(value) == len(decoded[1][name])
        else:
            assert np.array_equal(np.asarray(value), np.asarray(decoded[1][name])), name
    assert decoded[0]["json"] == VALUES["json"] and np.array_equal(decoded[0]["ppm"], PICTURE)


@pytest.mark.parametrize(
    ("name", "compress", "opener"),
    [
        ("a.tar", None, open),
        ("a.tar.gz", None, gzip.open),
        ("a.tgz", None, gzip.open),
        ("a.tar", True, gzip.open),
        ("a.tar", "gz", gzip.open),
        ("a.tar.gz", False, open),
        ("a.tar", "bz2", bz2.open),
        ("a.tar.bz2", None, bz2.open),
        ("a.tar.xz", None, lzma.open),
        ("a.tar", "xz", lzma.open),
    ],
)
def test_compression(tmp_path, name, compress, opener):
    assert ours.TarWriter.tarmode(name, compress) == real.TarWriter.tarmode(name, compress)
    path = tmp_path / name
    with ours.TarWriter(str(path), compress=compress, mtime=0) as sink:
        sink.write({"__key__": "a", "txt": "x" * 5000})
    first = path.read_bytes()
    with opener(path, "rb") as stream:
        assert members(stream.read())[0][0] == "a.txt"
    with ours.TarWriter(str(path), compress=compress, mtime=0) as sink:
        sink.write({"__key__": "a", "txt": "x" * 5000})
    assert path.read_bytes() == first


def test_pipes_and_standard_output(tmp_path, run_python):
    with ours.TarWriter(f"pipe:cat > {tmp_path}/a.tar") as sink:
        sink.write({"__key__": "a", "txt": "x"})
    assert members((tmp_path / "a.tar").read_bytes())[0][0] == "a.txt"
    code = """
    import headrace.webdataset as wds
    with wds.TarWriter("-", mtime=0) as sink:
        sink.write({"__key__": "a", "txt": "x"})
    """
    done = run_python(code)
    assert done.returncode == 0, done.stderr
    assert members(done.stdout.encode())[0][0] == "a.txt"


def test_large_values_and_unbuffered_files(tmp_path):
    class Stingy(io.FileIO):
        def write(self, data):
            return super().write(data[:100_000])

    values = [bytes([i]) * size for i, size in enumerate((3 << 20, 1 << 20, 5, (1 << 20) - 1))]
    with Stingy(tmp_path / "a.tar", "w") as stream, ours.TarWriter(stream) as sink:
        for i, value in enumerate(values):
            sink.write({"__key__": f"{i}", "bin": value})
    assert [data for _, _, data in members((tmp_path / "a.tar").read_bytes())] == values


def test_a_stream_that_fails_fails_the_write(tmp_path):
    class Full(io.BytesIO):
        def write(self, data):
            raise OSError(28, "No space left on device")

    sink = ours.TarWriter(Full())
    sink.write({"__key__": "a", "bin": b"small"})  # still in memory
    with pytest.raises(OSError, match="No space"):
        sink.close()


def test_closing_twice_is_fine_and_writing_then_is_not():
    stream = io.BytesIO()
    sink = ours.TarWriter(stream)
    sink.close()
    sink.close()
    assert not stream.closed
    with pytest.raises(OSError, match="closed"):
        sink.write({"__key__": "a", "bin": b""})


# --- ShardWriter ---------------------------------------------------------------------------------


def shards_of(library, folder, capsys, **options):
    posted = []
    folder.mkdir()
    pattern = str(folder / "p-%02d.tar")
    with library.ShardWriter(pattern, post=posted.append, **options) as sink:
        for i in range(7):
            sink.write({"__key__": f"{i}", "bin": bytes(400 * i), "cls": i})
    counts = [len(members(path.read_bytes())) for path in sorted(folder.iterdir())]
    names = [name.replace(str(folder), "") for name in posted]
    return counts, names, capsys.readouterr().out.replace(str(folder), "")


@pytest.mark.parametrize(
    "options",
    [{}, {"maxcount": 3}, {"maxsize": 1000}, {"maxcount": 1}, {"start_shard": 5, "verbose": 0}],
)
def test_shards_are_cut_and_told_at_the_same_places(tmp_path, capsys, options):
    expected = shards_of(real, tmp_path / "real", capsys, **options)
    assert shards_of(ours, tmp_path / "ours", capsys, **options) == expected


def test_post_sees_a_whole_shard_also_through_an_opener(tmp_path):
    seen = []

    def post(name):
        seen.append(len(members((tmp_path / name).read_bytes())))

    def opener(name):
        return open(tmp_path / name, "wb")

    with ours.ShardWriter("%d.tar", maxcount=2, post=post, opener=opener, verbose=0) as sink:
        for i in range(4):
            sink.write({"__key__": f"{i}", "cls": i})
    assert seen == [2, 2]


def test_data_sets_of_hugging_face_read_our_shards(tmp_path, monkeypatch):
    datasets = pytest.importorskip("datasets", reason="datasets is not installed: NOT TESTED")
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    with ours.TarWriter(tmp_path / "a.tar") as sink:
        for i in range(4):
            sink.write({"__key__": f"{i}", "txt": f"caption {i}", "json": {"n": i}})
    rows = datasets.load_dataset(
        "webdataset", data_files=[str(tmp_path / "a.tar")], split="train", streaming=True
    )
    assert [(row["__key__"], row["json"]["n"]) for row in rows] == [(f"{i}", i) for i in range(4)]


@pytest.mark.parametrize("name", [n for n in dir(real.writer) if not n.startswith("_")])
def test_names_and_parameters_of_the_module_are_the_real_ones(name):
    theirs = getattr(real.writer, name)
    if getattr(theirs, "__module__", None) not in ("webdataset.writer", "webdataset.gopen"):
        return
    mine = getattr(writer, name)
    assert [(p.name, p.kind, p.default) for p in inspect.signature(mine).parameters.values()] == [
        (p.name, p.kind, p.default) for p in inspect.signature(theirs).parameters.values()
    ]


def test_small_things():
    assert (
        writer.bytestr(b"a") == b"a" and writer.bytestr("a") == b"a" and writer.bytestr(1) == b"1"
    )
    handlers = {}
    writer.add_handlers(handlers, "a b", len)
    writer.add_handlers(handlers, ["c"], str)
    assert handlers == {"a": len, "b": len, "c": str}
    assert pickle.loads(writer.default_handlers["pyd"]([1])) == [1]
    assert json.loads(writer.default_handlers["json"]({"a": 1})) == {"a": 1}
