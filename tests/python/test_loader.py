"""The loader: epochs, states, errors, statistics."""

from __future__ import annotations

import json
import pickle

import headrace as hr
import numpy as np
import pytest


def numbers(batches, real_only=True):
    out = []
    for batch in batches:
        values = batch["n"]
        out.append(
            [int(v) for v, real in zip(values, batch.mask, strict=True) if real or not real_only]
        )
    return out


def flat(lists):
    return [x for part in lists for x in part]


@pytest.fixture
def pipeline(shards):
    return hr.open(shards(103, 4)).shuffle(seed=7).decode(n=hr.integer("cls")).batch(10)


def test_every_sample_comes_once_an_epoch_in_another_order_each(pipeline):
    loader = pipeline.loader()
    assert len(loader) == 11
    epochs = [flat(numbers(loader)) for _ in range(3)]
    for epoch in epochs:
        assert sorted(epoch) == list(range(103))
    assert epochs[0] != epochs[1] != epochs[2]
    assert loader.epoch == 3


def test_the_seed_is_the_order(shards):
    ds = hr.open(shards(103, 4)).shuffle
    orders = [
        flat(numbers(ds(seed=s).decode(n=hr.integer()).batch(10).loader())) for s in (1, 1, 2)
    ]
    assert orders[0] == orders[1] != orders[2]


def test_without_shuffle_the_order_is_the_manifests(shards):
    loader = hr.open(shards(103, 4)).decode(n=hr.integer()).batch(10, tail="short").loader()
    assert flat(numbers(loader)) == list(range(103))


def test_threads_change_nothing(pipeline):
    orders = [flat(numbers(pipeline.loader(threads=n, prefetch=p))) for n, p in ((1, 1), (4, 8))]
    assert orders[0] == orders[1]


@pytest.mark.parametrize(
    ("tail", "sizes"), [("pad", [10] * 11), ("short", [10] * 10 + [3]), ("drop", [10] * 10)]
)
def test_the_three_tails(shards, tail, sizes):
    ds = hr.open(shards(103, 4)).shuffle(seed=1).decode(n=hr.integer())
    loader = ds.batch(10, tail=tail).loader()
    batches = list(loader)
    assert [len(batch) for batch in batches] == sizes
    assert len(loader) == len(sizes)
    assert [int(batch.mask.sum()) for batch in batches] == [min(s, 10) for s in sizes[:-1]] + [
        3 if tail != "drop" else 10
    ]
    assert all(batch.total == len(batch) for batch in batches)


def test_a_new_iteration_starts_its_epoch_again(pipeline):
    loader = pipeline.loader()
    iterator = iter(loader)
    first = numbers([next(iterator), next(iterator)])
    assert numbers(loader)[:2] == first
    assert loader.epoch == 1


def test_after_load_state_dict_the_iteration_goes_on(pipeline):
    loader = pipeline.loader()
    whole = numbers(loader)
    second = numbers(loader)
    for stop in range(len(whole) + 1):
        begun = pipeline.loader()
        iterator = iter(begun)
        before = numbers([next(iterator) for _ in range(stop)])
        state = json.loads(json.dumps(begun.state_dict()))
        assert state == begun.state_at(0, stop)
        again = pipeline.loader()
        again.load_state_dict(state)
        assert before + numbers(again) == whole
        assert numbers(again) == second


def test_the_state_after_the_loop_is_the_next_epoch(pipeline):
    loader = pipeline.loader()
    list(loader)
    again = pipeline.loader()
    again.load_state_dict(loader.state_dict())
    assert again.epoch == 1
    assert numbers(again) == numbers(loader)


def test_set_epoch_chooses_the_epoch(pipeline):
    loader = pipeline.loader()
    epochs = [numbers(loader) for _ in range(3)]
    loader.set_epoch(1)
    assert loader.epoch == 1
    assert numbers(loader) == epochs[1]


