"""Readers that decode pictures: a random crop scaled to 224, mirrored by half, as a batch of 256 in
Python; float32 and normalised unless the name says uint8. Each peer as its documentation advises.
"""

from __future__ import annotations

import glob
from collections.abc import Callable, Iterator
from typing import Any

Passes = Callable[[], Iterator[int]]

IMAGE_BATCH = 256
SIDE = 224
MEAN, STD = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)
MEMORY = "256MiB"


def _shards(place: str) -> list[str]:
    return sorted(glob.glob(f"{place}/*.tar"))


# --- Headrace ------------------------------------------------------------------------------------


def _headrace(place: str, threads: int, recipe: Callable[[Any], Any], **image: str) -> Passes:
    import headrace as hr

    columns = {"image": recipe(hr.image(**image)), "label": hr.integer("cls", default=0)}
    ds = hr.open(place).shuffle(seed=7).decode(**columns)
    loader = ds.batch(IMAGE_BATCH).loader(threads=threads, memory=MEMORY)

    def passes() -> Iterator[int]:
        for batch in loader:
            _ = batch["image"], batch["label"]
            yield len(batch)

    passes.stats = loader.stats
    return passes


def _train(image: Any) -> Any:
    return image.random_resized_crop(SIDE).flip().normalize(MEAN, STD)


def headrace_images(place: str, threads: int) -> Passes:
    return _headrace(place, threads, _train)


def headrace_images_fast(place: str, threads: int) -> Passes:
    return _headrace(place, threads, _train, decode="fast")


def headrace_images_uint8(place: str, threads: int) -> Passes:
    return _headrace(place, threads, lambda image: image.random_resized_crop(SIDE).flip())


def headrace_images_without_scaling(place: str, threads: int) -> Passes:
    return _headrace(
        place, threads, lambda image: image.random_crop(SIDE).flip().normalize(MEAN, STD)
    )


def headrace_images_validation(place: str, threads: int) -> Passes:
    return _headrace(
        place,
        threads,
        lambda image: image.resize_shorter(256).center_crop(SIDE).normalize(MEAN, STD),
    )


# --- Peers ---------------------------------------------------------------------------------------


def _mlx(place: str, threads: int, crop: Callable[[Any], Any]) -> Passes:
    """uint8: it has no normalisation; its scaling is not antialiased. A stream of each shard."""
    import mlx.data as dx

    def one(path: str) -> Any:
        ds = dx.files_from_tar(path).shuffle().to_stream()
        ds = ds.sample_transform(lambda s: s if bytes(s["file"]).endswith(b".jpg") else {})
        return ds.read_from_tar(path, "file", "image").load_image("image", from_memory=True)

    def passes() -> Iterator[int]:
        for path in _shards(place):
            for batch in crop(one(path)).prefetch(2 * IMAGE_BATCH, threads).batch(IMAGE_BATCH):
                yield len(batch["image"])

    return passes


def mlx_images(place: str, threads: int) -> Passes:
    def crop(ds: Any) -> Any:
        ds = ds.image_random_area_crop("image", (0.08, 1.0), (3 / 4, 4 / 3))
        return ds.image_resize("image", SIDE, SIDE).image_random_h_flip("image", 0.5)

    return _mlx(place, threads, crop)


def mlx_images_validation(place: str, threads: int) -> Passes:
    def crop(ds: Any) -> Any:
        return ds.image_resize_smallest_side("image", 256).image_center_crop("image", SIDE, SIDE)

    return _mlx(place, threads, crop)


def dali_images(place: str, threads: int) -> Passes:
    """On the processor alone: no device."""
    from nvidia.dali import fn, pipeline_def, types
    from nvidia.dali.plugin.base_iterator import LastBatchPolicy
    from nvidia.dali.plugin.pytorch import DALIGenericIterator

    @pipeline_def(batch_size=IMAGE_BATCH, num_threads=threads, device_id=None, seed=7)
    def pipeline() -> Any:
        files, label = fn.readers.webdataset(
            paths=_shards(place), ext=["jpg", "cls"], random_shuffle=True, name="reader"
        )
        pixels = fn.decoders.image_random_crop(
            files, device="cpu", random_area=[0.08, 1.0], random_aspect_ratio=[3 / 4, 4 / 3]
        )
        pixels = fn.resize(pixels, size=[SIDE, SIDE], antialias=True)
        return fn.crop_mirror_normalize(
            pixels,
            dtype=types.FLOAT,
            output_layout="CHW",
            mean=[255 * x for x in MEAN],
            std=[255 * x for x in STD],
            mirror=fn.random.coin_flip(probability=0.5),
        ), fn.pad(label)

    made = pipeline()
    made.build()
    batches = DALIGenericIterator(
        [made],
        ["image", "label"],
        reader_name="reader",
        last_batch_policy=LastBatchPolicy.PARTIAL,
        auto_reset=True,
    )
    return lambda: (len(batch[0]["image"]) for batch in batches)


