"""Masks and boxes beside pictures, against torchvision's tv_tensors with the same parameters."""

from __future__ import annotations

import io
import json
from pathlib import Path

import headrace as hr
import numpy as np
import pytest
from PIL import Image
from test_images import encoded, shard

torch = pytest.importorskip("torch")
tv_tensors = pytest.importorskip("torchvision.tv_tensors")
F = pytest.importorskip("torchvision.transforms.v2.functional")
from torchvision_replay import replay_labels  # noqa: E402

SIZES = [(61, 83), (90, 40), (7, 5), (1, 30), (30, 1), (64, 64)]  # height, width
FORMATS = ("xyxy", "xywh", "cxcywh")


def numbers(size: tuple[int, int], seed: int, top: int = 21) -> np.ndarray:
    return np.random.default_rng(seed).integers(0, top, size).astype(np.uint8)


def boxes_in(size: tuple[int, int], seed: int, count: int = 6) -> np.ndarray:
    height, width = size
    random = np.random.default_rng(seed)
    x = np.sort(random.uniform(0, width, (count, 2)))
    y = np.sort(random.uniform(0, height, (count, 2)))
    return np.stack([x[:, 0], y[:, 0], x[:, 1], y[:, 1]], axis=1)


def npy(array: np.ndarray) -> bytes:
    out = io.BytesIO()
    np.save(out, array)
    return out.getvalue()


def sample(size: tuple[int, int], seed: int) -> dict[str, bytes]:
    """The picture's red channel is its mask, so that both can be compared pixel by pixel."""
    mask = numbers(size, seed)
    rgb = np.stack([mask, mask, mask], axis=-1)
    return {
        "png": encoded(Image.fromarray(rgb), "PNG"),
        "seg.png": encoded(Image.fromarray(mask), "PNG"),
        "npy": npy(boxes_in(size, seed)),
    }


def decoded(ds: hr.Dataset, recipe: hr.Image, rows: int, **boxes: object) -> tuple:
    fields = {
        "boxes": hr.boxes("npy", like="image", **boxes),  # before the picture, on purpose
        "mask": hr.mask("seg.png", like="image"),
        "image": recipe,
    }
    loader = ds.shuffle(seed=5).decode(**fields).batch(rows).loader(threads=2)
    (batch,) = loader
    return loader, batch


FIXED = {
    "resize": lambda r: r.resize((33, 47), filter="nearest"),
    "shorter": lambda r: r.resize_shorter(20, filter="nearest"),
    "longer": lambda r: r.resize_longer(50, filter="nearest"),
    "center_crop": lambda r: r.center_crop((24, 52)),
    "pad": lambda r: r.pad((3, 5, 7, 11)),
    "pad edge": lambda r: r.pad((3, 5, 7, 11), mode="edge"),
    "reflect": lambda r: r.resize(40, filter="nearest").pad(9, mode="reflect"),
    "flips": lambda r: r.flip(1.0).vertical_flip(1.0),
    "turn": lambda r: r.rotate90(1),
    "crops between turns": lambda r: (
        r.rotate90(1).center_crop(24).vertical_flip(1.0).center_crop((13, 21)).rotate90(1)
    ),
    "flip, crop, turn": lambda r: r.flip(1.0).center_crop((40, 20)).rotate90(3),
    "crop, resize, crop": lambda r: (
        r.center_crop(30).resize(41, filter="nearest").flip(1.0).center_crop((17, 23))
    ),
}
DRAWN = {
    "random_resized_crop": lambda r: r.random_resized_crop((24, 32), filter="nearest").flip(),
    "random_crop": lambda r: r.random_crop(32, padding=4, pad_if_needed=True),
    "affine": lambda r: r.random_affine(30, translate=(0.2, 0.1), scale=(0.7, 1.4), shear=8),
    "turns": lambda r: r.rotate90().vertical_flip(),
    "random_crop, mirrored edges": lambda r: r.random_crop(
        32, padding=(9, 4), pad_if_needed=True, mode="symmetric"
    ),
    "flips around an affine": lambda r: (
        r.resize(48, filter="nearest").flip().random_affine(90).flip()
    ),
    "rand_augment": lambda r: r.rand_augment(2, 23),
    "trivial_augment_wide": lambda r: r.trivial_augment_wide(),
    "all": lambda r: (
        r.random_resized_crop((40, 56), filter="nearest")
        .flip()
        .rand_augment(1, 21)
        .rotate90()
        .random_crop(24)
        .vertical_flip()
        .trivial_augment_wide()
        .pad(2, mode="edge")
    ),
}
POLICIES = ("rand_augment", "trivial_augment_wide", "all")


def drawn_for(loader: hr.Loader, batch: hr.Batch, row: int) -> list[dict]:
    return loader.explain(int(batch.positions[row]), epoch=0)["columns"]["image"]


