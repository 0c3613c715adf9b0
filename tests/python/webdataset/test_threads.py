"""What runs in threads: pictures decoded ahead, and iterators that several threads reach for.

`./dev test all` runs these under the sanitizers.
"""

from __future__ import annotations

import io
import threading

import headrace.webdataset as ours
import numpy as np
import pytest
from headrace import _native
from small_archives import numbered, write

Image = pytest.importorskip("PIL.Image", reason="Pillow is not installed: NOT TESTED")

pytestmark = pytest.mark.filterwarnings("ignore")

PICTURES = 60


@pytest.fixture
def pictures(tmp_path):
    """A shard of pictures, every seventh damaged."""
    members = []
    for i in range(PICTURES):
        file = io.BytesIO()
        Image.new("RGB", (40 + i, 30), (i, 99, 2 * i)).save(file, "PNG" if i % 3 else "JPEG")
        data = file.getvalue()
        members.append((f"{i:02d}.jpg", data if i % 7 != 6 else data[:50]))
    return write(tmp_path / "pictures.tar", members)


def in_threads(work, count=4):
    """What each of the threads returned, or its exception."""
    results = [None] * count

    def run(i):
        try:
            results[i] = work(i)
        except Exception as error:
            results[i] = error

    threads = [threading.Thread(target=run, args=(i,)) for i in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return results


@pytest.mark.parametrize("ahead", ["1", "3"])
def test_several_pipelines_decode_ahead_at_once(pictures, monkeypatch, ahead):
    monkeypatch.setenv("HEADRACE_WDS_THREADS", ahead)
    data = ours.WebDataset(pictures, shardshuffle=False).shuffle(10, seed=1)
    data = data.decode("rgb8", handler=ours.ignore_and_continue)

    def work(i):
        return [(s["__key__"], s["jpg"].sum()) for s in data]

    first, *others = in_threads(work)
    assert len(first) > PICTURES // 2 and all(other == first for other in others)


def test_pipelines_are_left_in_the_middle(pictures, monkeypatch):
    monkeypatch.setenv("HEADRACE_WDS_THREADS", "3")

    def work(i):
        for count in range(12):
            samples = iter(ours.WebDataset(pictures, shardshuffle=False).decode("rgb8"))
            for _ in range(count % 5):
                next(samples)
            del samples
        return "done"

    assert in_threads(work) == ["done"] * 4


def test_threads_share_a_decoder(pictures):
    files = [s["jpg"] for s in ours.WebDataset(pictures, shardshuffle=False)]
    handler, waiting = ours.imagehandler("rgb"), ours.imagehandler("pil")

    def work(i):
        found = []
        for number, file in enumerate(files):
            if number % 7 == 6:
                continue
            found.append(handler(".jpg", file).sum())
            part = waiting(".jpg", file).crop((1, 2, 30, 28))
            found.append(np.asarray(part.resize((50, 40))).sum())
        return found

    first, *others = in_threads(work)
    assert all(other == first for other in others)


def test_a_waiting_picture_that_threads_share_is_decoded(pictures):
    file = next(iter(ours.WebDataset(pictures, shardshuffle=False)))["jpg"]
    picture = ours.imagehandler("pil")(".jpg", file)
    first, *others = in_threads(lambda i: picture.tobytes())
    assert isinstance(first, bytes) and all(other == first for other in others)


def test_one_iterator_gives_each_sample_to_one_thread_or_says_that_it_is_in_use(tmp_path):
    (shard,) = numbered(tmp_path, 1, 200)
    with open(shard, "rb") as stream:
        shards = (shard for shard in [(stream, "x", None, False)])
        samples = _native.TarSamples(shards, None, None)

        def work(i):
            keys, refused = [], 0
            while refused < 10_000:
                try:
                    keys.append(next(samples)["__key__"])
                except StopIteration:
                    return keys
                except ValueError:
                    refused += 1
            return keys

        found = [key for keys in in_threads(work) for key in keys]
    assert len(found) == len(set(found)) <= 200
