"""Batches filled up after a filter, and rows packed of tokens: every sample once, the same on every
run and with workers, and resumed at any step."""

from __future__ import annotations

import itertools
import json
from pathlib import Path

import headrace as hr
import numpy as np
import pytest
from conftest import write_tar
from user_functions import tokens_of, wanted

SAMPLES = 103


@pytest.fixture
def ds(shards) -> hr.Dataset:
    return hr.open(str(shards(SAMPLES)))


def refilled(ds: hr.Dataset, steps: int = 7, rows: int = 8, **options: object) -> hr.Loader:
    fields = {"cls": hr.integer("cls"), "txt": hr.text("txt")}
    decoded = ds.shuffle(seed=3, lanes=4).decode(**fields)
    filtered = decoded.filter(wanted, on="cls", refill=True)
    return filtered.batch(rows, steps=steps).loader(**options)


def packed(ds: hr.Dataset, steps: int = 5, rows: int = 4, **options: object) -> hr.Loader:
    fields = {"cls": hr.integer("cls"), "bin": hr.bytes("bin")}
    documents = ds.shuffle(seed=3, lanes=4).decode(**fields).map(tokens_of)
    return documents.pack_tokens("tokens", length=32).batch(rows, steps=steps).loader(**options)


def told(batch: hr.Batch) -> list:
    """All that a batch says."""
    columns = [np.asarray(batch[name]).tolist() for name in batch.fields if name != "txt"]
    texts = batch["txt"].tolist() if "txt" in batch else []
    return [batch.epoch, batch.step, batch.keys, batch.positions.tolist(), columns, texts]


def epochs(loader: hr.Loader, count: int) -> list:
    return [told(batch) for _ in range(count) for batch in loader]


def test_batches_are_full_and_every_wanted_sample_comes_once_a_pass(ds: hr.Dataset) -> None:
    loader = refilled(ds)
    assert len(loader) == 7
    seen: list[int] = []
    for epoch in range(4):
        assert loader.epoch == epoch
        for step, batch in enumerate(loader):
            assert len(batch) == 8 and batch.step == step and batch.mask.all()
            assert batch.total == 8
            assert batch["txt"].tolist() == [f"sample {i} äöü" for i in batch["cls"]]
            assert batch.keys == [f"s{i:05d}" for i in batch["cls"]]
            seen += batch["cls"].tolist()
    per_pass = [i for i in range(SAMPLES) if wanted(i)]
    for begin in range(0, len(seen) - len(per_pass) + 1, len(per_pass)):
        assert sorted(seen[begin : begin + len(per_pass)]) == per_pass
    assert seen[: len(per_pass)] != seen[len(per_pass) : 2 * len(per_pass)]


