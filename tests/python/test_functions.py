"""The user's functions: what they are given, what comes out, the same wherever they run."""

from __future__ import annotations

import hashlib
import io
import json
import pickle
import random
import sys
from pathlib import Path

import headrace as hr
import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).parent))  # workers import from there, too

import user_functions as user

WORKERS = (0, 1, 2, 3)


@pytest.fixture
def numbered(make_tar, tmp_path):
    """numbered(count): samples with an array, a number, a text and a JSON document."""

    def make(count: int) -> hr.Dataset:
        def sample(i):
            file = io.BytesIO()
            np.save(file, np.full(6, i, np.float32))
            document = json.dumps({"i": i}).encode()
            fields = {"npy": file.getvalue(), "cls": str(i).encode(), "json": document}
            return f"k{i:04d}", {**fields, "txt": f"täxt {i}".encode()}

        for shard in range(3):
            make_tar(tmp_path / f"{shard}.tar", map(sample, range(shard, count, 3)))
        return hr.open([tmp_path / f"{shard}.tar" for shard in range(3)])

    return make


def decoded(ds, seed=5):
    return ds.shuffle(seed=seed, lanes=2).decode(
        x=hr.npy(), n=hr.integer(), text=hr.text(), doc=hr.json()
    )


def digest(batches):
    """Of everything that batches say."""
    text = []
    for batch in batches:
        text.append((batch.epoch, batch.step, batch.keys, batch.mask.tolist()))
        for name in sorted(batch.fields):
            column = batch[name]
            rows = column.tolist() if hasattr(column, "tolist") else column
            dtype = str(getattr(column, "dtype", ""))
            text.append((name, dtype, [np.asarray(row, object).tolist() for row in rows]))
    return hashlib.sha256(repr(text).encode()).hexdigest()


def chain(ds):
    """All three kinds of functions, with randomness."""
    return (
        decoded(ds)
        .map(user.noise, on="x")
        .map(user.shout)
        .filter(user.even, on="n")
        .map(user.global_noise, on="x")
        .batch(6)
        .map_batches(user.total)
        .map_batches(user.noisy_batch, on="x")
    )


def test_a_function_on_samples_gets_a_dict_and_gives_the_sample(numbered):
    loader = decoded(numbered(20)).map(user.shout).batch(4).loader()
    for batch in loader:
        assert set(batch.fields) == {"x", "n", "text", "doc", "size"}
        assert batch["text"].tolist() == [f"TÄXT {n}" for n in batch["n"]]
        assert batch["size"].tolist() == [len(text) for text in batch["text"]]
        assert batch["doc"] == [{"i": n} for n in batch["n"]]


def test_a_function_on_a_field_leaves_the_others_where_they_are(numbered):
    pipeline = decoded(numbered(20)).map(user.double, on="x").batch(4)
    for batch in pipeline.loader():
        assert (batch["x"] == 2 * batch["n"][:, None]).all()
        assert batch["x"].dtype == np.float32
        assert isinstance(batch["doc"], hr.Ragged)
        assert batch["doc"][0] == {"i": batch["n"][0]}


@pytest.mark.parametrize("workers", [0, 2])
def test_every_kind_of_result_becomes_the_fitting_column(numbered, workers):
    loader = decoded(numbered(40)).map(user.all_kinds).batch(8).loader(workers=workers)
    for batch in loader:
        numbers = batch["n"].tolist()
        assert batch["same"].dtype == np.float32
        assert batch["same"].shape == (8, 2, 3)
        assert [row.tolist() for row in batch["ragged"]] == [list(range(n % 5)) for n in numbers]
        assert [row.shape for row in batch["picture"]] == [(n % 3 + 1, 4) for n in numbers]
        assert batch["picture"].values.dtype == np.uint8
        assert batch["number"].tolist() == [n / 2 for n in numbers]
        assert batch["flag"].dtype == bool
        assert batch["bytes"].tolist() == [bytes([n % 251]) * (n % 7) for n in numbers]
        assert [row["array"].tolist() for row in batch["object"]] == [
            list(range(n)) for n in numbers
        ]
        assert batch["maybe"] == [None if n % 2 else n for n in numbers]
        assert "object" in repr(batch)


