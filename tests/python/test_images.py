"""Pictures through the loader, against Pillow: formats, types, layouts, and bad ones."""

from __future__ import annotations

import io
import tarfile
from pathlib import Path

import headrace as hr
import numpy as np
import pytest
from PIL import Image

MEAN, STD = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)


def picture(number: int, size: tuple[int, int] = (67, 41), mode: str = "RGB") -> Image.Image:
    random = np.random.default_rng(number)
    small = random.integers(0, 256, (6, 8, 3), dtype=np.uint8)
    return Image.fromarray(small).resize(size, Image.Resampling.BICUBIC).convert(mode)


def encoded(image: Image.Image, kind: str, **options: object) -> bytes:
    out = io.BytesIO()
    image.save(out, kind, **options)
    return out.getvalue()


def shard(folder: Path, samples: list[dict[str, bytes]]) -> hr.Dataset:
    with tarfile.open(folder / "a.tar", "w") as tar:
        for number, sample in enumerate(samples):
            for name, data in sample.items():
                info = tarfile.TarInfo(f"{number:06}.{name}")
                info.size = len(data)
                tar.addfile(info, io.BytesIO(data))
    return hr.open(str(folder / "a.tar"))


def only_batch(ds: hr.Dataset, recipe: hr.Image, rows: int, **options: object) -> hr.Batch:
    (batch,) = ds.decode(image=recipe).batch(rows).loader(threads=1, **options)
    return batch


FILES = {
    "baseline": ("JPEG", {}),
    "444": ("JPEG", {"subsampling": 0, "quality": 95}),
    "422": ("JPEG", {"subsampling": 1}),
    "progressive": ("JPEG", {"progressive": True}),
    "restart": ("JPEG", {"restart_marker_blocks": 2}),
    "png": ("PNG", {}),
    "webp": ("WEBP", {"quality": 80}),
    "lossless": ("WEBP", {"lossless": True}),
    "gif": ("GIF", {}),
    "tiff": ("TIFF", {}),
    "lzw": ("TIFF", {"compression": "tiff_lzw"}),
    "bmp": ("BMP", {}),
    "ppm": ("PPM", {}),
}


@pytest.mark.parametrize("name", FILES)
def test_every_format_has_the_pixels_of_pillow(tmp_path: Path, name: str) -> None:
    kind, options = FILES[name]
    files = [encoded(picture(n), kind, **options) for n in range(4)]
    ds = shard(tmp_path, [{"jpg": file} for file in files])
    batch = only_batch(ds, hr.image("jpg").layout("HWC"), 4)
    for row, file in zip(batch["image"], files, strict=True):
        expected = np.asarray(Image.open(io.BytesIO(file)).convert("RGB"))
        np.testing.assert_array_equal(row, expected)


@pytest.mark.parametrize("name", FILES)
def test_a_crop_is_cut_from_the_pixels_of_pillow(tmp_path: Path, name: str) -> None:
    kind, options = FILES[name]
    files = [encoded(picture(n, (90, 75)), kind, **options) for n in range(4)]
    ds = shard(tmp_path, [{"jpg": file} for file in files])
    batch = only_batch(ds, hr.image("jpg").layout("HWC").center_crop((31, 33)), 4)
    for row, file in zip(batch["image"], files, strict=True):
        whole = np.asarray(Image.open(io.BytesIO(file)).convert("RGB"))
        np.testing.assert_array_equal(row, whole[22:53, 28:61])


@pytest.mark.parametrize("orientation", range(1, 9))
def test_crops_follow_the_exif_orientation(tmp_path: Path, orientation: int) -> None:
    exif = Image.Exif()
    exif[0x0112] = orientation
    file = encoded(picture(1, (90, 70)), "JPEG", exif=exif)
    ds = shard(tmp_path, [{"jpg": file}])
    (row,) = only_batch(ds, hr.image("jpg").layout("HWC").center_crop((20, 24)), 1)["image"]
    from PIL import ImageOps

    upright = np.asarray(ImageOps.exif_transpose(Image.open(io.BytesIO(file))))
    top, left = (upright.shape[0] - 20) // 2, (upright.shape[1] - 24) // 2
    np.testing.assert_array_equal(row, upright[top : top + 20, left : left + 24])