def test_a_state_of_other_data_or_options_is_refused_by_name(pipeline, shards):
    state = pipeline.loader().state_dict()
    other = hr.open(shards(50, 2, "other")).shuffle(seed=7).decode(n=hr.integer()).batch(10)
    with pytest.raises(hr.StateError):
        other.loader().load_state_dict(state)
    with pytest.raises(hr.StateError, match="seed"):
        pipeline.loader().load_state_dict({**state, **_changed(state, "seed", 8)})
    with pytest.raises(hr.StateError):
        pipeline.loader().load_state_dict({"what": 1})


def _changed(state, name, value):
    """`state` with `name` changed, wherever it stands."""
    if name in state:
        return {name: value}
    for key, part in state.items():
        if isinstance(part, dict) and name in part:
            return {key: {**part, name: value}}
    raise AssertionError(f"the state has no {name}")


def test_an_older_iteration_ends_when_a_newer_one_begins(pipeline):
    loader = pipeline.loader()
    old = iter(loader)
    next(old)
    new = iter(loader)
    next(new)
    with pytest.raises(hr.UsageError, match="newer"):
        next(old)
    assert len(list(new)) == 10


def test_a_closed_loader_says_so(pipeline):
    with pipeline.loader() as loader:
        batch = next(iter(loader))
    loader.close()
    with pytest.raises(hr.StoppedError):
        iter(loader)
    assert len(batch["n"]) == 10


def test_an_unstarted_loader_pickles_and_a_started_one_does_not(pipeline):
    loader = pipeline.loader()
    assert numbers(pickle.loads(pickle.dumps(loader))) == numbers(pipeline.loader())
    resumed = pipeline.loader()
    resumed.load_state_dict(resumed.state_at(1, 4))
    again = pickle.loads(pickle.dumps(resumed))
    assert numbers(again) == numbers(resumed)
    with pytest.raises(hr.UsageError, match="pickle"):
        pickle.dumps(resumed)


def test_all_ranks_together_see_everything_once_and_the_same_global_batches(shards):
    ds = hr.open(shards(103, 4)).shuffle(seed=5, lanes=4).decode(n=hr.integer())
    reference = None
    for world in (1, 2, 3, 4, 6):
        ranks = [
            numbers(ds.batch(total=12).loader(rank=r, world=world), real_only=False)
            for r in range(world)
        ]
        steps = [flat(parts) for parts in zip(*ranks, strict=True)]
        reference = reference or steps
        assert steps == reference
    assert sorted(flat(reference)[:103]) == list(range(103))


def test_another_global_batch_can_be_asked_for(shards):
    ds = hr.open(shards(103, 4)).shuffle(seed=5, lanes=4).decode(n=hr.integer())
    loader = ds.batch(total=12).loader()
    iterator = iter(loader)
    before = numbers([next(iterator) for _ in range(3)])
    again = ds.batch(total=12).loader()
    again.load_state_dict(loader.state_dict(), total=8)
    rest = list(again)
    assert {batch.total for batch in rest} == {8}
    assert sorted(flat(before + numbers(rest))) == list(range(103))


def test_rank_and_world_come_from_the_environment(pipeline, monkeypatch):
    monkeypatch.setenv("SLURM_PROCID", "2")
    monkeypatch.setenv("SLURM_NTASKS", "3")
    assert "rank 2 of 3" in repr(pipeline.loader())
    monkeypatch.setenv("RANK", "1")
    monkeypatch.setenv("WORLD_SIZE", "2")
    assert "rank 1 of 2" in repr(pipeline.loader())
    assert "rank 0 of 1" in repr(pipeline.loader(rank=0, world=1))
    monkeypatch.setenv("RANK", "one")
    with pytest.raises(hr.UsageError, match="RANK"):
        pipeline.loader()


@pytest.fixture
def damaged(make_tar, tmp_path):
    """40 samples; the labels of 11 and 23 are no numbers."""
    bad = {11: b"x", 23: b""}
    make_tar(
        tmp_path / "a.tar",
        [(f"k{i:02d}", {"cls": bad.get(i, str(i).encode())}) for i in range(40)],
    )
    return hr.open(tmp_path / "a.tar").decode(n=hr.integer()).batch(8)