def spdl_images(place: str, threads: int) -> Passes:
    """FFmpeg decodes the whole picture and crops, mirrors and scales it (not antialiased as Pillow
    does it); torch makes floats of the batch."""
    import random

    import spdl.io
    import torch
    from spdl.pipeline import PipelineBuilder

    torch.set_num_threads(1)
    mean, std = (255 * torch.tensor(x).view(3, 1, 1) for x in (MEAN, STD))

    def source() -> Iterator[bytes]:
        for path in random.sample(shards := _shards(place), len(shards)):
            with open(path, "rb") as file:
                for name, content in spdl.io.iter_tarfile(file):
                    if name.endswith(".jpg"):
                        yield content

    def decode(content: bytes) -> Any:
        packets = spdl.io.demux_image(content)
        crop = _random_box(packets.codec.height, packets.codec.width)
        mirror = ",hflip" if random.random() < 0.5 else ""
        scale = f"scale={SIDE}:{SIDE}:flags=bilinear,format=rgb24"
        return spdl.io.decode_packets(packets, filter_desc=f"crop={crop}{mirror},{scale}")

    def batch(frames: list[Any]) -> Any:
        pixels = spdl.io.to_torch(spdl.io.convert_frames(frames))
        return (pixels.permute(0, 3, 1, 2).float() - mean) / std

    def passes() -> Iterator[int]:
        builder = PipelineBuilder().add_source(source())
        builder.pipe(decode, concurrency=threads).aggregate(IMAGE_BATCH).pipe(batch).add_sink()
        with (pipeline := builder.build(num_threads=threads)).auto_stop():
            yield from map(len, pipeline)

    return passes


def _random_box(height: int, width: int) -> str:
    """As RandomResizedCrop draws it: width, height, left, top."""
    import math
    import random

    for _ in range(10):
        area = height * width * random.uniform(0.08, 1)
        ratio = math.exp(random.uniform(math.log(3 / 4), math.log(4 / 3)))
        w, h = round(math.sqrt(area * ratio)), round(math.sqrt(area / ratio))
        if 0 < w <= width and 0 < h <= height:
            return f"{w}:{h}:{random.randint(0, width - w)}:{random.randint(0, height - h)}"
    return f"{width}:{height}:0:0"


def _webdataset(place: str, threads: int, decode: Callable[[bytes], Any]) -> Passes:
    """Decoded in as many worker processes as we have threads."""
    import torch
    import webdataset as wds

    def sample(pair: tuple[bytes, bytes]) -> tuple[Any, int]:
        return decode(pair[0]), int(pair[1])

    torch.set_num_threads(1)
    ds = wds.WebDataset(_shards(place), shardshuffle=100).shuffle(1000).to_tuple("jpg", "cls")
    loader = wds.WebLoader(ds.map(sample), batch_size=IMAGE_BATCH, num_workers=threads)
    return lambda: (len(images) for images, _ in loader)


def torchvision_images(place: str, threads: int) -> Passes:
    """Its own decoder and v2 transforms on tensors, antialiased."""
    import torch
    from torchvision.io import ImageReadMode, decode_jpeg
    from torchvision.transforms import v2

    transform = v2.Compose(
        [
            v2.RandomResizedCrop(SIDE, antialias=True),
            v2.RandomHorizontalFlip(),
            v2.ToDtype(torch.float32, scale=True),
            v2.Normalize(MEAN, STD),
        ]
    )

    def decode(data: bytes) -> Any:
        pixels = torch.frombuffer(bytearray(data), dtype=torch.uint8)
        return transform(decode_jpeg(pixels, mode=ImageReadMode.RGB))

    return _webdataset(place, threads, decode)


def pillow_transform() -> Callable[[bytes], Any]:
    """Pillow, and torchvision's transforms of its pictures."""
    import io

    from PIL import Image
    from torchvision import transforms

    transform = transforms.Compose(
        [
            transforms.RandomResizedCrop(SIDE),
            transforms.RandomHorizontalFlip(),
            transforms.ToTensor(),
            transforms.Normalize(MEAN, STD),
        ]
    )
    return lambda data: transform(Image.open(io.BytesIO(data)).convert("RGB"))


def pillow_images(place: str, threads: int) -> Passes:
    return _webdataset(place, threads, pillow_transform())


def pillow_images_one_core(place: str, threads: int) -> Passes:
    """In the process itself, any kind of picture."""
    import torch
    import webdataset as wds

    torch.set_num_threads(1)
    transform = pillow_transform()
    ds = wds.WebDataset(_shards(place), shardshuffle=False).to_tuple("png;webp;jpg")
    batches = ds.map(lambda one: transform(one[0])).batched(IMAGE_BATCH, collation_fn=torch.stack)
    return lambda: (len(images) for images in batches)


IMAGE_READERS: dict[str, Callable[[str, int], Passes]] = {
    reader.__name__: reader
    for reader in (
        headrace_images,
        headrace_images_fast,
        headrace_images_uint8,
        headrace_images_without_scaling,
        headrace_images_validation,
        mlx_images,
        mlx_images_validation,
        dali_images,
        spdl_images,
        torchvision_images,
        pillow_images,
        pillow_images_one_core,
    )
}