def test_fast_decoding_is_close_and_not_equal(tmp_path: Path) -> None:
    ds = shard(tmp_path, [{"jpg": encoded(picture(n, (600, 500)), "JPEG")} for n in range(2)])
    exact, fast = (
        only_batch(ds, hr.image("jpg", decode=how).resize(200), 2)["image"].astype(int)
        for how in ("exact", "fast")
    )
    assert 0 < np.abs(exact - fast).mean() < 1.5


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32"])
@pytest.mark.parametrize("layout", ["CHW", "HWC", "channels_last"])
def test_types_and_layouts_equal_what_torch_makes(tmp_path: Path, dtype: str, layout: str) -> None:
    torch = pytest.importorskip("torch")
    files = [encoded(picture(n), "PNG") for n in range(3)]
    ds = shard(tmp_path, [{"png": file} for file in files])
    crop = hr.image("png").center_crop(40).layout(layout)
    images = only_batch(ds, crop.normalize(MEAN, STD, dtype=dtype), 3, to="torch")["image"]
    assert images.dtype == getattr(torch, dtype)
    plain = only_batch(ds, hr.image("png").center_crop(40), 3, to="torch")["image"]
    mean, std = (torch.tensor(each).view(3, 1, 1) for each in (MEAN, STD))
    expected = ((plain.float() * (1 / 255) - mean) / std).to(images.dtype)
    if layout == "HWC":
        images = images.permute(0, 3, 1, 2)
    assert images.shape == expected.shape
    assert torch.equal(images, expected)
    if layout == "channels_last":
        assert images.is_contiguous(memory_format=torch.channels_last)


def test_numpy_rows_of_bfloat16_are_refused_and_float16_are_there(tmp_path: Path) -> None:
    ds = shard(tmp_path, [{"png": encoded(picture(1), "PNG")}])
    recipe = hr.image("png").center_crop(8)
    assert only_batch(ds, recipe.to_float("float16"), 1)["image"].dtype == np.float16
    with pytest.raises(hr.UsageError, match="numpy has no bfloat16"):
        _ = only_batch(ds, recipe.to_float("bfloat16"), 1)["image"]