@pytest.mark.parametrize("workers", [0, 2])
def test_arrays_may_be_changed_in_place(numbered, workers):
    pipeline = decoded(numbered(20)).map(user.add_in_place, on="x").batch(4)
    for batch in pipeline.map_batches(user.add_in_place, on="x").loader(workers=workers):
        assert (batch["x"] == batch["n"][:, None] + 2).all()


def test_results_are_the_same_whatever_the_workers(numbered):
    ds = numbered(103)
    digests = set()
    for workers in WORKERS:
        loader = chain(ds).loader(workers=workers)
        digests.add((digest(loader), digest(loader)))
    assert len(digests) == 1
    assert len(set(digests.pop())) == 2  # the second epoch is another


def test_the_generator_is_a_function_of_seed_epoch_and_position(numbered):
    loader = decoded(numbered(20)).map(user.noise, on="x").batch(4).loader()
    for epoch in range(2):
        for batch in loader:
            for row, n, position in zip(batch["x"], batch["n"], batch.positions, strict=True):
                drawn = np.random.default_rng([5, epoch, int(position), 0]).normal(size=6)
                assert row.tolist() == (n + drawn).tolist()


def test_global_generators_are_seeded_for_functions_and_the_trainings_stay_as_they_are(numbered):
    ds = numbered(20)
    pipeline = decoded(ds).map(user.global_noise, on="x").batch(4)
    random.seed(1)
    np.random.seed(1)
    expected = random.random(), np.random.random()
    random.seed(1)
    np.random.seed(1)
    first = digest(pipeline.loader())
    assert (random.random(), np.random.random()) == expected
    assert digest(pipeline.loader(workers=1)) == first
    assert digest(decoded(ds, seed=6).map(user.global_noise, on="x").batch(4).loader()) != first


@pytest.mark.parametrize("workers", [0, 2])
def test_a_filter_leaves_the_steps_and_drops_rows_with_all_that_belongs_to_them(numbered, workers):
    pipeline = decoded(numbered(50)).filter(user.even, on="n").batch(8, tail="pad")
    seen = []
    loader = pipeline.loader(workers=workers)
    for batch in loader:
        numbers = batch["n"].tolist()
        assert all(n % 2 == 0 for n in numbers)
        assert batch.keys == [f"k{n:04d}" for n in numbers]
        assert [origin.member for origin in batch.origins] == batch.keys
        assert len(batch) == len(batch.mask) == len(batch.positions) == len(batch["x"])
        assert batch["text"].tolist() == [f"täxt {n}" for n in numbers]
        assert [doc["i"] for doc in batch["doc"]] == numbers
        assert batch.total == 8
        seen += [n for n, real in zip(numbers, batch.mask, strict=True) if real]
    assert len(loader) == 7
    assert sorted(seen) == list(range(0, 50, 2))


@pytest.mark.parametrize("workers", [0, 2])
def test_a_batch_that_lost_all_its_rows_is_empty_and_comes(numbered, workers):
    pipeline = decoded(numbered(20)).map(user.double, on="x").filter(user.never, on="n").batch(4)
    batches = list(pipeline.map_batches(user.total).loader(workers=workers))
    assert [len(batch) for batch in batches] == [0] * 5
    assert all(batch["x"].shape == (0, 6) for batch in batches)