def actions(drawn: list[dict]) -> set[str]:
    """What policies did, or an affine operation."""
    return {action["do"] for entry in drawn for action in entry.get("actions", ())}


@pytest.mark.parametrize("name", [*FIXED, *DRAWN])
def test_masks_go_where_the_pixels_go(tmp_path: Path, name: str) -> None:
    """The picture is its mask, three times, and scaled by nearest too. Rows whose colours a policy
    changed are left out."""
    recipe = {**FIXED, **DRAWN}[name](hr.image("png"))
    ds = shard(tmp_path, [sample(size, i) for i, size in enumerate(SIZES * 8)])
    loader, batch = decoded(ds, recipe, len(SIZES) * 8)
    compared = 0
    for row, (image, mask) in enumerate(zip(batch["image"], batch["mask"], strict=True)):
        if actions(drawn_for(loader, batch, row)) <= {"affine"}:
            np.testing.assert_array_equal(image[0], mask)
            compared += 1
    assert compared > 1 if name in POLICIES else compared == len(batch)


def test_colours_touch_neither_masks_nor_boxes(tmp_path: Path) -> None:
    plain = hr.image("png").random_resized_crop(24).flip()
    coloured = (
        plain.color_jitter(0.5, 0.5, 0.5, 0.2)
        .gaussian_blur(3)
        .sharpness(3, 1)
        .posterize(2, 1)
        .solarize(100, 1)
        .autocontrast(1)
        .equalize(1)
        .invert(1)
        .random_grayscale(1)
        .normalize(0.5, 0.5)
        .random_erasing(1.0)
    )
    ds = shard(tmp_path, [sample(size, i) for i, size in enumerate(SIZES)])
    one, other = (decoded(ds, recipe, len(SIZES))[1] for recipe in (plain, coloured))
    np.testing.assert_array_equal(one["mask"], other["mask"])
    np.testing.assert_array_equal(one["boxes"].values, other["boxes"].values)
    assert (one["image"] != other["image"]).any()


def tv_boxes(boxes: np.ndarray, size: tuple[int, int]) -> object:
    return tv_tensors.BoundingBoxes(
        torch.from_numpy(boxes).float(), format="XYXY", canvas_size=size
    )


def both(size: tuple[int, int], seed: int) -> list:
    mask = tv_tensors.Mask(torch.from_numpy(numbers(size, seed))[None])
    return [mask, tv_boxes(boxes_in(size, seed), size)]


@pytest.mark.parametrize("name", [*FIXED, *DRAWN])
def test_masks_and_boxes_are_those_of_torchvision(tmp_path: Path, name: str) -> None:
    """With what was drawn: masks exactly, boxes to 1e-3 pixels (torchvision computes them in
    float32). After affine operations all but 1 % of a mask's pixels, where both round half a
    pixel, and boxes to 1e-2."""
    sizes = SIZES * 4
    ds = shard(tmp_path, [sample(size, i) for i, size in enumerate(sizes)])
    recipe = {**FIXED, **DRAWN}[name](hr.image("png"))
    loader, batch = decoded(ds, recipe, len(sizes))
    seen = set()
    for row, key in enumerate(batch.keys):
        drawn = drawn_for(loader, batch, row)
        seen |= actions(drawn)
        mask, boxes = (
            replay_labels(label, recipe._spec["ops"], drawn)
            for label in both(sizes[int(key)], int(key))
        )
        warped = "affine" in actions(drawn)
        wrong = (batch["mask"][row] != mask[0].numpy()).sum()
        assert wrong <= (max(1, 0.01 * mask.numel()) if warped else 0), drawn
        limit = 1e-2 if warped else 1e-3
        np.testing.assert_allclose(batch["boxes"][row], boxes.numpy(), atol=limit)
    if name in POLICIES:
        assert "affine" in seen and len(seen) > 4


@pytest.mark.parametrize("format", FORMATS)
def test_formats_of_boxes(tmp_path: Path, format: str) -> None:
    size = (61, 83)
    corners = tv_boxes(boxes_in(size, 1), size)
    there = F.convert_bounding_box_format(corners, new_format=format)
    files = sample(size, 1) | {"npy": npy(there.numpy())}
    _, batch = decoded(shard(tmp_path, [files]), hr.image("png").center_crop(40), 1, format=format)
    expected = F.center_crop(there, [40, 40])
    np.testing.assert_allclose(batch["boxes"][0], expected.numpy(), atol=1e-3)