def test_a_bad_picture_becomes_gray_and_is_listed(tmp_path: Path) -> None:
    files = [encoded(picture(n), "JPEG") for n in range(3)]
    files[1] = files[1][: len(files[1]) // 2]
    ds = shard(tmp_path, [{"jpg": file, "cls": b"7"} for file in files])
    recipe = hr.image("jpg").resize(16)
    ds = ds.decode(image=recipe, label=hr.integer("cls"))
    (batch,) = ds.batch(3).loader(threads=1, on_error="gray")
    assert len(batch) == 3
    assert batch["label"].tolist() == [7, 7, 7]
    assert (batch["image"][1] == 128).all()
    assert not (batch["image"][0] == 128).all()
    (error,) = batch.errors
    assert error.key == "000001"
    assert "ends too soon" in str(error.error)
    with pytest.raises(hr.DataError, match="max_errors"):
        list(ds.batch(3).loader(threads=1, on_error="gray", max_errors=0))


def test_gray_is_for_pictures_alone(tmp_path: Path) -> None:
    ds = shard(tmp_path, [{"jpg": encoded(picture(1), "JPEG"), "cls": b"seven"}])
    ds = ds.decode(image=hr.image("jpg").resize(16), label=hr.integer("cls"))
    with pytest.raises(hr.DataError, match="seven"):
        list(ds.batch(1).loader(threads=1, on_error="gray"))


@pytest.mark.parametrize("layout", ["CHW", "HWC", "channels_last"])
@pytest.mark.parametrize("dtype", ["uint8", "float32", "float16"])
def test_gray_is_gray_in_every_type_and_layout(tmp_path: Path, dtype: str, layout: str) -> None:
    pytest.importorskip("torch")
    ds = shard(tmp_path, [{"jpg": b"no picture"}, {"jpg": encoded(picture(1), "JPEG")}])
    recipe = hr.image("jpg").resize((12, 17)).layout(layout)
    if dtype != "uint8":
        recipe = recipe.normalize(MEAN, STD, dtype=dtype)
    batch = only_batch(ds, recipe, 2, on_error="gray", to="torch")
    row = batch["image"][0].numpy()
    row = row.transpose(2, 0, 1) if layout == "HWC" else row
    assert row.shape == (3, 12, 17)
    level = np.full((3, 1, 1), 128, np.float32)
    if dtype != "uint8":
        mean, std = (np.array(each, np.float32).reshape(3, 1, 1) for each in (MEAN, STD))
        level = (level * np.float32(1 / 255) - mean) / std
    np.testing.assert_array_equal(row, np.broadcast_to(level.astype(dtype), row.shape))
    assert [error.key for error in batch.errors] == ["000000"]


def test_a_broken_picture_says_where_it_lies(tmp_path: Path) -> None:
    files = [encoded(picture(n), "JPEG") for n in range(3)]
    files[1] = files[1][: len(files[1]) // 2]
    ds = shard(tmp_path, [{"cls": b"7", "jpg": file} for file in files])
    with pytest.raises(hr.DataError, match="ends too soon") as caught:
        only_batch(ds, hr.image("jpg").resize(16), 3)
    assert caught.value.shard == str(tmp_path / "a.tar")
    assert caught.value.member == "000001"
    with tarfile.open(tmp_path / "a.tar") as tar:
        assert caught.value.offset == tar.getmember("000001.jpg").offset_data


def test_pictures_over_the_pixel_limit_are_refused(tmp_path: Path) -> None:
    for kind in ("JPEG", "PNG", "WEBP", "GIF", "TIFF", "BMP", "PPM"):
        ds = shard(tmp_path, [{"x": encoded(picture(1, (30, 20)), kind)}])
        only_batch(ds, hr.image("x", pixel_limit=600), 1)
        with pytest.raises(hr.DataError, match="30 x 20 pixels are more than the limit of 599"):
            only_batch(ds, hr.image("x", pixel_limit=599), 1)


def test_pictures_that_an_operation_makes_too_large_are_refused(tmp_path: Path) -> None:
    ds = shard(tmp_path, [{"png": encoded(picture(1, (30, 20)), "PNG")}])
    for pixels, larger in [
        (60 * 40, lambda image: image.resize_shorter(40)),
        (32 * 22, lambda image: image.pad(1)),
    ]:
        only_batch(ds, larger(hr.image("png", pixel_limit=pixels)), 1)
        with pytest.raises(hr.DataError, match=f"more than the limit of {pixels - 1}"):
            only_batch(ds, larger(hr.image("png", pixel_limit=pixels - 1)), 1)


@pytest.mark.parametrize("magic", [b"qoif", b"\0\0\0\x1cftypheic\0\0\0\0mif1heic"])
def test_formats_that_are_not_read_are_named(tmp_path: Path, magic: bytes) -> None:
    ds = shard(tmp_path, [{"jpg": magic + bytes(100)}])
    name = "QOI" if magic == b"qoif" else "HEIF"
    with pytest.raises(hr.DataError, match=f"the format {name}, which is not read.*PNG, WebP"):
        only_batch(ds, hr.image("jpg"), 1)


@pytest.mark.parametrize("mode", ["RGBA", "LA"])
def test_alpha_is_kept_and_scaled_as_a_channel_of_its_own(tmp_path: Path, mode: str) -> None:
    """Pillow scales the channels of a picture with alpha otherwise than each alone."""
    image = picture(1)
    image.putalpha(picture(2, mode="L"))
    image = image.convert(mode)
    ds = shard(tmp_path, [{"png": encoded(image, "PNG")}])
    channels = "rgba" if mode == "RGBA" else "unchanged"
    recipe = hr.image("png").channels(channels).layout("HWC")
    np.testing.assert_array_equal(only_batch(ds, recipe, 1)["image"][0], np.asarray(image))
    parts = [part.resize((17, 12), Image.Resampling.BILINEAR) for part in image.split()]
    expected = np.stack([np.asarray(part) for part in parts], axis=2)
    np.testing.assert_array_equal(only_batch(ds, recipe.resize((12, 17)), 1)["image"][0], expected)
    whole = np.asarray(image.resize((17, 12), Image.Resampling.BILINEAR))
    np.testing.assert_array_equal(whole[..., -1], expected[..., -1])
    assert (whole != expected).any()
