"""The steps from a data set to a loader, and recipes: immutable, in one order, checked at once."""

from __future__ import annotations

import pickle
from collections import Counter

import headrace as hr
import pytest


@pytest.fixture
def ds(shards):
    return hr.open(shards(100))


def test_steps_do_not_change_what_they_stand_on(ds):
    shuffled = ds.shuffle(seed=1)
    first = shuffled.batch(10)
    second = shuffled.batch(20)
    assert len(first.loader()) == 10
    assert len(second.loader()) == 5
    assert len(ds.batch(50).loader()) == 2


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda ds: ds.batch(4).shuffle(), r"shuffle\(\) comes before batch\(\)"),
        (lambda ds: ds.decode(a=hr.text()).shuffle(), r"shuffle\(\) comes before decode\(\)"),
        (lambda ds: ds.batch(4).decode(a=hr.text()), r"decode\(\) comes before batch\(\)"),
        (lambda ds: ds.shuffle().shuffle(), r"shuffle\(\) was given already"),
        (lambda ds: ds.batch(4).batch(4), r"batch\(\) was given already"),
        (lambda ds: ds.loader(), r"batch\(\) is missing"),
        (lambda ds: ds.batch(), "rows"),
        (lambda ds: ds.batch(4, total=8), "either"),
        (lambda ds: ds.batch(0), "at least one row"),
        (lambda ds: ds.batch(-1), "rows"),
        (lambda ds: ds.batch(4, tail="wag"), "tail"),
        (lambda ds: ds.batch(4).loader(to="jax"), "numpy or torch"),
        (lambda ds: ds.batch(4).loader(on_error="ignore"), "on_error"),
        (lambda ds: ds.batch(4).loader(rank=1), "together"),
        (lambda ds: ds.batch(4).loader(rank=2, world=2), "rank 2 of 2"),
        (lambda ds: ds.batch(4).loader(memory="many"), "many"),
        (lambda ds: ds.shuffle(seed=-1), "seed"),
        (lambda ds: ds.decode(), "recipe"),
        (lambda ds: ds.decode(a="jpg"), "recipe"),
        (lambda ds: ds.decode(a=hr.integer("cls", dtype="float32")), "integer"),
        (lambda ds: ds.decode(a=hr.integer("cls", dtype="int7")), "int7"),
        (lambda ds: ds.shuffle(lanes=3).batch(total=8).loader(), "lanes"),
        (lambda ds: hr.mix([ds, ds], weights=[1]), "weights"),
        (lambda ds: hr.mix({ds: 0.0}), "above zero"),
    ],
)
def test_what_makes_no_sense_is_a_usage_error(ds, build, message):
    with pytest.raises(hr.UsageError, match=message) as caught:
        build(ds)
    assert isinstance(caught.value, ValueError)


def test_a_field_that_no_sample_has_is_named(ds):
    with pytest.raises(hr.Error, match="jpg"):
        ds.decode(image=hr.image("jpg").resize(8)).batch(4).loader()


def test_recipes_do_not_change():
    plain = hr.image("jpg;png")
    small = plain.resize(32)
    assert plain == hr.image("jpg;png")
    assert small != plain
    assert small.normalize(0.5, 0.5).layout("HWC") != small
    assert small.kind == "image"
    assert small.sources == "jpg;png"
    assert "resize(height=32, width=32" in repr(small)


def test_recipes_check_their_arguments(ds):
    with pytest.raises(hr.UsageError, match="layout"):
        hr.image().layout("WHC")
    with pytest.raises(hr.UsageError, match="size"):
        hr.image().resize((1, 2, 3))  # type: ignore[arg-type]
    with pytest.raises(hr.UsageError):
        ds.decode(image=hr.image().resize(-1))
    with pytest.raises(hr.UsageError):
        ds.decode(image=hr.image().resize(8).normalize([0.5, 0.5], 1.0))
    with pytest.raises(hr.Error):
        ds.decode(
            label=hr.json("json", default=b"{".decode()).__class__(
                {"kind": "json", "sources": "json", "default": b"{"}
            )
        )


def test_recipes_and_pipelines_pickle(ds):
    pipeline = ds.shuffle(seed=3).decode(n=hr.integer()).batch(8)
    again = pickle.loads(pickle.dumps(pipeline))
    assert [b["n"].tolist() for b in again.loader()] == [b["n"].tolist() for b in pipeline.loader()]


def test_sizes_are_written_as_people_write_them(ds):
    for memory in ("64MiB", "0.5 GB", 1 << 26):
        assert len(ds.shuffle(window="1MiB").batch(10).loader(memory=memory)) == 10


def test_a_mixture_repeats_a_small_set_that_has_empty_shards(shards, make_tar, tmp_path):
    """Fewer samples than lanes: the set is repeated until every lane has one."""
    small = tmp_path / "small"
    small.mkdir()
    for number, keys in enumerate(([], ["a0", "a1"], [], ["a2", "a3"])):
        make_tar(small / f"{number}.tar", [(key, {"cls": b"1"}) for key in keys])
    mixture = hr.mix([str(small), shards(400, 2, "large")], weights=[1, 1], steps=20)
    batches = list(mixture.shuffle(seed=2, lanes=8).batch(total=16).loader())
    seen = Counter(
        key for batch in batches for key, at in zip(batch.keys, batch.sets, strict=True) if at == 0
    )
    assert sorted(seen) == ["a0", "a1", "a2", "a3"]
    assert sum(seen.values()) == 160
    assert max(seen.values()) - min(seen.values()) <= 8  # a turn of each lane


def test_a_mixture_is_named_by_sets_or_by_locations(shards):
    a, b = shards(40, 2, "a"), shards(60, 2, "b")
    for mixture in (
        hr.mix({str(a): 0.5, str(b): 0.5}),
        hr.mix([a, hr.open(b)], weights=[1, 1]),
        hr.mix({hr.open(a): 2, hr.open(b): 2}),
    ):
        batches = list(mixture.shuffle(seed=2).batch(8).loader())
        assert len(batches) >= 15
        sets = [int(i) for batch in batches for i in batch.sets]
        assert 0.3 < sum(sets) / len(sets) < 0.7