def test_a_bad_sample_raises_in_its_place_with_its_place(damaged):
    iterator = iter(damaged.loader())
    next(iterator)
    with pytest.raises(hr.DataError) as caught:
        next(iterator)
    assert caught.value.shard.endswith("a.tar")
    assert "k11" in str(caught.value)


def test_bad_samples_may_be_skipped_and_are_listed(damaged):
    loader = damaged.loader(on_error="skip")
    batches = list(loader)
    assert sorted(flat(numbers(batches))) == [i for i in range(40) if i not in (11, 23)]
    errors = [error for batch in batches for error in batch.errors]
    assert [error.key for error in errors] == ["k11", "k23"]
    assert [error.position for error in errors] == [11, 23]
    assert all(isinstance(error.error, hr.DataError) for error in errors)
    assert loader.stats()["rows_skipped"] == 2


def test_more_bad_samples_than_allowed_raise(damaged):
    with pytest.raises(hr.Error):
        list(damaged.loader(on_error="skip", max_errors=1))


def test_a_missing_field_takes_the_default(make_tar, tmp_path):
    make_tar(tmp_path / "a.tar", [("a", {"cls": b"1", "txt": b"x"}), ("b", {"txt": b"y"})])
    ds = hr.open(tmp_path / "a.tar")
    (batch,) = ds.decode(n=hr.integer("cls", default=-1)).batch(2).loader()
    assert batch["n"].tolist() == [1, -1]
    with pytest.raises(hr.Error, match="cls"):
        list(ds.decode(n=hr.integer("cls")).batch(2).loader())


def test_statistics_say_what_limits_the_run(pipeline):
    loader = pipeline.loader()
    list(loader)
    stats = loader.stats()
    assert stats["batches"] == 11
    assert stats["rows"] == 110
    assert stats["bytes_read"] > 0
    assert stats.sentence == stats["sentence"]
    assert len(stats.sentence) > 20
    json.dumps(stats)


def test_explain_tells_the_order_and_the_tail(pipeline):
    text = pipeline.loader(rank=0, world=3).explain()
    assert "lane" in text
    assert "window" in text


def test_no_samples_are_no_steps(shards):
    loader = hr.open(shards(0, 1)).batch(4).loader()
    assert len(loader) == 0
    assert list(loader) == []


def test_one_sample_fills_a_padded_batch(shards):
    (batch,) = hr.open(shards(1, 1)).decode(n=hr.integer()).batch(4).loader()
    assert batch["n"].tolist() == [0, 0, 0, 0]
    assert batch.mask.tolist() == [True, False, False, False]


def test_positions_number_the_rows_of_an_epoch(pipeline):
    positions = np.concatenate([b.positions[b.mask] for b in pipeline.loader()])
    assert sorted(positions.tolist()) == list(range(103))


def test_the_audit_proves_what_came(shards, tmp_path):
    ds = hr.open(shards(103, 4))
    pipeline = ds.shuffle(seed=5, lanes=2).decode(n=hr.integer()).batch(total=12)
    states = []
    for rank in range(2):
        loader = pipeline.loader(rank=rank, world=2, audit=tmp_path / "audit")
        for batch in loader:
            if batch.step == 4:
                states.append(loader.state_dict())
                break
    begun = hr.audit_report(tmp_path / "audit", ds)
    assert begun.passed
    assert begun.epochs[0]["missing"] == 103 - 5 * 12
    resumed = pipeline.loader(rank=0, world=1, audit=tmp_path / "audit")
    resumed.load_state_dict(states[0])
    list(resumed)
    report = hr.audit_report([tmp_path / "audit"], ds)
    assert report.passed
    assert report.epochs[0]["delivered"] == 103
    assert report.epochs[0]["missing"] == report.epochs[0]["duplicates"] == 0
    assert str(report)
    with pytest.raises(hr.NotFoundError):
        hr.audit_report(tmp_path / "nowhere", ds)
