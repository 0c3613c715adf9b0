"""Rows packed of tokens that the index counted: against lists of tokens cut into rows; every token
once, the same on all worlds, with functions and workers, and resumed at any step."""

from __future__ import annotations

import io
import itertools
import json
from pathlib import Path

import headrace as hr
import numpy as np
import pytest
from servers.nginx import nginx
from user_functions import add_in_place, elevens_fail, even, noisy_tokens, one_less, total

DOCUMENTS, LENGTH, GLOBAL, LANES = 257, 16, 24, 4
EMPTY = (-1, -1, -1)


def length_of(n: int) -> int:
    """None, one, exactly a row, and more than a step; most are about a row."""
    odd = {0: 0, 1: 1, 2: LENGTH, 3: 0, 50: 700, 51: 0, 130: LENGTH * GLOBAL, DOCUMENTS - 1: 0}
    return odd.get(n, n * 7919 % 41)


def write_documents(folder: Path, numbers, **fields) -> Path:
    """Documents whose tokens say which they are, and of more fields what `fields[name](n)` says."""
    folder.mkdir()
    for n in numbers:
        out = io.BytesIO()
        np.save(out, np.arange(n * 1000, n * 1000 + length_of(n), dtype=np.int32))
        (folder / f"{n:03}.npy").write_bytes(out.getvalue())
        for name, value in {"n": lambda n: n, **fields}.items():
            (folder / f"{n:03}.{name}").write_text(str(value(n)))
    return folder


