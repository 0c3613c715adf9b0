"""Pictures of `decode("pil")` that wait with decoding: nobody can tell, whatever is done."""

from __future__ import annotations

import copy
import io
import pickle
import random
from pathlib import Path

import headrace.webdataset as ours
import numpy as np
import pytest
from small_archives import write

real = pytest.importorskip("webdataset", reason="webdataset is not installed: NOT TESTED")
Image = pytest.importorskip("PIL.Image", reason="Pillow is not installed: NOT TESTED")
from PIL import ImageDraw, ImageFilter, ImageOps  # noqa: E402

pytestmark = pytest.mark.filterwarnings("ignore")

DATA = Path(__file__).parents[2] / "data" / "codec"
FILTERS = [None, *Image.Resampling]


def is_waiting(picture):
    return type(picture) is not Image.Image


def decoded(library, file):
    try:
        return library.imagehandler("pil")(".jpg", file)
    except Exception as error:
        return type(error)


def waiting_files():
    files = []
    for path in sorted(DATA.rglob("*.jpg")):
        picture = decoded(ours, path.read_bytes())
        if isinstance(picture, Image.Image) and is_waiting(picture):
            files.append(path)
    return [path for path in files if np.prod(Image.open(path).size) < 1 << 20]


FILES = waiting_files()


def pair(path):
    """The same picture of the real one and of ours."""
    file = path.read_bytes()
    theirs, mine = decoded(real, file), decoded(ours, file)
    assert is_waiting(mine)
    return theirs, mine