def test_boxes_that_are_hardly_left_are_dropped_with_their_numbers(tmp_path: Path) -> None:
    boxes = [
        [0, 0, 20, 20, 1],  # a quarter is left by the crop
        [10, 10, 30, 30, 2],  # all of it
        [0, 0, 10, 10, 3],  # nothing
        [12, 12, 12, 20, 4],  # has no area
    ]
    files = sample((40, 40), 0) | {"npy": npy(np.array(boxes, np.int64))}
    recipe = hr.image("png").center_crop(20)
    for least, kept in [(0.0, [1, 2, 3, 4]), (0.2, [1, 2]), (0.25, [1, 2]), (0.3, [2])]:
        ds = shard(tmp_path, [files])
        _, batch = decoded(ds, recipe, 1, extra=1, min_visible=least)
        rows = batch["boxes"]
        assert isinstance(rows, hr.Ragged)
        assert rows[0][:, 4].tolist() == kept
        assert rows[0].dtype == np.float32
    np.testing.assert_array_equal(rows[0][:, :4], [[0, 0, 20, 20]])


JSON = {
    "plain": ([[1, 2, 5, 6], [0, 0, 9.5, 9]], {}),
    "member": ({"a": {"boxes": [[1, 2, 5, 6], [0, 0, 9.5, 9]]}}, {"at": "a.boxes"}),
    "lists": (
        {"boxes": [[1, 2, 5, 6], [0, 0, 9.5, 9]], "labels": [3, 4]},
        {"at": "boxes", "labels": "labels"},
    ),
    "coco": (
        [{"bbox": [1, 2, 5, 6], "category_id": 3}, {"bbox": [0, 0, 9.5, 9], "category_id": 4}],
        {"at": "bbox", "labels": "category_id"},
    ),
}


@pytest.mark.parametrize("name", JSON)
def test_boxes_from_json(tmp_path: Path, name: str) -> None:
    document, options = JSON[name]
    image = encoded(Image.new("RGB", (10, 10)), "PNG")
    files = [{"png": image, "json": json.dumps(document).encode()}, {"png": image}]
    ds = shard(tmp_path, files[:1] if options else files)
    fields = {"image": hr.image("png"), "boxes": hr.boxes(like="image", **options)}
    if not options:
        fields["boxes"] = hr.boxes(like="image", default=[])
    (batch,) = ds.decode(**fields).batch(1 if options else 2).loader()
    expected = [[1, 2, 5, 6], [0, 0, 9.5, 9]]
    if "labels" in options:
        expected = [[*box, label] for box, label in zip(expected, [3, 4], strict=True)]
    np.testing.assert_array_equal(batch["boxes"][0], np.array(expected, np.float32))
    if not options:
        assert batch["boxes"][1].shape == (0, 4)


def mask_file(kind: str) -> tuple[bytes, np.ndarray]:
    random = np.random.default_rng(3)
    if kind == "palette":
        stored = numbers((20, 30), 3, 200)
        image = Image.fromarray(stored).convert("P")
        image = Image.fromarray(stored, "L")
        image.putpalette([x for i in range(256) for x in (255 - i, i, 7)])
    elif kind == "1 bit":
        stored = numbers((20, 30), 3, 2)
        image = Image.fromarray(stored.astype(bool))
    elif kind == "16 bits":
        stored = random.integers(0, 65536, (20, 30)).astype(np.uint16)
        image = Image.fromarray(stored)
    else:
        stored = random.integers(0, 1 << 24, (20, 30))
        image = Image.fromarray(
            np.stack([stored & 255, stored >> 8 & 255, stored >> 16], -1).astype(np.uint8)
        )
    return encoded(image, "PNG"), stored


@pytest.mark.parametrize("kind", ["palette", "1 bit", "16 bits", "rgb"])
def test_numbers_are_kept_exactly(tmp_path: Path, kind: str) -> None:
    file, stored = mask_file(kind)
    ds = shard(tmp_path, [{"png": encoded(Image.new("RGB", (30, 20)), "PNG"), "seg.png": file}])
    fields = {
        "image": hr.image("png").flip(1.0).pad(2),
        "mask": hr.mask("seg.png", like="image", dtype="int64", fill=70000),
    }
    (batch,) = ds.decode(**fields).batch(1).loader()
    expected = np.pad(stored[:, ::-1].astype(np.int64), 2, constant_values=70000)
    bits = {"palette": 8, "1 bit": 8, "16 bits": 16, "rgb": 24}[kind]
    expected[expected == 70000] = 70000 & ((1 << bits) - 1)
    np.testing.assert_array_equal(batch["mask"][0], expected)
    if kind in ("16 bits", "rgb"):
        fields["mask"] = hr.mask("seg.png", like="image")
        with pytest.raises(hr.DataError, match="too large for uint8"):
            list(ds.decode(**fields).batch(1).loader())


def test_five_crops_of_a_mask(tmp_path: Path) -> None:
    ds = shard(tmp_path, [sample((40, 50), 0)])
    _, batch = decoded_without_boxes(ds, hr.image("png").flip(1.0).five_crop(16))
    assert batch["mask"].shape == (1, 5, 16, 16)
    np.testing.assert_array_equal(batch["image"][0][:, 0], batch["mask"][0])


