"""torchvision, Albumentations and plain numpy functions run unchanged, and draw as seeded."""

from __future__ import annotations

import functools
import io
import sys
from pathlib import Path

import headrace as hr
import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).parent))  # workers import from there, too

import user_functions as user


@pytest.fixture
def pictures(make_tar, tmp_path):
    """Twelve pictures of 40 x 30 with a class, decoded as uint8."""
    image = pytest.importorskip("PIL.Image")
    rng = np.random.default_rng(0)

    def sample(i):
        file = io.BytesIO()
        pixels = rng.integers(0, 256, (30, 40, 3), np.uint8)
        image.fromarray(pixels).save(file, "PNG")
        return f"p{i:02d}", {"png": file.getvalue(), "cls": str(i).encode()}

    make_tar(tmp_path / "pictures.tar", map(sample, range(12)))
    return hr.open(tmp_path / "pictures.tar").shuffle(seed=9)


def by_key(loader):
    with loader:
        return {
            key: np.asarray(row).copy()
            for batch in loader
            for key, row in zip(batch.keys, batch["image"], strict=True)
        }


def same_everywhere(pipeline):
    """The rows by key, after checking that workers change nothing."""
    here = by_key(pipeline.loader())
    there = by_key(pipeline.loader(workers=2))
    assert here.keys() == there.keys()
    assert all((here[key] == there[key]).all() for key in here)
    return here


def test_torchvisions_transforms_run_unchanged(pictures):
    torch = pytest.importorskip("torch")
    v2 = pytest.importorskip("torchvision.transforms.v2")
    transform = v2.Compose(
        [
            v2.RandomResizedCrop(16, antialias=True),
            v2.RandomHorizontalFlip(),
            v2.ColorJitter(0.3, 0.3),
            v2.ToDtype(torch.float32, scale=True),
            v2.Normalize([0.5] * 3, [0.25] * 3),
        ]
    )
    decoded = pictures.decode(image=hr.image("png"), label=hr.integer())
    pipeline = decoded.map(transform, on="image", to="torch").batch(4)
    rows = same_everywhere(pipeline)
    assert all(row.shape == (3, 16, 16) for row in rows.values())
    loader = pipeline.loader(to="torch")
    first, second = ([batch["image"] for batch in loader] for _ in range(2))
    assert first[0].dtype == torch.float32
    assert not torch.equal(first[0], second[0])  # another epoch, other crops

    plain = v2.Compose([v2.Resize((8, 8), antialias=True), v2.Grayscale()])
    for batch in decoded.map(plain, on="image", to="torch").batch(4).loader():
        source = decoded.source.sets[0]
        for key, row in zip(batch.keys, batch["image"], strict=True):
            picture = np.asarray(user.open_picture(source[key]["png"]))
            wanted = plain(torch.from_numpy(picture.transpose(2, 0, 1).copy()))
            assert (torch.from_numpy(row) == wanted).all()


def test_torchvisions_transforms_of_pil_pictures_run_from_the_bytes(pictures):
    v2 = pytest.importorskip("torchvision.transforms.v2")
    transform = v2.Compose([user.open_picture, v2.RandomCrop(16), v2.PILToTensor()])
    pipeline = pictures.decode(image=hr.bytes("png")).map(transform, on="image").batch(4)
    rows = same_everywhere(pipeline)
    assert all(row.shape == (3, 16, 16) and row.dtype == np.uint8 for row in rows.values())


def test_albumentations_runs_unchanged_and_is_seeded_by_position(pictures):
    albumentations = pytest.importorskip("albumentations")
    augment = albumentations.Compose(
        [
            albumentations.RandomCrop(16, 16),
            albumentations.HorizontalFlip(),
            albumentations.RandomBrightnessContrast(p=1),
        ]
    )
    decoded = pictures.decode(image=hr.image("png").layout("HWC"), label=hr.integer())
    pipeline = decoded.map(augment, on=("image",), keywords=True).batch(4)
    rows = same_everywhere(pipeline)
    assert all(row.shape == (16, 16, 3) for row in rows.values())
    later = pipeline.loader()
    later.set_epoch(1)
    assert any((row != rows[key]).any() for key, row in by_key(later).items())
    several = pictures.decode(image=hr.image("png").layout("HWC"), mask=hr.image("png").gray())
    both = several.map(user.first_channel, on="mask").map(
        augment, on=("image", "mask"), keywords=True
    )
    for batch in both.batch(4).loader():
        assert batch["image"].shape == (4, 16, 16, 3)
        assert batch["mask"].shape == (4, 16, 16)


def test_plain_numpy_functions_run_unchanged(pictures):
    decoded = pictures.decode(image=hr.image("png"))
    for function, wanted in (
        (np.flipud, np.flipud),
        (np.float32, np.float32),
        (functools.partial(np.mean, axis=0), lambda x: x.mean(axis=0)),
    ):
        rows = same_everywhere(decoded.map(function, on="image").batch(4))
        for key, row in rows.items():
            picture = np.asarray(user.open_picture(decoded.source.sets[0][key]["png"])).transpose(
                2, 0, 1
            )
            assert (row == wanted(picture)).all()
            assert row.dtype == wanted(picture).dtype
    batches = decoded.map(np.float32, on="image").batch(4).map_batches(np.sqrt, on="image")
    assert all(batch["image"].dtype == np.float32 for batch in batches.loader(workers=1))
