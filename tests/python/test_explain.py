"""What was drawn for a row can be told, and the row made again; mixing is the same on all ranks."""

import json

import headrace as hr
import numpy as np
import pytest
from PIL import Image

ROWS = 48


@pytest.fixture(scope="module")
def photos(tmp_path_factory):
    folder = tmp_path_factory.mktemp("photos")
    random = np.random.default_rng(5)
    for i in range(ROWS):
        pixels = random.integers(0, 256, (40 + i, 50, 3), dtype=np.uint8)
        Image.fromarray(pixels).save(folder / f"{i:03}.png")
        (folder / f"{i:03}.cls").write_text(str(i % 5))
    return hr.open(str(folder))


def steps(ds):
    recipe = (
        hr.image("png")
        .random_resized_crop(16)
        .flip()
        .color_jitter(0.4, 0.4, 0.4, 0.1, p=0.8)
        .rand_augment()
        .normalize(0.5, 0.5)
        .random_erasing(0.5)
    )
    return ds.shuffle(seed=3, lanes=4).decode(x=recipe, y=hr.integer())


def test_a_row_is_made_again_from_its_position_alone(photos):
    loader = steps(photos).batch(16).loader()
    for _ in range(2):
        epoch = loader.epoch
        for batch in loader:
            i = 5
            again = loader.row_at(int(batch.positions[i]), epoch=epoch)
            assert again.keys == [batch.keys[i]]
            np.testing.assert_array_equal(again["x"][0], batch["x"][i])


def test_explain_tells_what_was_drawn_as_plain_data(photos):
    loader = steps(photos).batch(16).loader()
    told = loader.explain(7)
    assert json.loads(json.dumps(told)) == told
    ops = [entry["op"] for entry in told["columns"]["x"]]
    assert ops == ["random_resized_crop", "flip", "color_jitter", "rand_augment", "random_erasing"]
    assert told["epoch"] == 0 and told["position"] == 7
    assert told != loader.explain(7, epoch=1)
    assert "lanes" in loader.explain()
    with pytest.raises(hr.UsageError, match="no position 48"):
        loader.explain(ROWS)


def test_the_box_and_the_flip_that_are_told_make_the_row(photos):
    loader = (
        photos.shuffle(seed=9)
        .decode(x=hr.image("png").random_crop(20).flip().layout("HWC"))
        .batch(8)
        .loader()
    )
    row = loader.row_at(11)
    crop, flip = loader.explain(11)["columns"]["x"]
    top, left, height, width = crop["box"]
    whole = np.asarray(Image.open(photos_file(photos, row.keys[0])))
    expected = whole[top : top + height, left : left + width]
    if flip["flipped"]:
        expected = expected[:, ::-1]
    np.testing.assert_array_equal(row["x"][0], expected)


def photos_file(ds, key):
    import io

    return io.BytesIO(ds[key]["png"])


def mixed(ds, world, **options):
    recipe = hr.image("png").resize(12).to_float()
    rows = {}
    for rank in range(world):
        loader = (
            ds.shuffle(seed=3, lanes=4)
            .decode(x=recipe, y=hr.integer())
            .batch(total=16)
            .mix_rows("x", "y", classes=5, **options)
            .loader(rank=rank, world=world)
        )
        for batch in loader:
            columns = zip(batch.positions, batch["x"], batch["y"], batch["lam"], strict=True)
            for position, x, y, lam in columns:
                rows[int(position)] = (x.copy(), y.copy(), float(lam))
    return rows


@pytest.mark.parametrize("options", [{"mixup": 0.4}, {"cutmix": 1.0}, {"mixup": 0.2, "cutmix": 1}])
def test_mixed_rows_are_the_same_on_every_world(photos, options):
    alone = mixed(photos, 1, **options)
    for world in (2, 4):
        shared = mixed(photos, world, **options)
        assert shared.keys() == alone.keys()
        for position, (x, y, lam) in alone.items():
            np.testing.assert_array_equal(shared[position][0], x)
            np.testing.assert_array_equal(shared[position][1], y)
            assert shared[position][2] == lam


def test_mixup_is_torchvisions_inside_each_group(photos):
    loader = (
        photos.shuffle(seed=3, lanes=4)
        .decode(x=hr.image("png").resize(12).to_float(), y=hr.integer())
        .batch(16)
        .mix_rows("x", "y", classes=5, mixup=0.4)
        .loader()
    )
    batch = next(iter(loader))
    plain = [loader.row_at(int(p)) for p in batch.positions]
    x = np.stack([row["x"][0] for row in plain])
    y = np.eye(5, dtype=np.float32)[[int(row["y"][0]) for row in plain]]
    seen = set()
    for begin in range(0, 16, 4):
        group = slice(begin, begin + 4)
        lam = batch["lam"][begin]
        seen.add(float(lam))
        assert (batch["lam"][group] == lam).all()
        expected = x[group] * lam + np.roll(x[group], 1, axis=0) * (1 - lam)
        np.testing.assert_allclose(batch["x"][group], expected, atol=1e-6)
        labels = y[group] * lam + np.roll(y[group], 1, axis=0) * (1 - lam)
        np.testing.assert_allclose(batch["y"][group], labels, atol=1e-6)
        told = loader.explain(int(batch.positions[begin]))["mixed"]
        assert told["op"] == "mixup" and told["partner"] == batch.positions[begin + 3]
        assert told["lam"] == pytest.approx(float(lam))
    assert len(seen) == 4


def test_cutmix_pastes_a_box_and_weighs_by_its_area(photos):
    loader = (
        photos.shuffle(seed=3, lanes=4)
        .decode(x=hr.image("png").resize(12), y=hr.integer())
        .batch(16)
        .mix_rows("x", "y", classes=5, cutmix=1.0)
        .loader()
    )
    batch = next(iter(loader))
    x = np.stack([loader.row_at(int(p))["x"][0] for p in batch.positions])
    for i in range(16):
        other = x[i - 1 if i % 4 else i + 3]
        own = (batch["x"][i] == x[i]).all(axis=0)
        pasted = (batch["x"][i] == other).all(axis=0)
        assert (own | pasted).all()
        assert own.mean() == pytest.approx(float(batch["lam"][i]), abs=0.02)


def test_mixing_that_would_depend_on_ranks_is_refused(photos):
    decoded = photos.shuffle(seed=1, lanes=4).decode(
        x=hr.image("png").resize(8).to_float(), y=hr.integer()
    )
    with pytest.raises(hr.UsageError, match="cut the 4 lanes"):
        decoded.batch(total=12).mix_rows("x", "y", classes=5, mixup=1).loader(rank=0, world=3)
    with pytest.raises(hr.UsageError, match="no neighbour"):
        decoded.batch(4).mix_rows("x", "y", classes=5, mixup=1).loader()
    whole = photos.decode(x=hr.image("png").resize(8), y=hr.integer()).batch(4)
    with pytest.raises(hr.UsageError, match="floats"):
        whole.mix_rows("x", "y", classes=5, mixup=1).loader()
    with pytest.raises(hr.Error, match="there are 3"):
        next(iter(whole.mix_rows("x", "y", classes=3, cutmix=1).loader()))