def decoded_without_boxes(ds: hr.Dataset, recipe: hr.Image) -> tuple:
    fields = {"image": recipe, "mask": hr.mask("seg.png", like="image")}
    loader = ds.decode(**fields).batch(1).loader()
    (batch,) = loader
    return loader, batch


def test_a_picture_that_lies_on_its_side_has_an_upright_mask(tmp_path: Path) -> None:
    upright = numbers((30, 20), 4)
    exif = Image.Exif()
    exif[0x0112] = 6
    lying = Image.fromarray(np.stack([np.rot90(upright)] * 3, -1))
    files = {
        "png": encoded(lying, "PNG", exif=exif),
        "seg.png": encoded(Image.fromarray(upright), "PNG"),
        "npy": npy(boxes_in((30, 20), 4)),
    }
    _, batch = decoded(shard(tmp_path, [files]), hr.image("png").random_resized_crop(9), 1)
    np.testing.assert_array_equal(batch["image"].shape, (1, 3, 9, 9))
    _, batch = decoded(shard(tmp_path, [files]), hr.image("png"), 1)
    np.testing.assert_array_equal(batch["image"][0][0], batch["mask"][0])
    np.testing.assert_allclose(batch["boxes"][0], boxes_in((30, 20), 4), rtol=1e-6)


def test_the_same_on_every_world_and_thread(tmp_path: Path) -> None:
    ds = shard(tmp_path, [sample(size, i) for i, size in enumerate(SIZES * 4)])
    recipe = hr.image("png").random_resized_crop(16).flip().random_affine(20)
    fields = {
        "image": recipe,
        "mask": hr.mask("seg.png", like="image"),
        "boxes": hr.boxes("npy", like="image", min_visible=0.3),
    }
    steps = ds.shuffle(seed=2, lanes=4).decode(**fields).batch(total=8)
    whole = {}
    for batch in steps.loader(rank=0, world=1, threads=1):
        whole |= rows_of(batch)
    parts = {}
    for rank in range(4):
        for batch in steps.loader(rank=rank, world=4, threads=3):
            parts |= rows_of(batch)
    assert whole == parts


def rows_of(batch: hr.Batch) -> dict[str, tuple[bytes, bytes]]:
    rows = zip(batch.keys, batch["mask"], batch["boxes"], strict=True)
    return {key: (mask.tobytes(), boxes.tobytes()) for key, mask, boxes in rows}


BAD = {
    "of another size": ({"seg.png": sample((9, 8), 0)["seg.png"]}, r"9 x 8 pixels .* 61 x 83"),
    "a JPEG": ({"seg.png": encoded(Image.new("L", (83, 61)), "JPEG")}, "a mask is a PNG"),
    "alpha": ({"seg.png": encoded(Image.new("LA", (83, 61)), "PNG")}, "a mask is gray"),
    "shape": ({"npy": npy(np.zeros((3, 5)))}, r"the shape \(boxes, 4\)"),
    "backwards": ({"npy": npy(np.array([[5.0, 5, 1, 9]]))}, "box 0 ends before it begins"),
    "not finite": ({"npy": npy(np.array([[0, 0, 1, np.nan]]))}, "not finite"),
    "words": ({"npy": b'[[1, 2, 3, "x"]]'}, "no number"),
    "no list": ({"npy": b"{}"}, "number 0 is no list of 4 numbers"),
    "deep": ({"npy": b"[" * 5000}, "nested too deep"),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_labels_say_what_is_wrong(tmp_path: Path, name: str) -> None:
    files, words = BAD[name]
    ds = shard(tmp_path, [sample((61, 83), 0) | files])
    with pytest.raises(hr.DataError, match=words) as caught:
        decoded(ds, hr.image("png"), 1)
    assert caught.value.shard.endswith("a.tar") and caught.value.member.startswith("000000")


def test_recipes_that_cannot_be_are_refused(tmp_path: Path) -> None:
    ds = shard(tmp_path, [sample((20, 20), 0)])
    image, mask = hr.image("png"), hr.mask("seg.png", like="image")
    with pytest.raises(hr.UsageError, match=r"no recipe image=hr\.image"):
        ds.decode(mask=mask)
    with pytest.raises(hr.UsageError, match="five crops"):
        ds.decode(image=image.five_crop(8), boxes=hr.boxes("npy", like="image"))
    with pytest.raises(hr.UsageError, match="between 0 and 1"):
        ds.decode(image=image, boxes=hr.boxes("npy", like="image", min_visible=2))
    with pytest.raises(hr.UsageError, match="gray picture"):
        ds.decode(image=image, mask=mask).batch(1).loader(on_error="gray")
