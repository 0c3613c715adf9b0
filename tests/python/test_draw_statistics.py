"""What is drawn has the distribution of what torchvision draws: each number by the test of
Kolmogorov and Smirnov, and how numbers go together by their correlations. Seeds are fixed; the
bounds are those of five standard errors."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from pathlib import Path

import headrace as hr
import numpy as np
import pytest
from test_images import encoded, picture, shard

torch = pytest.importorskip("torch")
pytest.importorskip("torchvision")
from torchvision import transforms as T  # noqa: E402

WIDTH, HEIGHT = 40, 24
DRAWS = 5000
ORDERS = {order: i for i, order in enumerate(itertools.permutations(range(4)))}
JITTER = ("brightness", "contrast", "saturation", "hue")


def expect_alike(ours: np.ndarray, theirs: np.ndarray) -> None:
    """Rows of draws, columns of numbers."""
    assert ours.shape == theirs.shape
    draws, numbers = ours.shape
    for i in range(numbers):
        values = np.unique(np.concatenate([ours[:, i], theirs[:, i]]))
        shares = [
            np.searchsorted(np.sort(each[:, i]), values, side="right") / draws
            for each in (ours, theirs)
        ]
        # exp(-2 * 2.7**2) is the chance of five standard errors.
        assert np.abs(shares[0] - shares[1]).max() < 2.7 * (2 / draws) ** 0.5, i
    if numbers > 1:
        apart = np.corrcoef(ours.T) - np.corrcoef(theirs.T)
        assert np.abs(apart).max() < 5 * (2 / draws) ** 0.5


@pytest.fixture(scope="module")
def ds(tmp_path_factory: pytest.TempPathFactory) -> hr.Dataset:
    folder: Path = tmp_path_factory.mktemp("pictures")
    file = encoded(picture(1, (WIDTH, HEIGHT)), "PNG")
    return shard(folder, [{"png": file, "cls": b"1"}, {"png": file, "cls": b"0"}])


def told(ds: hr.Dataset, recipe: hr.Image, numbers: Callable[[dict], list]) -> np.ndarray:
    loader = ds.shuffle(seed=5).decode(image=recipe).batch(1).loader(threads=1)
    return np.array(
        [numbers(loader.explain(0, epoch=e)["columns"]["image"][0]) for e in range(DRAWS)], float
    )


def pixels() -> torch.Tensor:
    return torch.zeros(3, HEIGHT, WIDTH)


def erased() -> list[float]:
    top, left, height, width, _ = T.RandomErasing.get_params(pixels(), (0.02, 0.33), (0.3, 3.3))
    return spread(top, left, height, width)


def spread(top: int, left: int, height: int, width: int) -> list[float]:
    """A box as its area, its shape and its place: numbers that are drawn by themselves."""
    down, right = HEIGHT - height, WIDTH - width
    return [height * width, np.log(height / width), top / max(down, 1), left / max(right, 1)]


def jittered(entry: dict) -> list[float]:
    names = [action["do"] for action in entry["actions"]]
    values = {action["do"]: action["value"] for action in entry["actions"]}
    return [ORDERS[tuple(JITTER.index(name) for name in names)], *(values[n] for n in JITTER)]


def torchvision_jitter() -> list[float]:
    ranges = ([0.6, 1.4], [0.5, 1.5], [0.2, 1.8], [-0.1, 0.1])
    order, *values = T.ColorJitter.get_params(*ranges)
    return [ORDERS[tuple(order.tolist())], *values]


def moved(entry: dict) -> list[float]:
    (action,) = entry["actions"]
    return [action["degrees"], *action["translate"], action["scale"], *action["shear"]]


def torchvision_affine() -> list[float]:
    angle, translate, scale, shear = T.RandomAffine.get_params(
        [-10.0, 35.0], [0.25, 0.5], [0.5, 2.0], [-3.0, 9.0, 1.0, 20.0], [WIDTH, HEIGHT]
    )
    return [angle, *translate, scale, *shear]


CASES: dict[str, tuple] = {
    "random_crop": (
        lambda r: r.random_crop((17, 32)),
        lambda entry: entry["box"][:2],
        lambda: T.RandomCrop.get_params(pixels(), (17, 32))[:2],
    ),
    "random_resized_crop": (
        lambda r: r.random_resized_crop(8),
        lambda entry: spread(*entry["box"]),
        lambda: spread(*T.RandomResizedCrop.get_params(pixels(), [0.08, 1.0], [3 / 4, 4 / 3])),
    ),
    "random_erasing": (
        lambda r: r.random_erasing(1.0),
        lambda entry: spread(*entry["box"]),
        erased,
    ),
    "color_jitter": (
        lambda r: r.color_jitter(0.4, 0.5, 0.8, 0.1),
        jittered,
        torchvision_jitter,
    ),
    "random_affine": (
        lambda r: r.random_affine(
            (-10, 35), translate=(0.25, 0.5), scale=(0.5, 2.0), shear=(-3, 9, 1, 20)
        ),
        moved,
        torchvision_affine,
    ),
    "gaussian_blur": (
        lambda r: r.gaussian_blur(3, (0.3, 1.7)),
        lambda entry: [entry["actions"][0]["sigma"]],
        lambda: [T.GaussianBlur.get_params(0.3, 1.7)],
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_numbers_are_drawn_as_torchvision_draws_them(ds: hr.Dataset, name: str) -> None:
    make, numbers, torchvision = CASES[name]
    torch.manual_seed(3)
    theirs = np.array([torchvision() for _ in range(DRAWS)], float)
    expect_alike(told(ds, make(hr.image("png")), numbers), theirs)


@pytest.mark.parametrize("alpha", [0.2, 1.0, 4.0])
@pytest.mark.parametrize("mixing", ["mixup", "cutmix"])
def test_shares_of_mixed_rows_are_drawn_from_beta(
    ds: hr.Dataset, mixing: str, alpha: float
) -> None:
    columns = {"x": hr.image("png").resize(4).to_float(), "y": hr.integer()}
    batches = ds.shuffle(seed=5, lanes=1).decode(**columns).batch(2)
    loader = batches.mix_rows("x", "y", classes=2, **{mixing: alpha}).loader(threads=1)
    mixed = [loader.explain(0, epoch=epoch)["mixed"] for epoch in range(DRAWS)]
    torch.manual_seed(3)
    shares = torch.distributions.Beta(alpha, alpha).sample((DRAWS, 1))
    if mixing == "mixup":
        return expect_alike(np.array([[m["lam"]] for m in mixed]), shares.numpy())
    ours = np.array([[m["lam"], *m["centre"]] for m in mixed])
    expect_alike(ours, torch.cat([shares, torch.rand(DRAWS, 2)], dim=1).numpy())


@pytest.mark.parametrize("p", [0.5, 0.8])
def test_flips_happen_as_often_as_asked(ds: hr.Dataset, p: float) -> None:
    for recipe in (hr.image("png").flip(p), hr.image("png").vertical_flip(p)):
        flipped = told(ds, recipe, lambda entry: [entry["flipped"]])
        assert abs(flipped.mean() - p) < 5 * (p * (1 - p) / DRAWS) ** 0.5
