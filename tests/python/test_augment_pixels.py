"""Every operation of RandAugment and TrivialAugmentWide, at several strengths, against torchvision
v2 with the strength that was drawn: on pictures of many sizes and kinds.

Tolerances, in levels of 255, are those of docs/images.md.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from pathlib import Path

import headrace as hr
import numpy as np
import pytest
from PIL import Image
from test_images import encoded, shard

torch = pytest.importorskip("torch")
pytest.importorskip("torchvision")
from test_augment_tables import MOVES, NAMES, told  # noqa: E402
from test_image_parity import GOLDEN, strip  # noqa: E402
from torchvision_replay import replay  # noqa: E402

PICTURES: dict[str, Callable[[], Image.Image]] = {
    "photograph": lambda: Image.open(GOLDEN / "src_d.png").resize((61, 50)),
    "gray photograph": lambda: Image.open(GOLDEN / "src_f.png").convert("L"),
    "noise": lambda: strip(37, 44),
    "gray noise": lambda: strip(40, 31).convert("L"),
    "two levels": lambda: Image.fromarray(np.array(strip(26, 33)) // 128 * 9 + 90),
    "one colour": lambda: Image.new("RGB", (20, 14), (7, 200, 90)),
    "7 x 5": lambda: strip(5, 7),
    "1 x 41": lambda: strip(41, 1),
    "53 x 1": lambda: strip(1, 53),
    "a pixel": lambda: strip(1, 1),
}
POLICIES: dict[str, Callable[[hr.Image, str], hr.Image]] = {
    "rand_augment 5": lambda r, filter: r.rand_augment(1, 5, filter=filter, fill=50),
    "rand_augment 17": lambda r, filter: r.rand_augment(1, 17, filter=filter),
    "rand_augment 29": lambda r, filter: r.rand_augment(1, 29, filter=filter, fill=50),
    "trivial_augment_wide": lambda r, filter: r.trivial_augment_wide(filter=filter, fill=200),
}
EPOCHS, STRENGTHS = 250, 3  # that are looked through, and of an operation compared at most
EQUAL = ("posterize", "solarize", "equalize")


def loader_of(ds: hr.Dataset, recipe: hr.Image) -> hr.Loader:
    return ds.shuffle(seed=1).decode(image=recipe).batch(1).loader(threads=1)


def drawn_in(loader: hr.Loader, epoch: int) -> list[dict]:
    return loader.explain(0, epoch=epoch)["columns"]["image"]


@pytest.fixture(scope="module")
def epochs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[int]]:
    """For each policy the epochs that draw its operations, some strengths of each. What is drawn
    depends on neither picture nor filter."""
    ds = shard(tmp_path_factory.mktemp("noise"), [{"png": encoded(strip(47, 64), "PNG")}])
    chosen = {}
    for policy, make in POLICIES.items():
        loader = loader_of(ds, make(hr.image("png"), "nearest"))
        first: dict[tuple[str, float], int] = {}
        for epoch in range(EPOCHS):
            for action in drawn_in(loader, epoch)[0]["actions"]:
                first.setdefault(told(action), epoch)
        counts = Counter(name for name, _ in first)
        assert set(counts) >= {*NAMES.values(), *MOVES}, policy
        order = sorted(first, key=first.__getitem__)
        of_name = {name: [each for each in order if each[0] == name] for name in counts}
        chosen[policy] = [first[each] for some in of_name.values() for each in some[:STRENGTHS]]
    return chosen


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("picture", PICTURES)
def test_each_operation_has_the_pixels_of_torchvision(
    tmp_path: Path, epochs: dict[str, list[int]], picture: str, policy: str
) -> None:
    """Whole numbers equal, colours and blended pixels within 1. A nearest pixel may be that from
    the other side of a boundary: of so many pixels one in a hundred."""
    image = PICTURES[picture]()
    pixels = torch.from_numpy(np.array(image).reshape(image.height, image.width, -1))
    pixels = pixels.permute(2, 0, 1)
    ds = shard(tmp_path, [{"png": encoded(image, "PNG")}])
    for filter in ("nearest", "bilinear"):
        recipe = POLICIES[policy](hr.image("png").channels("unchanged"), filter)
        loader = loader_of(ds, recipe)
        for epoch in epochs[policy]:
            drawn = drawn_in(loader, epoch)
            (action,) = drawn[0]["actions"]
            if filter == "bilinear" and action["do"] != "affine":
                continue
            row = loader.row_at(0, epoch=epoch)["image"][0]
            theirs = replay(pixels, recipe._spec["ops"], drawn).numpy()
            assert row.shape == theirs.shape
            off = np.abs(row.astype(int) - theirs.astype(int))
            if action["do"] == "affine" and filter == "nearest":
                assert (off.max(axis=0) > 0).sum() <= 0.01 * image.width * image.height, action
            else:
                assert off.max() <= (0 if action["do"] in EQUAL else 1), action