def test_most_ordinary_files_can_wait():
    assert len(FILES) > 30


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_parts_and_their_scaling_have_the_bytes_of_pillow(path):
    theirs, mine = pair(path)
    assert (mine.size, mine.mode, mine.info, mine.format) == (
        *(theirs.size, theirs.mode, theirs.info, theirs.format),
    )
    draw = random.Random(path.name)
    for _ in range(12):
        left, top = draw.randrange(mine.width), draw.randrange(mine.height)
        box = (left, top, draw.randint(left + 1, mine.width), draw.randint(top + 1, mine.height))
        size, kind = (draw.randint(1, 300), draw.randint(1, 300)), draw.choice(FILTERS)
        their, my = theirs.crop(box), mine.crop(box)
        assert is_waiting(my) and my.size == their.size
        their_scaled, my_scaled = their.resize(size, kind), my.resize(size, kind)
        what = box, size, kind
        assert not is_waiting(my_scaled) and my_scaled.info == their_scaled.info
        # Also the byte of each pixel that Pillow does not use.
        assert my_scaled.tobytes("raw", "RGBX") == their_scaled.tobytes("raw", "RGBX"), what
        assert my.tobytes("raw", "RGBX") == their.tobytes("raw", "RGBX"), what
        assert not is_waiting(my)
    inner = (0, 0, (mine.width + 1) // 2, mine.height)
    assert is_waiting(mine), "its parts leave it as it is"
    line = (*inner[:3], 1)
    assert mine.crop(inner).crop(line) == theirs.crop(inner).crop(line)
    assert mine.tobytes("raw", "RGBX") == theirs.tobytes("raw", "RGBX")
    assert not is_waiting(mine)


@pytest.mark.parametrize("width", [1, 2, 3, 30])
def test_slivers_are_scaled_as_pillow_does(width):
    file = io.BytesIO()
    noise = np.random.default_rng(width).integers(0, 256, (301, width, 3), dtype=np.uint8)
    Image.fromarray(noise).save(file, "JPEG", quality=95)
    theirs, mine = decoded(real, file.getvalue()), decoded(ours, file.getvalue())
    assert is_waiting(mine)
    for size in [(7, 33), (1, 99), (2, 350), (200, 100)]:
        for kind in FILTERS:
            assert mine.crop((0, 0, *mine.size)).resize(size, kind) == theirs.resize(size, kind)


def drawn_on(picture):
    ImageDraw.Draw(picture).line((0, 0, 9, 9), (255, 0, 0))
    return picture


def saved(picture):
    file = io.BytesIO()
    picture.save(file, "PNG")
    return file.getvalue()


def shrunk(picture):
    picture.thumbnail((20, 20))
    return picture


def with_pixel(picture):
    picture.putpixel((1, 1), (1, 2, 3))
    return picture


def pasted(picture):
    picture.paste((9, 9, 9), (2, 2, 5, 5))
    return picture


OPERATIONS = {
    "repr": lambda p: repr(p).split(" at ")[0],
    "class": lambda p: p.__class__,
    "array": lambda p: np.asarray(p).tobytes(),
    "writeable": lambda p: np.array(p).sum(),
    "pixel": lambda p: p.getpixel((3, 2)),
    "load": lambda p: p.load()[2, 1],
    "with_pixel": with_pixel,
    "pasted": pasted,
    "drawn": drawn_on,
    "thumbnail": shrunk,
    "saved": saved,
    "copy": lambda p: p.copy(),
    "copied": copy.copy,
    "deep": copy.deepcopy,
    "pickle": lambda p: pickle.loads(pickle.dumps(p)),
    "flip": lambda p: p.transpose(Image.Transpose.FLIP_LEFT_RIGHT),
    "rotate": lambda p: p.rotate(33, expand=True),
    "gray": lambda p: p.convert("L"),
    "bands": lambda p: [band.tobytes() for band in p.split()],
    "blur": lambda p: p.filter(ImageFilter.GaussianBlur(2)),
    "upright": ImageOps.exif_transpose,
    "exif": lambda p: dict(p.getexif()),
    "histogram": lambda p: p.histogram(),
    "outside": lambda p: p.crop((-3, -2, 20, 20)),
    "empty": lambda p: p.crop((5, 5, 5, 9)),
    "halves": lambda p: p.crop((1.5, 2.5, 20.4, 19.6)),
    "backwards": lambda p: p.crop((9, 9, 2, 2)),
    "whole": lambda p: p.crop(),
    "same_size": lambda p: p.resize(p.size),
    "boxed": lambda p: p.resize((9, 7), box=(1.5, 1, 20, 19)),
    "reduced": lambda p: p.resize((9, 7), reducing_gap=2.0),
    "listed": lambda p: p.resize([9, 7]),
    "no_size": lambda p: p.resize((0, 5)),
    "no_filter": lambda p: p.resize((9, 7), 77),
    "closed": lambda p: (p.close(), p.load()),
    "readonly": lambda p: p.readonly,
    "equal": lambda p: p == p.copy(),
}


@pytest.mark.parametrize("name", OPERATIONS)
def test_whatever_is_done_gives_what_a_plain_picture_gives(name):
    def outcome(picture):
        try:
            found = OPERATIONS[name](picture)
        except Exception as error:
            return type(error)
        return (found, found.info) if isinstance(found, Image.Image) else found

    for path in FILES[::5]:
        theirs, mine = pair(path)
        assert outcome(mine) == outcome(theirs), path.name


def test_equality_looks_at_pixels_in_both_directions():
    theirs, mine = pair(FILES[0])
    assert theirs == mine
    assert pair(FILES[0])[1] == theirs and pair(FILES[0])[1] == pair(FILES[0])[1]
    assert mine != pair(FILES[0])[1].transpose(Image.Transpose.FLIP_TOP_BOTTOM)


def test_damage_is_an_error_of_decode_or_the_same_pixels_later():
    """What waits can be decoded: bytes are changed at random, and both must agree."""
    draw = random.Random(3)
    waited = 0
    for path in FILES[::4]:
        file = path.read_bytes()
        for _ in range(60):
            damaged = bytearray(file)
            for _ in range(draw.randint(1, 3)):
                damaged[draw.randrange(2, len(file))] = draw.choice([0, 255, draw.randrange(256)])
            if draw.random() < 0.2:
                del damaged[draw.randrange(20, len(file)) :]
            theirs, mine = decoded(real, bytes(damaged)), decoded(ours, bytes(damaged))
            if isinstance(theirs, type):
                assert mine is theirs, path.name
                continue
            waited += is_waiting(mine)
            if theirs.width * theirs.height > 1 << 20:
                continue
            box = (0, theirs.height // 2, theirs.width, theirs.height)
            if box[1] < box[3]:
                assert mine.crop(box).resize((31, 17)) == theirs.crop(box).resize((31, 17))
            assert mine == theirs, path.name
    assert waited > 100


def test_transforms_of_torchvision_give_the_same_tensors():
    torch = pytest.importorskip("torch", reason="torch is not installed: NOT TESTED")
    torchvision = pytest.importorskip("torchvision", reason="NOT TESTED")
    from torchvision.transforms import v2

    v1 = torchvision.transforms
    pipelines = [
        v1.Compose([v1.RandomResizedCrop(60), v1.RandomHorizontalFlip(), v1.ToTensor()]),
        v1.Compose([v1.Resize(70), v1.CenterCrop(64), v1.ToTensor()]),
        v1.Compose([v1.RandAugment(), v1.RandomCrop(40, pad_if_needed=True), v1.PILToTensor()]),
        v2.Compose([v2.RandomResizedCrop(60), v2.RandomHorizontalFlip(), v2.PILToTensor()]),
        v2.Compose([v2.ColorJitter(0.4, 0.4, 0.4), v2.RandomResizedCrop(32), v2.ToImage()]),
        v2.Compose([v2.Resize((50, 60), interpolation=3), v2.RandomRotation(9), v2.PILToTensor()]),
    ]
    for number, pipeline in enumerate(pipelines):
        for path in FILES[::6]:
            outcomes = []
            for picture in pair(path):
                torch.manual_seed(number)
                outcomes.append(pipeline(picture))
            assert torch.equal(*outcomes), (number, path.name)


def test_a_file_that_pillow_cannot_decode_fails_in_decode(tmp_path):
    file = FILES[0].read_bytes()
    url = write(tmp_path / "x.tar", [("a.jpg", file), ("b.jpg", file[:-40]), ("c.jpg", file)])

    def keys(library):
        data = library.WebDataset(url, shardshuffle=False)
        return [s["__key__"] for s in data.decode("pil", handler=library.ignore_and_continue)]

    assert keys(ours) == keys(real) == ["a", "c"]


def test_pictures_wait_in_workers_and_come_out_plain():
    torch = pytest.importorskip("torch", reason="torch is not installed: NOT TESTED")
    samples = [pair(path)[1] for path in FILES[:3]]
    loader = torch.utils.data.DataLoader(samples, batch_size=None, num_workers=1)
    for path, picture in zip(FILES, loader, strict=False):
        assert picture == pair(path)[0] and not is_waiting(picture)


def test_strict_mode_decodes_at_once(monkeypatch):
    monkeypatch.setenv("HEADRACE_WDS_STRICT", "1")
    assert not is_waiting(decoded(ours, FILES[0].read_bytes()))