@pytest.fixture(scope="module")
def documents(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("documents")
    files = write_documents(folder / "files", range(DOCUMENTS))
    hr.pack(files, folder / "set", samples=23, measure={"npy": "tokens"})
    return folder / "set"


@pytest.fixture
def ds(documents: Path) -> hr.Dataset:
    return hr.open(documents)


def decoded(ds, shuffle=True):
    pipeline = ds.shuffle(seed=5, lanes=LANES, window="2KiB") if shuffle else ds
    return pipeline.decode(tokens=hr.npy("npy"), n=hr.integer("n"))


def packed(ds, *functions, tail="pad", total=GLOBAL, shuffle=True):
    pipeline = decoded(ds, shuffle)
    for function in functions:
        pipeline = pipeline.map(function, on="tokens")
    return pipeline.pack_tokens("tokens", length=LENGTH, by="npy:tokens").batch(
        total=total, tail=tail
    )


def steps_of(loaders, column="tokens"):
    """step -> the rows of all ranks."""
    steps: dict[int, list] = {}
    for loader in loaders:
        for batch in loader:
            steps.setdefault(batch.step, []).append(batch[column])
    return {step: np.concatenate(rows) for step, rows in steps.items()}


def same(steps, expected):
    assert steps.keys() == expected.keys()
    for step, rows in steps.items():
        np.testing.assert_array_equal(rows, expected[step])


# --- The oracle ----------------------------------------------------------------------------------


def lanes_of(ds, epoch, lanes):
    """The documents of each lane in the order of an epoch, from batches that are not packed."""
    loader = decoded(ds, lanes > 1).batch(total=lanes, tail="short").loader()
    loader.set_epoch(epoch)
    order: list[list[int]] = [[] for _ in range(lanes)]
    count = len(ds)
    for batch in loader:
        longer = [
            i for i in range(lanes) if (i + 1) * count // lanes - i * count // lanes > len(order[i])
        ]
        for lane, n in zip(longer, batch["n"].tolist(), strict=True):
            order[lane].append(n)
    return order


def oracle(ds, epoch=0, lanes=LANES, total=GLOBAL):
    """(document, number of the token, which of its row's documents) of every place of every row."""
    streams = [
        [(n, i) for n in lane for i in range(length_of(n))] for lane in lanes_of(ds, epoch, lanes)
    ]
    share = total // lanes * LENGTH
    flat = []
    while all(len(stream) >= share for stream in streams):
        for stream in streams:
            flat += stream[:share]
            del stream[:share]
    left = list(itertools.chain(*streams))
    left += [(-1, -1)] * (-len(left) % LENGTH)
    rows = len(left) // LENGTH
    places = [list(range(i * rows // total, (i + 1) * rows // total)) for i in range(total)]
    while any(places):
        for place in [place for place in places if place]:
            row = place.pop(0)
            flat += left[row * LENGTH : (row + 1) * LENGTH]
    made = []
    for begin in range(0, len(flat), LENGTH):
        row = flat[begin : begin + LENGTH]
        segment = [
            sum(1 for a, b in itertools.pairwise(row[: i + 1]) if a[0] != b[0])
            for i in range(LENGTH)
        ]
        made.append([(*t, s) if t[0] >= 0 else EMPTY for t, s in zip(row, segment, strict=True)])
    return np.array(made)


def expected_steps(ds, tail="pad", epoch=0, **options):
    """step -> the tokens of its rows; and how many rows are real."""
    rows = oracle(ds, epoch, **options)
    total = options.get("total", GLOBAL)
    tokens = np.where(rows[..., 0] < 0, 0, rows[..., 0] * 1000 + rows[..., 1])
    real = len(tokens)
    if tail == "drop":
        tokens = tokens[: real // total * total]
    if tail == "pad":
        tokens = np.resize(tokens, (-(-real // total) * total, LENGTH))
    return {i // total: tokens[i : i + total] for i in range(0, len(tokens), total)}, real


# --- What comes ----------------------------------------------------------------------------------


@pytest.mark.parametrize("tail", ["pad", "short", "drop"])
@pytest.mark.parametrize("epoch", [0, 3])
def test_rows_are_the_lanes_tokens_cut_into_rows(ds, tail, epoch):
    expected, real = expected_steps(ds, tail, epoch)
    loader = packed(ds, tail=tail).loader()
    loader.set_epoch(epoch)
    assert len(loader) == len(expected)
    batches = list(loader)
    same({batch.step: batch["tokens"] for batch in batches}, expected)
    rows = oracle(ds, epoch)
    seen = 0
    for batch in batches:
        assert batch.fields == ["tokens", "segments", "places"]
        assert [batch[name].dtype for name in batch.fields] == [np.int32] * 3
        assert batch.total == len(batch) == len(batch.mask) and batch.epoch == epoch
        for i in np.flatnonzero(batch.mask):
            np.testing.assert_array_equal(batch["segments"][i], rows[seen][:, 2])
            np.testing.assert_array_equal(batch["places"][i], np.maximum(rows[seen][:, 1], 0))
            seen += 1
        assert sorted(batch.mask.tolist(), reverse=True) == batch.mask.tolist()
    assert seen == (real // GLOBAL * GLOBAL if tail == "drop" else real)


@pytest.mark.parametrize("world", [1, 2, 3, 4, 8])
def test_every_token_comes_once_an_epoch_on_every_world(ds, world):
    expected, real = expected_steps(ds)
    loaders = [packed(ds).loader(rank=rank, world=world) for rank in range(world)]
    assert {len(loader) for loader in loaders} == {len(expected)}
    whole = steps_of(loaders)
    same(whole, expected)
    flat = np.concatenate(list(whole.values()))[:real].ravel()
    everything = [n * 1000 + i for n in range(DOCUMENTS) for i in range(length_of(n))]
    missing = real * LENGTH - len(everything)  # of the last row
    assert sorted(flat.tolist()) == sorted(everything + [0] * missing)
    states = [loader.state_dict() for loader in loaders]
    assert all(state == states[0] for state in states)
    again = steps_of(loaders)
    assert any((again[step] != expected[step]).any() for step in expected)
    same(again, expected_steps(ds, epoch=1)[0])


def test_without_shuffle_tokens_come_as_they_were_packed(ds):
    batches = list(packed(ds, shuffle=False, tail="short").loader())
    flat = np.concatenate([batch["tokens"] for batch in batches]).ravel()
    flat = flat[np.concatenate([batch["segments"] for batch in batches]).ravel() >= 0]
    assert flat.tolist() == [n * 1000 + i for n in range(DOCUMENTS) for i in range(length_of(n))]


def test_a_rank_without_a_row_of_a_short_tail_gets_an_empty_batch(ds):
    loaders = [packed(ds, tail="short").loader(rank=rank, world=24) for rank in range(24)]
    last = [list(loader)[-1] for loader in loaders]
    assert {len(batch) for batch in last} == {0, 1}
    for batch in last:
        assert batch["tokens"].shape == (len(batch), LENGTH)
        assert batch["tokens"].dtype == np.int32
        assert batch["segments"].shape == batch["places"].shape == (len(batch), LENGTH)


def test_lanes_of_very_unlike_lengths_are_read_together_to_the_end(tmp_path):
    """One shard of long documents among shards of short ones: no step is of one lane alone."""
    rng = np.random.default_rng(1)
    (tmp_path / "files").mkdir()
    for n in range(160):
        out = io.BytesIO()
        np.save(out, np.full(rng.integers(1, 400 if n >= 120 else 8), n // 40, np.uint16))
        (tmp_path / "files" / f"{n:03}.npy").write_bytes(out.getvalue())
    hr.pack(tmp_path / "files", tmp_path / "set", samples=40, measure={"npy": "tokens"})
    loader = (
        hr.open(tmp_path / "set")
        .shuffle(seed=1, lanes=4)
        .decode(tokens=hr.npy("npy"))
        .pack_tokens("tokens", length=LENGTH, by="npy:tokens")
        .batch(total=8, tail="short")
        .loader()
    )
    steps = [batch["tokens"] for batch in loader]
    kinds = [len(np.unique(step)) for step in steps]
    assert len(steps) > 20 and np.mean(kinds) > 1
    tokens = np.concatenate(steps).ravel()
    assert tokens.dtype == np.uint16
    assert (np.bincount(tokens)[1:] > 0).all()


# --- States --------------------------------------------------------------------------------------


def test_a_run_stopped_after_any_step_goes_on_exactly_on_another_world(ds):
    pipeline = packed(ds)
    whole = steps_of([pipeline.loader()])
    loader = pipeline.loader()
    states = [loader.state_dict()] + [loader.state_dict() for _ in loader]
    for stop, state in enumerate(states):
        assert state == pipeline.loader().state_at(0, stop)
        assert len(json.dumps(state)) < 400
        world = 1 + stop % 4
        loaders = [pipeline.loader(rank=rank, world=world) for rank in range(world)]
        for each in loaders:
            each.load_state_dict(json.loads(json.dumps(state)))
        same(steps_of(loaders), {step: whole[step] for step in range(stop, len(whole))})
        assert {each.epoch for each in loaders} == {1}


def test_epochs_are_chosen_and_begin_again(ds):
    loader = packed(ds).loader()
    first = steps_of([loader])
    loader.set_epoch(0)
    half = list(itertools.islice(loader, 2))
    same({batch.step: batch["tokens"] for batch in half}, dict(itertools.islice(first.items(), 2)))
    same(steps_of([loader]), first)
    loader.set_epoch(7)
    same(steps_of([loader]), expected_steps(ds, epoch=7)[0])


def test_the_state_says_by_what_rows_are_packed(ds):
    state = packed(ds).loader().state_dict()
    assert state["pack"] == {"by": "npy:tokens", "length": LENGTH}
    longer = decoded(ds).pack_tokens("tokens", length=32, by="npy:tokens").batch(total=GLOBAL)
    with pytest.raises(hr.StateError, match="pack length is 16 in the state and 32"):
        longer.loader().load_state_dict(state)
    with pytest.raises(hr.StateError, match="pack by is"):
        decoded(ds).batch(total=GLOBAL).loader().load_state_dict(state)


def test_the_global_batch_may_change_at_the_start_of_an_epoch(ds):
    loader = packed(ds).loader()
    loader.load_state_dict(packed(ds).loader().state_at(1, 0), total=12)
    same(steps_of([loader]), expected_steps(ds, epoch=1, total=12)[0])
    with pytest.raises(hr.StateError, match="in the midst of an epoch"):
        loader.load_state_dict(packed(ds).loader().state_at(1, 2), total=12)


def test_a_state_with_other_lanes_goes_on(ds):
    """Lanes that the world chose are the state's on any other."""
    pipeline = (
        ds.shuffle(seed=2)
        .decode(tokens=hr.npy("npy"))
        .pack_tokens("tokens", length=LENGTH, by="npy:tokens")
        .batch(total=GLOBAL)
    )
    one = pipeline.loader()
    three = [pipeline.loader(rank=rank, world=3) for rank in range(3)]
    assert one.state_dict()["lanes"] != three[0].state_dict()["lanes"]
    whole = steps_of([one])
    for loader in three:
        loader.load_state_dict(one.state_at(0, 2))
    same(steps_of(three), {step: whole[step] for step in range(2, len(whole))})


# --- Functions, workers, torch -------------------------------------------------------------------


def told(loader):
    return [
        [batch.step, batch.keys, batch.positions.tolist()]
        + [batch[name].tolist() for name in batch.fields]
        for batch in loader
    ]


@pytest.mark.parametrize("workers", [0, 2])
def test_functions_run_on_documents_before(ds, workers):
    expected = steps_of([packed(ds).loader()])
    segments = steps_of([packed(ds).loader()], "segments")
    with packed(ds, add_in_place).loader(workers=workers) as loader:
        mapped = steps_of([loader])
        same(mapped, {step: rows + (segments[step] >= 0) for step, rows in expected.items()})
        loader.load_state_dict(loader.state_at(1, 3))
        rest = steps_of([loader])
    assert list(rest) == list(range(3, len(expected)))


def test_random_numbers_do_not_depend_on_ranks_or_workers(ds):
    whole = steps_of([packed(ds, noisy_tokens).loader()])
    same(steps_of([packed(ds, noisy_tokens).loader(rank=r, world=3) for r in range(3)]), whole)
    with packed(ds, noisy_tokens).loader(workers=2, threads=1) as loader:
        same(steps_of([loader]), whole)


def test_threads_change_nothing(ds):
    expected = told(packed(ds).loader(threads=1))
    assert told(packed(ds).loader(threads=4)) == expected
    assert told(packed(ds).loader(memory="1KiB", prefetch=1)) == expected  # keeps no lengths


def read_by_torch(ds, workers):
    torch = pytest.importorskip("torch")
    expected = steps_of([packed(ds).loader()])
    loader = packed(ds).loader(to="torch")
    data = torch.utils.data.DataLoader(
        loader.as_torch_dataset(), batch_size=None, num_workers=workers
    )
    for _ in range(2):
        batches = list(data)
        same({i: batch["tokens"].numpy() for i, batch in enumerate(batches)}, expected)
        assert batches[0]["segments"].dtype == torch.int32
        assert batches[-1]["__mask__"].dtype == torch.bool
        expected = expected_steps(ds, epoch=1)[0]


@pytest.mark.parametrize("workers", [0, 2])
def test_torchs_data_loader(ds, workers):
    read_by_torch(ds, workers)


def test_torchs_workers_read_a_server(documents, tmp_path):
    with nginx(documents, tmp_path / "nginx") as server:
        read_by_torch(hr.open(server.url), 2)


def test_shards_that_are_fetched_ahead_give_the_same(ds, documents, tmp_path):
    """Compressed shards are read as remote ones are: whole parts, shared by steps."""
    hr.jobs.convert(documents, tmp_path / "set", container="tar.zst").wait()
    compressed = hr.open(tmp_path / "set")
    expected = expected_steps(compressed)[0]
    for memory in ("1GiB", "64KiB"):
        for world in (1, 2, 3):
            loaders = [
                packed(compressed).loader(rank=r, world=world, memory=memory) for r in range(world)
            ]
            same(steps_of(loaders), expected)
            for loader in loaders:
                loader.load_state_dict(loader.state_at(0, 4))
            same(steps_of(loaders), {step: expected[step] for step in range(4, len(expected))})


@pytest.mark.parametrize("cached", [False, True])
def test_a_real_server_gives_the_same(ds, documents, tmp_path, cached):
    expected = expected_steps(ds)[0]
    options = {"cache": str(tmp_path / "cache")} if cached else {}
    with nginx(documents, tmp_path / "nginx") as server:
        served = hr.open(server.url, **options)
        same(steps_of(packed(served).loader(rank=r, world=2) for r in range(2)), expected)
        loader = packed(served).loader()
        loader.load_state_dict(loader.state_at(0, 4))
        same(steps_of([loader]), {step: expected[step] for step in range(4, len(expected))})


# --- Documents -----------------------------------------------------------------------------------


def test_keys_and_positions_are_of_the_documents(ds):
    loader = packed(ds).loader()
    plain = {
        n: position
        for batch in decoded(ds).batch(total=GLOBAL).loader()
        for n, position, real in zip(batch["n"], batch.positions, batch.mask, strict=True)
        if real
    }
    for batch in itertools.islice(loader, 3):
        numbers = [int(key) for key in batch.keys]
        inside = {int(token) // 1000 for token in batch["tokens"].ravel()}
        assert inside == {n for n in numbers if length_of(n)}
        assert batch.positions.tolist() == [plain[n] for n in numbers]
        assert batch.origins[0].shard.endswith(".tar")
        row = loader.row_at(int(batch.positions[4]), epoch=0)
        assert row.keys == [batch.keys[4]] and row["n"].tolist() == [numbers[4]]
        assert loader.explain(int(batch.positions[4]), epoch=0)["key"] == batch.keys[4]
    lines = loader.explain()
    assert f"{DOCUMENTS} documents of" in lines and f"rows of {LENGTH}" in lines
    with pytest.raises(hr.UsageError, match=f"an epoch has {DOCUMENTS} positions"):
        loader.row_at(DOCUMENTS)


def test_the_audit_counts_documents_once(ds, tmp_path):
    pipeline = packed(ds)
    for rank in range(2):
        loader = pipeline.loader(rank=rank, world=2, audit=tmp_path / "first")
        state = [loader.state_dict() for _ in itertools.islice(loader, 3)][-1]
        loader.close()
    for rank in range(3):
        loader = pipeline.loader(rank=rank, world=3, audit=tmp_path / "then")
        loader.load_state_dict(state)
        for _ in range(2):
            list(loader)
        loader.close()
    report = hr.audit_report([tmp_path / "first", tmp_path / "then"], ds)
    assert report.passed, report
    assert [epoch["missing"] for epoch in report.epochs] == [0, 0], report


@pytest.mark.parametrize("workers", [0, 2])
def test_documents_that_are_left_out_leave_their_places_empty(ds, workers):
    whole = steps_of([packed(ds).loader()])
    pipeline = packed(ds, elevens_fail)
    with pipeline.loader(workers=workers, on_error="skip", max_errors=1000) as loader:
        batches = list(loader)
    bad = {n for n in range(DOCUMENTS) if n % 11 == 0 and length_of(n)}
    assert {int(error.key) for batch in batches for error in batch.errors} == bad
    for batch in batches:
        tokens, expected = batch["tokens"], whole[batch.step]
        gone = np.isin(expected // 1000, list(bad))
        np.testing.assert_array_equal(tokens, np.where(gone, 0, expected))
        assert (batch["segments"][gone] == -1).all()
        assert (batch["segments"].max(axis=1) < LENGTH).all()


# --- What cannot be ------------------------------------------------------------------------------


def test_a_document_of_another_length_than_the_index_says_is_an_error(ds, tmp_path):
    with pytest.raises(hr.DataError, match=r"has \d+ tokens, and the index, .* says \d+") as caught:
        list(packed(ds, one_less).loader())
    assert caught.value.shard.endswith(".tar") and caught.value.member
    assert caught.value.offset is not None and "--measure" in caught.value.hint
    with pytest.raises(hr.DataError, match="and the index"):
        list(packed(ds, one_less).loader(workers=1))
    files = write_documents(tmp_path / "files", range(9), len=lambda n: length_of(n) + (n == 7))
    hr.pack(files, tmp_path / "set", measure={"len": "value"})
    lying = decoded(hr.open(tmp_path / "set")).pack_tokens("tokens", length=8, by="len:value")
    with pytest.raises(hr.DataError, match="and the index") as caught:
        list(lying.batch(4).loader())
    assert "007" in caught.value.member


def test_a_count_beside_the_document_is_a_length_too(tmp_path):
    files = write_documents(tmp_path / "files", range(40), len=length_of)
    hr.pack(files, tmp_path / "set", measure={"len": "value"})
    pipeline = decoded(hr.open(tmp_path / "set")).pack_tokens("tokens", length=8, by="len:value")
    tokens = np.concatenate(
        [b["tokens"][b["segments"] >= 0] for b in pipeline.batch(4, tail="short").loader()]
    )
    assert sorted(tokens) == [n * 1000 + i for n in range(40) for i in range(length_of(n))]


def test_no_tokens_are_no_steps(tmp_path):
    files = write_documents(tmp_path / "files", [0, 3])
    hr.pack(files, tmp_path / "set", measure={"npy": "tokens"})
    loader = packed(hr.open(tmp_path / "set")).loader()
    assert len(loader) == 0 and list(loader) == [] and loader.epoch == 1


def test_what_makes_no_sense_is_said(ds, documents, tmp_path):
    def packing(pipeline, by="npy:tokens", **options):
        return pipeline.pack_tokens("tokens", length=LENGTH, by=by, **options)

    with pytest.raises(hr.UsageError, match="does not say how many tokens") as caught:
        packing(decoded(ds), by="npy").batch(4).loader()
    assert "--measure npy=tokens" in caught.value.hint
    with pytest.raises(hr.UsageError, match="not all measured: 'npy' in value"):
        packing(decoded(ds), by="npy:value").batch(4).loader()
    with pytest.raises(hr.UsageError, match="no such field"):
        packing(decoded(ds), by="wav:tokens").batch(4).loader()
    with pytest.raises(hr.UsageError, match="no such field"):
        packing(decoded(ds), by="").batch(4).loader()
    hr.pack(write_documents(tmp_path / "files", range(5)), tmp_path / "set")
    with pytest.raises(hr.UsageError, match="not all measured: 'npy' in tokens") as caught:
        packing(decoded(hr.open(tmp_path / "set"))).batch(4).loader()
    assert "--measure npy=tokens" in caught.value.hint and "by=" in caught.value.hint

    mixture = hr.mix([documents, documents], weights=[1, 2])
    with pytest.raises(hr.UsageError, match="with a mixture"):
        packing(decoded(mixture)).batch(4).loader()
    with pytest.raises(hr.UsageError, match="with buckets by length"):
        packing(decoded(ds).bucket(by="npy")).batch(4).loader()
    with pytest.raises(hr.UsageError, match="filter"):
        packing(decoded(ds).filter(even, on="n"))
    with pytest.raises(hr.UsageError, match="refill=True"):
        packing(decoded(ds).filter(even, on="n", refill=True))
    with pytest.raises(hr.UsageError, match=r"map_batches\(\) is not for"):
        packing(decoded(ds)).batch(4).map_batches(total)
    with pytest.raises(hr.UsageError, match="before your functions"):
        packing(decoded(ds)).batch(4).mix_rows("x", "y", classes=3, mixup=0.2)
    with pytest.raises(hr.UsageError, match="steps="):
        packing(decoded(ds)).batch(4, steps=3)
    with pytest.raises(hr.UsageError, match="at least one token"):
        decoded(ds).pack_tokens("tokens", length=0, by="npy:tokens")
    with pytest.raises(hr.UsageError, match="2\\^30"):
        decoded(ds).pack_tokens("tokens", length=1 << 40, by="npy:tokens").batch(4).loader()
    with pytest.raises(hr.UsageError, match="no array of whole numbers"):
        next(iter(decoded(ds).pack_tokens("n", length=8, by="npy:tokens").batch(4).loader()))
    with pytest.raises(hr.NotFoundError, match="no field 'text'"):
        next(iter(decoded(ds).pack_tokens("text", length=8, by="npy:tokens").batch(4).loader()))