def test_documents_are_packed_without_gaps(ds: hr.Dataset) -> None:
    flat: list[int] = []
    loader = packed(ds, steps=9)
    for batch in loader:
        assert batch.fields == ["tokens", "segments", "places"]
        assert batch["tokens"].shape == (4, 32) and batch["tokens"].dtype == np.int32
        tokens, segments, places = (batch[name] for name in batch.fields)
        np.testing.assert_array_equal(places, tokens % 100)
        documents = tokens // 100
        for row in range(4):
            changes = np.diff(documents[row]) != 0
            np.testing.assert_array_equal(np.diff(segments[row]), changes.astype(int))
            assert segments[row, 0] == 0
        flat += tokens.ravel().tolist()
    documents = [[*rows] for _, rows in itertools.groupby(flat, lambda token: token // 100)]
    for document in documents[:-1]:
        cls = document[0] // 100
        assert document == list(range(cls * 100, cls * 100 + cls % 40))
    assert len({d[0] // 100 for d in documents}) == len(documents)


MAKE = pytest.mark.parametrize("make", [refilled, packed])


@MAKE
def test_the_same_with_threads_and_workers(ds: hr.Dataset, make) -> None:
    expected = epochs(make(ds, threads=1), 3)
    assert epochs(make(ds, threads=4), 3) == expected
    with make(ds, workers=2) as loader:
        assert epochs(loader, 3) == expected


@MAKE
@pytest.mark.parametrize("workers", [0, 2])
def test_a_state_after_any_step_goes_on_from_there(ds: hr.Dataset, make, workers: int) -> None:
    loader = make(ds)
    expected = epochs(make(ds), 3)
    states = []
    for _ in range(2):
        for _ in loader:
            states.append(json.loads(json.dumps(loader.state_dict())))
    assert max(len(json.dumps(state)) for state in states) < 2000
    stops = range(len(states)) if workers == 0 else (3, len(states) - 1)
    for done in stops:
        with make(ds, workers=workers) as again:
            again.load_state_dict(states[done])
            rest = [told(batch) for _ in range(4) for batch in again]
            assert rest[: len(expected) - done - 1] == expected[done + 1 :]


@MAKE
def test_a_new_iteration_begins_the_epoch_again(ds: hr.Dataset, make) -> None:
    loader = make(ds)
    first = epochs(loader, 1)
    half = [told(batch) for batch in itertools.islice(loader, 3)]
    assert epochs(loader, 1)[:3] == half
    assert epochs(make(ds), 2)[: len(first)] == first


@MAKE
def test_ranks_share_the_data_and_their_states_merge(ds: hr.Dataset, make) -> None:
    world = 4
    ranks = [make(ds, steps=3, rows=2, rank=r, world=world) for r in range(world)]
    batches = [list(loader) for loader in ranks]
    assert all(len(each) == 3 for each in batches)
    keys = [key for each in batches for batch in each for key in dict.fromkeys(batch.keys)]
    in_pass = [key for key in keys if keys.count(key) > 1]
    if make is refilled:
        assert not in_pass
    merged = json.loads(json.dumps(hr.merge_states([loader.state_dict() for loader in ranks])))
    for rank, loader in enumerate(ranks):
        again = make(ds, steps=3, rows=2, rank=rank, world=world)
        again.load_state_dict(merged)
        assert epochs(again, 1) == epochs(loader, 1)
    with pytest.raises(hr.StateError, match="rows 2 to 3 of a step, and this rank has 4 to 5"):
        make(ds, steps=3, rows=2, rank=2, world=4).load_state_dict(ranks[1].state_dict())
    with pytest.raises(hr.StateError, match="not one of each rank"):
        hr.merge_states([ranks[0].state_dict()])
    next(iter(ranks[1]))
    with pytest.raises(hr.StateError, match="differ in step"):
        hr.merge_states([loader.state_dict() for loader in ranks])


def row_streams(make, ds: hr.Dataset, total: int, passes: int) -> list[list[int]]:
    """What each row of a step brings over all passes: samples, or tokens of documents."""
    streams: list[list[int]] = [[] for _ in range(total)]
    loader = ds.shuffle(seed=3, lanes=4).decode(cls=hr.integer("cls")).batch(total).loader()
    for batch in (batch for _ in range(passes) for batch in loader):
        for cls, position in zip(batch["cls"][batch.mask], batch.positions, strict=False):
            of_sample = [int(cls)] if wanted(cls) else []
            of_document = [int(cls) * 100 + place for place in range(cls % 40)]
            streams[position % total] += of_sample if make is refilled else of_document
    return streams


def pieces_of(batch: hr.Batch) -> list:
    """What of each sample or document a batch has; of documents also over the end of a row."""
    if "tokens" not in batch:
        return batch["cls"][:, None].tolist()
    tokens = batch["tokens"].ravel()
    pieces = np.split(tokens, np.flatnonzero(np.diff(tokens) != 1) + 1)
    return [piece.tolist() for piece in pieces]


@MAKE
@pytest.mark.parametrize("worlds", [(4, 2, 8, 1, 4), (1, 8, 1), (2, 4, 4, 2)])
def test_any_number_of_ranks_goes_on_where_others_were(ds: hr.Dataset, make, worlds) -> None:
    total = 8
    seen: list[list[int]] = [[] for _ in range(total)]
    state: dict | None = None
    for turn, world in enumerate(worlds):
        sizes = {"steps": 40, "rows": total // world, "world": world}
        ranks = [make(ds, rank=rank, **sizes) for rank in range(world)]
        for loader in ranks:
            if state is not None:
                loader.load_state_dict(state)
            for batch in itertools.islice(loader, 5 + turn):
                for piece, position in zip(pieces_of(batch), batch.positions, strict=True):
                    seen[position % total] += piece
        state = json.loads(json.dumps(hr.merge_states([loader.state_dict() for loader in ranks])))
    assert len(json.dumps(state)) < 3000
    expected = row_streams(make, ds, total, passes=30)
    for own, stream in zip(seen, expected, strict=True):
        assert len(own) > 10
        assert own == stream[: len(own)]


def test_what_pads_a_pass_is_left_out_however_it_ends(ds: hr.Dataset) -> None:
    decoded = ds.shuffle(seed=3, lanes=4).decode(cls=hr.integer("cls"))
    filtered = decoded.filter(wanted, on="cls", refill=True)
    pad, short, drop = (
        filtered.batch(8, steps=30, tail=tail).loader() for tail in ("pad", "short", "drop")
    )
    assert [b.keys for b in pad] == [b.keys for b in short]
    dropped = [key for batch in drop for key in batch.keys]
    per_pass = sum(map(wanted, range(SAMPLES)))
    assert len(set(dropped[: per_pass - SAMPLES % 8])) == per_pass - SAMPLES % 8


def never(cls: int) -> bool:
    return False


def test_what_cannot_be_is_refused(ds: hr.Dataset) -> None:
    decoded = ds.decode(cls=hr.integer("cls"))
    refill = decoded.filter(wanted, on="cls", refill=True)
    with pytest.raises(hr.UsageError, match="steps="):
        refill.batch(8)
    with pytest.raises(hr.UsageError, match="steps="):
        decoded.batch(8, steps=3)
    with pytest.raises(hr.UsageError, match=r"map_batches\(\) is not"):
        refill.batch(8, steps=3).map_batches(wanted)
    loader = refill.batch(8, steps=3).loader()
    for call in (lambda: loader.state_at(0, 1), lambda: loader.set_epoch(4)):
        with pytest.raises(hr.UsageError, match="filled up or packed"):
            call()
    with pytest.raises(hr.StateError, match="is not of batches"):
        loader.load_state_dict(decoded.batch(8).loader().state_dict())
    other = refill.batch(8, steps=4).loader().state_dict()
    with pytest.raises(hr.StateError, match="other batches"):
        loader.load_state_dict(other)
    with pytest.raises(hr.UsageError, match="drops them all"):
        next(iter(decoded.filter(never, on="cls", refill=True).batch(8, steps=3).loader()))
    with pytest.raises(hr.UsageError, match="no array of whole numbers"):
        next(iter(decoded.pack_tokens("cls", length=8).batch(1, steps=3).loader()))
    with pytest.raises(hr.UsageError, match="cannot share"):
        refill.batch(total=9, steps=3).loader(rank=0, world=2)


def test_rows_that_differ_in_shape_are_joined(tmp_path: Path) -> None:
    """Batches whose own rows are alike, and which differ from each other."""
    import io

    def npy(shape: tuple[int, ...], value: int) -> bytes:
        out = io.BytesIO()
        np.save(out, np.full(shape, value, np.float32))
        return out.getvalue()

    shapes = [(2, 3)] * 4 + [(1, 5)] * 4
    write_tar(
        tmp_path / "a.tar",
        [(f"{i}", {"npy": npy(s, i), "cls": b"1"}) for i, s in enumerate(shapes)],
    )
    decoded = hr.open(str(tmp_path / "a.tar")).decode(x=hr.npy("npy"), cls=hr.integer())
    loader = decoded.filter(wanted, on="cls", refill=True).batch(6, steps=1).loader()
    (batch,) = loader
    assert isinstance(batch["x"], hr.Ragged)
    for i, row in enumerate(batch["x"]):
        np.testing.assert_array_equal(row, np.full(shapes[i], i, np.float32))