def test_ranks_and_resumes_see_the_same_samples_after_functions(numbered):
    """Stopped after each step of two ranks, gone on with on three."""
    ds = numbered(61)
    pipeline = (
        decoded(ds).map(user.noise, on="x").filter(user.even, on="n").batch(total=12, tail="pad")
    )

    def rows(batches):
        return [
            (batch.step, key, row.tolist())
            for batch in batches
            for key, row in zip(batch.keys, batch["x"], strict=True)
        ]

    whole = sorted(rows(pipeline.loader(rank=0, world=1)))
    for stop in range(1, 6):
        before, state = [], None
        for rank in range(2):
            loader = pipeline.loader(rank=rank, world=2, workers=rank * 2)
            iterator = iter(loader)
            before += rows([next(iterator) for _ in range(stop)])
            assert state is None or loader.state_dict() == state
            state = json.loads(json.dumps(loader.state_dict()))
            assert state == loader.state_at(0, stop)
            loader.close()
        after = []
        for rank in range(3):
            loader = pipeline.loader(rank=rank, world=3, workers=rank % 2)
            loader.load_state_dict(state)
            after += rows(loader)
            loader.close()
        assert sorted(before + after) == whole


@pytest.mark.parametrize("workers", [0, 2])
def test_epochs_and_states_are_those_of_a_loader_without_functions(numbered, workers):
    ds = numbered(37)
    plain = decoded(ds).batch(4).loader()
    loader = decoded(ds).map(user.double, on="x").batch(4).loader(workers=workers)

    def numbers(batches):
        return [batch["n"].tolist() for batch in batches]

    assert loader.state_dict() == plain.state_dict()
    epochs = [numbers(plain) for _ in range(3)]
    first = iter(loader)
    next(first), next(first)
    assert loader.state_dict() == plain.state_at(0, 2)
    assert loader.epoch == 0
    assert numbers(loader) == epochs[0]  # a new iteration starts its epoch again
    assert loader.state_dict() == plain.state_at(1, 0)
    with pytest.raises(hr.UsageError, match="newer"):
        next(first)
    assert numbers(loader) == epochs[1]
    loader.load_state_dict(plain.state_at(0, len(plain)))
    assert numbers(loader) == []
    assert loader.epoch == 1
    loader.load_state_dict(plain.state_at(1, 3))
    assert loader.state_dict() == plain.state_at(1, 3)
    assert numbers(loader) == epochs[1][3:]
    loader.set_epoch(0)
    assert numbers(loader) == epochs[0]
    for _ in range(3):  # at any moment
        iterator = iter(loader)
        next(iterator)
    assert numbers(loader) == epochs[1]
    assert numbers(loader) == epochs[2]
    loader.close()
    with pytest.raises(hr.StoppedError):
        next(iter(loader))


@pytest.mark.parametrize("workers", [0, 2])
def test_a_function_that_raises_is_reported_with_the_sample_and_its_own_traceback(
    numbered, workers
):
    ds = numbered(20)
    loader = (
        ds.decode(n=hr.integer()).map(user.sevens_fail, on="n").batch(4).loader(workers=workers)
    )
    with pytest.raises(hr.FunctionError) as caught:
        list(loader)
    error = caught.value
    assert "map(sevens_fail) raised ValueError: seven divides 0" in str(error)
    assert error.member == "k0000"
    assert error.shard.endswith("0.tar")
    assert error.offset == ds["k0000"].origin.offset
    assert 'raise ValueError(f"seven divides {n}")' in str(error)
    assert "user_functions.py" in error.traceback
    assert "headrace" not in error.traceback
    assert isinstance(error.__cause__, ValueError)
    again = pickle.loads(pickle.dumps(error))
    assert str(again) == str(error)
    assert loader.state_dict() == loader.state_at(0, 0)


@pytest.mark.parametrize("workers", [0, 2])
def test_an_exception_that_cannot_be_pickled_is_reported_all_the_same(numbered, workers):
    pipeline = decoded(numbered(20)).map(user.fail_oddly, on="n").batch(4)
    with pytest.raises(hr.FunctionError, match="raised UnpicklableError: 1"):
        list(pipeline.loader(workers=workers))


@pytest.mark.parametrize("workers", [0, 2])
def test_rows_that_fail_are_skipped_within_the_budget(numbered, workers):
    pipeline = decoded(numbered(50)).map(user.sevens_fail, on="n").batch(10)
    loader = pipeline.loader(workers=workers, on_error="skip")
    for _ in range(2):
        seen, errors = [], []
        for batch in loader:
            seen += batch["n"].tolist()
            errors += batch.errors
        assert sorted(seen) == [n for n in range(50) if n % 7]
        assert sorted(error.key for error in errors) == [f"k{n:04d}" for n in range(0, 50, 7)]
        assert all(isinstance(error.error, hr.FunctionError) for error in errors)
    with pytest.raises(hr.FunctionError, match="more than 3 samples"):
        list(pipeline.loader(workers=workers, on_error="skip", max_errors=3))


