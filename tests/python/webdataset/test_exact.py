"""`exact()`: the stages of a pipeline over Headrace's exactly-once order."""

from __future__ import annotations

from collections import Counter

import headrace.webdataset as wds
import pytest
from small_archives import numbered


@pytest.fixture
def data(tmp_path):
    urls = numbered(tmp_path, shards=4, samples=25)
    return wds.WebDataset(urls, shardshuffle=4, seed=3).shuffle(50).decode().to_tuple("cls", "txt")


def labels(batches):
    return [int(label) for numbers, _ in batches for label in numbers]


def test_every_sample_comes_once_an_epoch_in_a_new_order_each(data):
    batches = data.exact(batch=8)
    epochs = [labels(batches) for _ in range(2)]
    assert [Counter(epoch) for epoch in epochs] == [Counter(range(100))] * 2
    assert len(batches) == 13 and epochs[0] != epochs[1] != list(range(100))


def test_a_run_goes_on_where_it_was_on_another_number_of_ranks(data):
    whole = labels(data.exact(batch=8))
    first = data.exact(batch=8)
    seen = []
    for numbers, _ in first:
        seen += [int(n) for n in numbers]
        if len(seen) == 40:
            break
    state = first.state_dict()
    first.close()
    rest = []
    for rank in (0, 1):
        resumed = data.exact(batch=4, rank=rank, world=2)
        resumed.load_state_dict(state)
        rest += labels(resumed)
    assert Counter(seen + rest) == Counter(range(100))
    assert seen == whole[:40]


def test_the_batched_stage_says_how_many_rows_and_how_they_are_put_together(data):
    batches = data.batched(10, collation_fn=len).exact()
    assert list(batches) == [10] * 10


def test_without_a_shuffle_the_order_is_that_of_the_shards(tmp_path):
    urls = numbered(tmp_path, shards=2, samples=5)
    batches = wds.WebDataset(urls, shardshuffle=False).to_tuple("cls").exact(batch=5)
    assert [label for (column,) in batches for label in column] == [b"%d" % i for i in range(10)]


@pytest.mark.parametrize(
    ("change", "named"),
    [
        (lambda ds: ds.select(bool), "_select"),
        (lambda ds: ds.slice(3), "islice"),
        (lambda ds: ds.batched(4).map(len), "_batched"),
        (lambda ds: ds.compose(sorted), "sorted"),
    ],
)
def test_a_stage_that_cannot_take_part_is_named(data, change, named):
    with pytest.raises(ValueError, match=named):
        change(data).exact(batch=4)


def test_a_function_that_leaves_out_a_sample_is_an_error_that_names_it(data):
    def odd_only(pair):
        return pair if pair[0] % 2 else None

    with pytest.raises(ValueError, match="odd_only"):
        list(data.map(odd_only).exact(batch=4))


def test_resampled_shards_cannot_come_exactly_once(tmp_path):
    urls = numbered(tmp_path, shards=2, samples=5)
    with pytest.raises(ValueError, match="ResampledShards"):
        wds.WebDataset(urls, resampled=True).exact(batch=4)


def test_commands_have_no_index():
    with pytest.raises(ValueError, match="pipe:cat"):
        wds.WebDataset("pipe:cat x.tar", shardshuffle=False).exact(batch=4)


def test_a_data_set_with_an_epoch_of_its_own_is_refused(data):
    with pytest.raises(ValueError, match="with_epoch"):
        data.with_epoch(10).exact(batch=4)
