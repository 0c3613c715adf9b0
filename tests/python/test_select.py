"""Selections: some samples of a data set, as a data set."""

from __future__ import annotations

import pickle

import headrace as hr
import pytest


@pytest.fixture
def ds(shards):
    return hr.open(shards(300, 5))


def numbers(ds):
    return [int(sample["cls"]) for sample in ds]


def is_even(key):
    return int(key[1:]) % 2 == 0


def test_where_sees_every_key_and_keeps_the_order(ds):
    even = ds.select(is_even)
    assert len(even) == 150
    assert numbers(even) == list(range(0, 300, 2))
    assert [int(even[i]["cls"]) for i in (0, 7, -1)] == [0, 14, 298]


def test_samples_are_read_at_the_right_places(ds):
    for sample in ds.select(lambda key: key in ("s00003", "s00004", "s00250")):
        number = int(sample["cls"])
        assert sample.key == f"s{number:05d}"
        assert sample["txt"] == f"sample {number} äöü".encode()
        assert sample["bin"] == bytes([number % 251]) * (number % 40)


def test_keys_of_other_samples_are_not_there(ds):
    some = ds.select(keys=["s00010", "s00299", "unknown"])
    assert numbers(some) == [10, 299]
    assert int(some["s00299"]["cls"]) == 299
    assert "s00010" in some
    assert "s00011" not in some
    with pytest.raises(hr.NotFoundError):
        some["s00011"]


def test_shares_divide_a_data_set_without_overlap(ds):
    parts = [ds.select(share=share) for share in ((0, 0.5), (0.5, 0.9), (0.9, 1))]
    assert sorted(n for part in parts for n in numbers(part)) == list(range(300))
    assert [100 < len(part) < 200 for part in parts] == [True, True, False]
    assert 5 < len(parts[2]) < 60
    other = ds.select(share=(0, 0.5), seed=1)
    assert numbers(other) != numbers(parts[0])


def test_a_key_is_on_the_same_side_in_a_repacked_data_set(ds, shards):
    again = hr.open(shards(300, 2, name="again"))
    assert numbers(ds.select(share=(0, 0.3))) == numbers(again.select(share=(0, 0.3)))


@pytest.mark.parametrize("world", [1, 2, 3])
def test_every_kept_sample_comes_once_an_epoch_on_any_world(ds, world):
    kept = ds.select(share=(0.2, 0.7))
    pipeline = kept.shuffle(seed=3).decode(n=hr.integer("cls")).batch(total=12, tail="short")
    loaders = [pipeline.loader(rank=rank, world=world) for rank in range(world)]
    seen = [n for loader in loaders for batch in loader for n in batch["n"].tolist()]
    assert sorted(seen) == numbers(kept)


def test_a_run_over_a_selection_resumes_exactly_and_only_over_the_same(ds):
    def loader(of):
        return of.shuffle(seed=3).decode(n=hr.integer("cls")).batch(16, tail="short").loader()

    kept = ds.select(is_even)
    whole = [batch["n"].tolist() for batch in loader(kept)]
    first = loader(kept)
    it = iter(first)
    before = [next(it)["n"].tolist() for _ in range(4)]
    again = loader(ds.select(is_even))
    again.load_state_dict(first.state_dict())
    assert before + [batch["n"].tolist() for batch in again] == whole
    for other in (ds, ds.select(lambda key: not is_even(key))):
        with pytest.raises(hr.StateError, match="data"):
            loader(other).load_state_dict(first.state_dict())


def test_conditions_add_up(ds):
    both = ds.select(is_even, keys=["s00001", "s00002", "s00004"])
    assert numbers(both) == [2, 4]
    assert numbers(both.select(keys=["s00004", "s00006"])) == [4]


def test_an_empty_selection_is_an_empty_data_set(ds):
    nothing = ds.select(keys=[])
    assert len(nothing) == 0
    assert list(nothing) == []
    assert list(nothing.batch(4).loader()) == []


def test_loose_files_are_selected_alike(tmp_path):
    for number in range(6):
        (tmp_path / f"{number}.txt").write_text(str(number))
    assert [s["txt"] for s in hr.open(tmp_path).select(keys=["1", "4"])] == [b"1", b"4"]


def test_a_selection_pickles_as_how_it_was_made(ds):
    kept = ds.select(is_even, share=(0, 0.5))
    again = pickle.loads(pickle.dumps(kept))
    assert numbers(again) == numbers(kept)
    assert again.fingerprint == kept.fingerprint != ds.fingerprint


def test_errors_of_the_users_function_come_through(ds):
    with pytest.raises(ZeroDivisionError):
        ds.select(lambda key: 1 / 0)


@pytest.mark.parametrize("share", [(0.5, 0.2), (-0.1, 1), (0, 1.5), (float("nan"), 1)])
def test_a_share_that_is_none_is_refused(ds, share):
    with pytest.raises(hr.UsageError, match="share"):
        ds.select(share=share)


def test_a_selection_selects_something(ds):
    with pytest.raises(hr.UsageError, match="where"):
        ds.select()