@pytest.mark.parametrize(
    ("function", "match"),
    [
        (user.no_dict, "returned None, not a dict"),
        (user.other_fields, "fields are not those of the samples before it: m, n"),
    ],
)
def test_results_that_make_no_sample_are_refused(numbered, function, match):
    with pytest.raises(hr.FunctionError, match=match):
        list(decoded(numbered(20)).map(function).batch(4).loader())


def test_a_function_on_batches_keeps_the_number_of_rows(numbered):
    pipeline = decoded(numbered(20)).batch(4).map_batches(user.too_few)
    with pytest.raises(hr.FunctionError, match=r"'x' has 3 rows, and the batch 4.*step 0"):
        list(pipeline.loader())


def test_a_field_that_is_not_there_is_named(numbered):
    with pytest.raises(hr.FunctionError, match="no field 'y'"):
        list(decoded(numbered(20)).map(user.double, on="y").batch(4).loader())


def test_steps_have_their_order(numbered):
    ds = numbered(8)
    with pytest.raises(hr.UsageError, match=r"map\(\) comes before batch"):
        ds.batch(4).map(user.double)
    with pytest.raises(hr.UsageError, match=r"map_batches\(\) comes after batch"):
        ds.map_batches(user.double)
    with pytest.raises(hr.UsageError, match="there are none"):
        ds.batch(4).loader(workers=2)
    with pytest.raises(hr.UsageError, match="needs a function"):
        ds.map("double")


@pytest.mark.parametrize("call", [lambda n: n, type("Local", (), {"__call__": lambda s, n: n})()])
def test_a_function_that_cannot_be_pickled_says_what_to_do(numbered, call):
    loader = decoded(numbered(8)).map(call, on="n").batch(4).loader(workers=1)
    with pytest.raises(hr.UsageError, match=r"cannot be pickled.*def at the top level"):
        next(iter(loader))


@pytest.mark.parametrize("workers", [0, 1])
def test_tensors_and_bfloat16(numbered, workers):
    torch = pytest.importorskip("torch")
    pipeline = decoded(numbered(12)).map(user.as_tensor, on="x", to="torch")
    loader = pipeline.batch(4).loader(to="torch", workers=workers)
    for batch in loader:
        assert batch["x"].dtype == torch.bfloat16
        assert batch["x"].shape == (4, 6)
        assert torch.equal(batch["x"][:, 0].float(), batch["n"].float())
    doubled = pipeline.batch(4).map_batches(user.tensor_type, on="x", to="torch")
    for batch in doubled.loader(workers=workers):
        assert (batch["x"] == 2 * batch["n"][:, None]).all()


def test_inside_torchs_dataloader_functions_run_in_its_workers(numbered):
    data = pytest.importorskip("torch.utils.data")
    pipeline = decoded(numbered(40)).map(user.noise, on="x").batch(4)
    alone = [batch["x"].tolist() for batch in pipeline.loader()]
    for workers in (0, 2):
        loader = pipeline.loader(to="torch", workers=2)
        batches = data.DataLoader(loader.as_torch_dataset(), batch_size=None, num_workers=workers)
        assert [batch["x"].tolist() for batch in batches] == alone


def test_columns_that_functions_made_speak_dlpack_and_stay(numbered):
    torch = pytest.importorskip("torch")
    kept = []
    with decoded(numbered(40)).map(user.noise, on="x").batch(4).loader(workers=2) as loader:
        for batch in loader:
            kept.append((batch["x"], batch["x"].copy()))
            assert torch.equal(torch.from_dlpack(batch.column("x")), torch.from_numpy(batch["x"]))
    assert all((array == copy).all() for array, copy in kept)
