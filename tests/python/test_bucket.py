"""Buckets by length: similar lengths in a step, and every promise of the order as it was."""

from __future__ import annotations

import json

import headrace as hr
import numpy as np
import pytest


@pytest.fixture
def texts(make_tar, tmp_path):
    """texts(count): samples whose texts are of very different lengths."""

    def make(count: int, name: str = "texts") -> hr.Dataset:
        rng = np.random.default_rng(3)
        lengths = rng.lognormal(4, 1, count).astype(int) + 1
        rows = [
            (f"k{i:04d}", {"txt": b"x" * int(length), "cls": str(i).encode()})
            for i, length in enumerate(lengths)
        ]
        (tmp_path / name).mkdir()
        for shard in range(4):
            make_tar(tmp_path / name / f"{shard}.tar", rows[shard::4])
        return hr.open(tmp_path / name)

    return make


def bucketed(ds, window=8, total=24, lanes=4, tail="pad"):
    return (
        ds.shuffle(seed=2, lanes=lanes)
        .decode(text=hr.text("txt"), n=hr.integer())
        .bucket(by="txt", window=window)
        .batch(total=total, tail=tail)
    )


def rows(batches):
    """step -> numbers, with whether each is padding."""
    return {b.step: list(zip(b["n"].tolist(), b.mask.tolist(), strict=True)) for b in batches}


def real(steps):
    return [n for step in sorted(steps) for n, is_real in steps[step] if is_real]


def spread(batches):
    """Padded elements, if each step were padded to its longest text, over all elements."""
    lengths = [np.diff(batch["text"].offsets) for batch in batches]
    return sum(len(step) * step.max() for step in lengths) / sum(step.sum() for step in lengths)


@pytest.mark.parametrize("tail", ["pad", "short", "drop"])
def test_every_sample_comes_once_an_epoch(texts, tail):
    loader = bucketed(texts(500), tail=tail).loader()
    epochs = [rows(loader) for _ in range(3)]
    for epoch in epochs:
        numbers = real(epoch)
        assert len(set(numbers)) == len(numbers) == (480 if tail == "drop" else 500)
    assert epochs[0] != epochs[1] != epochs[2]


def test_lengths_inside_a_step_are_similar_and_steps_are_shuffled(texts):
    ds = texts(2000)
    plain = ds.shuffle(seed=2, lanes=4).decode(text=hr.text("txt"), n=hr.integer())
    without = list(plain.batch(total=24).loader())
    batches = list(bucketed(ds, window=32).loader())
    assert spread(without) > 2.5
    assert spread(batches[:-1]) < 1.75
    means = [np.diff(batch["text"].offsets).mean() for batch in batches[:32]]
    assert means != sorted(means)
    assert np.abs(np.corrcoef(means, range(32))[0, 1]) < 0.5


def test_a_window_of_one_step_is_the_order_without_buckets_but_for_the_order_in_a_step(texts):
    ds = texts(500)
    plain = ds.shuffle(seed=2, lanes=4).decode(text=hr.text("txt"), n=hr.integer())
    without = rows(plain.batch(total=24).loader())
    one = rows(bucketed(ds, window=1).loader())
    assert [sorted(step) for step in one.values()][:20] == [
        sorted(step) for step in without.values()
    ][:20]
    assert one[20][:20] == without[20][:20]  # the tail step has no bucket


@pytest.mark.parametrize("world", [2, 3, 5])
def test_ranks_take_similar_lengths_at_the_same_time_and_every_sample_once(texts, world):
    pipeline = bucketed(texts(700), window=16)
    whole = rows(pipeline.loader())
    ranks = [list(pipeline.loader(rank=rank, world=world)) for rank in range(world)]
    together: dict[int, list[tuple[int, bool]]] = {}
    for batches in ranks:
        assert len(batches) == len(whole)
        for step, numbers in rows(batches).items():
            together.setdefault(step, []).extend(numbers)
    assert together == whole
    means = np.array([[np.diff(b["text"].offsets).mean() for b in batches] for batches in ranks])
    assert np.corrcoef(means[0, :-1], means[1, :-1])[0, 1] > 0.8


def test_a_run_stopped_after_any_step_goes_on_exactly_on_another_world(texts):
    pipeline = bucketed(texts(300), window=5)
    whole = rows(pipeline.loader())
    for stop in range(len(whole) + 1):
        state = json.loads(json.dumps(pipeline.loader().state_at(0, stop)))
        after: dict[int, list[tuple[int, bool]]] = {}
        for rank in range(2):
            loader = pipeline.loader(rank=rank, world=2)
            loader.load_state_dict(state)
            for step, numbers in rows(loader).items():
                after.setdefault(step, []).extend(numbers)
        assert after == {step: whole[step] for step in range(stop, len(whole))}


def test_the_global_batch_may_change_between_buckets_and_nowhere_else(texts):
    pipeline = bucketed(texts(300), window=4)
    whole = rows(pipeline.loader())
    loader = pipeline.loader()
    loader.load_state_dict(pipeline.loader().state_at(0, 4), total=12)
    after = rows(loader)
    before = {step: whole[step] for step in range(4)}
    assert sorted(real(before) + real(after)) == list(range(300))
    with pytest.raises(hr.StateError, match="in the middle of a bucket"):
        pipeline.loader().load_state_dict(pipeline.loader().state_at(0, 5), total=12)


def test_a_state_of_other_buckets_is_refused_by_name(texts):
    ds = texts(300)
    state = bucketed(ds, window=4).loader().state_dict()
    assert state["bucket"] == {"by": "txt", "steps": 4}
    with pytest.raises(hr.StateError, match="bucket steps is 4 in the state and 8"):
        bucketed(ds, window=8).loader().load_state_dict(state)
    plain = ds.shuffle(seed=2, lanes=4).batch(total=24)
    with pytest.raises(hr.StateError, match="bucket"):
        plain.loader().load_state_dict(state)
    assert "bucket" not in plain.loader().state_dict()


def test_mixtures_have_buckets_too(texts):
    mixture = hr.mix([texts(300, "a"), texts(300, "b")], weights=[2, 1], steps=40)
    plain = mixture.shuffle(seed=1, lanes=4).decode(text=hr.text("txt"), n=hr.integer())
    without = list(plain.batch(total=24).loader())
    batches = list(plain.bucket(by="txt", window=20).batch(total=24).loader())

    def samples(batches):
        return sorted(
            pair for b in batches for pair in zip(b.sets.tolist(), b["n"].tolist(), strict=True)
        )

    assert samples(batches) == samples(without)
    assert spread(batches) < spread(without) / 1.5


def test_what_makes_no_sense_is_said(texts):
    ds = texts(40)
    with pytest.raises(hr.UsageError, match="needs shuffle"):
        ds.bucket(by="txt")
    with pytest.raises(hr.UsageError, match="at least one step"):
        ds.shuffle().bucket(by="txt", window=0)
    with pytest.raises(hr.UsageError, match="no such field"):
        ds.shuffle().bucket(by="wav").batch(4).loader()
