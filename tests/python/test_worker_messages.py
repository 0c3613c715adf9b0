"""No array is pickled on its way to a worker and back: messages stay small where rows are large."""

from __future__ import annotations

import io
import pickle
import sys
from pathlib import Path
from types import SimpleNamespace

import headrace as hr
import numpy as np
import pytest
from headrace.workers import channel

sys.path.insert(0, str(Path(__file__).parent))  # workers import from there, too

import user_functions as user

ROW, ROWS, BATCH = 200_000, 32, 8
#: Bytes of a message: 8 rows' places, names and the like. A single row that went along has 200,000.
MOST = 8000


@pytest.fixture
def messages(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The sizes of all messages, to workers and from them."""
    sizes: list[int] = []

    def dumps(message: object, protocol: int) -> bytes:
        text = pickle.dumps(message, protocol=protocol)
        sizes.append(len(text))
        return text

    def loads(text: bytearray) -> object:
        sizes.append(len(text))
        return pickle.loads(text)

    monkeypatch.setattr(channel, "pickle", SimpleNamespace(dumps=dumps, loads=loads))
    return sizes


@pytest.fixture
def large(make_tar, tmp_path) -> hr.Pipeline:
    def sample(i: int) -> tuple[str, dict[str, bytes]]:
        file = io.BytesIO()
        np.save(file, row(i))
        return f"k{i:02}", {"npy": file.getvalue(), "cls": b"%d" % i, "bin": bytes(row(i))}

    make_tar(tmp_path / "a.tar", map(sample, range(ROWS)))
    return hr.open(tmp_path / "a.tar").decode(x=hr.npy(), n=hr.integer(), data=hr.bytes("bin"))


def row(i: int) -> np.ndarray:
    return np.arange(i, i + ROW).astype(np.uint8)


def test_dense_rows_stay_where_they_are(large: hr.Pipeline, messages: list[int]) -> None:
    pipeline = large.map(np.invert, on="x").map(user.reversed_bytes, on="data").batch(BATCH)
    with pipeline.map_batches(np.copy, on="x").loader(workers=2) as loader:
        for batch in loader:
            for i, x, data in zip(batch["n"], batch["x"], batch["data"], strict=True):
                assert (x == ~row(i)).all()
                assert data == bytes(row(i)[::-1])
    assert len(messages) >= 2 * ROWS // BATCH
    assert max(messages) < MOST


def test_ragged_rows_and_arrays_in_objects_go_the_same_way(
    large: hr.Pipeline, messages: list[int]
) -> None:
    with large.map(user.parts).batch(BATCH).loader(workers=2) as loader:
        for batch in loader:
            for i, ragged, made in zip(batch["n"], batch["ragged"], batch["object"], strict=True):
                square = row(i)[:160_000].reshape(400, 400)
                assert (ragged == row(i)[i:]).all()
                assert made["n"] == i
                assert (made["whole"] == row(i)).all()
                assert (made["turned"] == square.T).all()
                assert (made["every other"] == row(i)[::2]).all()
                assert (made["corner"] == square[9:, 9:]).all()
    assert len(messages) >= 2 * ROWS // BATCH
    assert max(messages) < MOST
