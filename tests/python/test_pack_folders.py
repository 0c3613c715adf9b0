"""pack --folders and --key-map: which shards what goes to, against a model in Python."""

import json
import random
import re
import tarfile
from pathlib import Path, PurePosixPath

import headrace as hr
import pytest
from program import ok, run, shards_of


def write(folder: Path, keys: dict[str, int]) -> Path:
    for key, size in keys.items():
        path = folder / f"{key}.bin"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(b"x" * size)
    return folder


def layout(out: Path) -> list[list[str]]:
    shards = []
    for shard in shards_of(out):
        with tarfile.open(shard) as archive:
            shards.append([name.removesuffix(".bin") for name in archive.getnames()])
    return shards


def pack(source: Path, out: Path, *options) -> list[list[str]]:
    ok("pack", source, "--out", out, "--no-fsync", *options)
    ok("verify", out)
    return layout(out)


def test_the_picture_of_the_docs(tmp_path):
    """docs/reshape.md shows these shards."""
    keys = ["birds/1", "birds/2", "birds/3", "cats/1", "cats/wild/1", "cats/wild/2", "cats/wild/3"]
    keys += ["dogs/1"]
    source = write(tmp_path / "in", dict.fromkeys(keys, 1))
    assert pack(source, tmp_path / "plain", "--samples", 2) == [
        ["birds/1", "birds/2"],
        ["birds/3", "cats/1"],
        ["cats/wild/1", "cats/wild/2"],
        ["cats/wild/3", "dogs/1"],
    ]
    assert pack(source, tmp_path / "keep", "--samples", 2, "--folders", "keep") == [
        ["birds/1", "birds/2"],
        ["birds/3"],
        ["cats/1"],
        ["cats/wild/1", "cats/wild/2"],
        ["cats/wild/3"],
        ["dogs/1"],
    ]
    assert pack(source, tmp_path / "collapse", "--samples", 2, "--folders", "collapse") == [
        ["birds/1", "birds/2"],
        ["cats/wild/1", "cats/wild/2"],
        ["birds/3", "cats/wild/3"],
        ["cats/1", "dogs/1"],
    ]


def test_collapse_takes_the_sizes_that_ishard_misses(tmp_path):
    """1000 folders with less than a shard each: as many shards as their bytes need, not one a few
    folders."""
    source = write(tmp_path / "in", {f"d{i:03}/{i}": 1024 for i in range(1000)})
    shards = pack(source, tmp_path / "out", "--shard-size", "512KiB", "--folders", "collapse")
    sizes = [shard.stat().st_size for shard in shards_of(tmp_path / "out")]
    assert max(sizes) <= 512 << 10
    assert all(size >= (511 << 10) for size in sizes[:-1])
    assert len(shards) == 3  # 1,536 bytes a sample with its header


class Model:
    """What collapse means, written down another way: folders as a tree of lists."""

    def __init__(self, keys: dict[str, int], size: int | None, count: int | None) -> None:
        self.keys, self.size, self.count = keys, size, count
        self.shards: list[list[str]] = []

    def bytes_of(self, shard: list[str]) -> int:
        return 1024 + sum(512 + (self.keys[key] + 511) // 512 * 512 for key in shard)

    def fits(self, shard: list[str], key: str) -> bool:
        if not shard:
            return True
        if self.count and len(shard) == self.count:
            return False
        return not self.size or self.bytes_of([*shard, key]) <= self.size

    def take(self, shard: list[str], keys: list[str]) -> list[str]:
        for key in keys:
            if not self.fits(shard, key):
                self.shards.append(shard)
                shard = []
            shard = [*shard, key]
        return shard

    def collapse(self, folder: PurePosixPath) -> list[str]:
        own = sorted(key for key in self.keys if PurePosixPath(key).parent == folder)
        depth = len(folder.parts)
        below = {
            parent
            for key in self.keys
            for parent in PurePosixPath(key).parents
            if len(parent.parts) == depth + 1 and parent.is_relative_to(folder)
        }
        left: list[str] = []
        for child in sorted(below, key=lambda path: path.parts[-1].encode()):
            left = self.take(left, self.collapse(child))
        return self.take(left, own)

    def keep(self) -> list[list[str]]:
        folders: dict[tuple[str, ...], list[str]] = {}
        for key in sorted(self.keys):
            folders.setdefault(PurePosixPath(key).parent.parts, []).append(key)
        for _, keys in sorted(folders.items()):
            self.shards.append(self.take([], keys))
        return self.shards


def random_tree(rng: random.Random) -> dict[str, int]:
    folders = [""]
    for _ in range(rng.randrange(12)):
        name = rng.choice(["a", "b", "a-b", "aa", "a0", "c d", "é"])
        folders.append(f"{rng.choice(folders)}{name}/")
    return {
        f"{folder}{i}": rng.choice([0, 1, 511, 513, 3000, 9000])
        for folder in folders
        for i in range(rng.randrange(6))
    }


@pytest.mark.parametrize("seed", range(40))
def test_any_tree_is_cut_as_the_model_cuts_it(seed, tmp_path):
    rng = random.Random(seed)
    keys = random_tree(rng) or {"x": 1}
    size, count = rng.choice([(6000, None), (None, 3), (20000, 4), (None, 1)])
    limits = [f"--shard-size={size}"] * bool(size) + [f"--samples={count}"] * bool(count)
    source = write(tmp_path / "in", keys)
    kept = pack(source, tmp_path / "keep", *limits, "--folders", "keep")
    assert kept == Model(keys, size, count).keep()
    for shard in kept:
        assert len({PurePosixPath(key).parent for key in shard}) == 1
    model = Model(keys, size, count)
    last = model.collapse(PurePosixPath())
    shards = pack(source, tmp_path / "collapse", *limits, "--folders", "collapse")
    assert shards == [*model.shards, *([last] if last else [])]
    assert sorted(key for shard in shards for key in shard) == sorted(keys)


def test_folders_are_those_of_the_keys(tmp_path):
    source = write(tmp_path / "in", {"a/1": 1, "b/2": 1})
    assert pack(source, tmp_path / "out", "--key", "base", "--folders", "keep") == [["1", "2"]]


def test_what_excludes_each_other_is_refused(tmp_path):
    source = write(tmp_path / "in", {"a/1": 1, "b/2": 1})
    (tmp_path / "map").write_text("a/1\ta-%d.tar\n")
    for options in (
        ["--shuffle", "1", "--folders", "keep"],
        ["--shards", "2", "--folders", "collapse"],
        ["--key-map", tmp_path / "map", "--folders", "keep"],
        ["--folders", "all"],
        ["--folders", "keep", "--name", "one-{0..0}.tar"],
    ):
        assert run("pack", source, "--out", tmp_path / "out", *options).returncode == 2, options
    assert not (tmp_path / "out").exists()


MAP = """// classes of ImageNet
{"fish-%d.tar": ["train/n01440764.*", "train/n01443537.*"],
 "dogs-{0000..9999}.tar": ["n0208[56].*", "odd/one"], // two breeds
 "cats-@09.tar": ["n021.*"]}
"""


@pytest.fixture
def animals(tmp_path) -> Path:
    (tmp_path / "map.json").write_text(MAP)
    classes = ["n01440764", "n01443537", "n02085620", "n02086240", "n02123045"]
    keys = {f"train/{name}/{i}": 100 * i for name in classes for i in range(7)}
    return write(tmp_path / "in", {**keys, "odd/one": 5})


def named(out: Path) -> dict[str, list[str]]:
    return dict(zip([shard.name for shard in shards_of(out)], layout(out), strict=True))


def test_a_key_map_names_the_shards(animals, tmp_path):
    pack(animals, tmp_path / "out", "--key-map", tmp_path / "map.json", "--samples", "10")
    shards = named(tmp_path / "out")
    assert {name: len(keys) for name, keys in shards.items()} == {
        "cats-00.tar": 7,
        "dogs-0000.tar": 10,
        "dogs-0001.tar": 5,
        "fish-0.tar": 10,
        "fish-1.tar": 4,
    }
    patterns = {"fish": "n0144", "dogs": "n0208|odd/one", "cats": "n021"}
    for name, keys in shards.items():
        assert all(re.search(patterns[name.split("-")[0]], key) for key in keys)
    info = json.loads(ok("info", tmp_path / "out", "--json"))
    assert info["samples"] == 36
    shuffled = tmp_path / "shuffled"
    pack(animals, shuffled, "--key-map", tmp_path / "map.json", "--samples", "10", "--shuffle", "3")
    again = named(shuffled)
    assert again.keys() == shards.keys() and again != shards
    for kind in patterns:
        both = [
            sorted(key for name, keys in one.items() if name.startswith(kind) for key in keys)
            for one in (shards, again)
        ]
        assert both[0] == both[1]


def test_samples_that_the_map_does_not_name(animals, tmp_path):
    write(animals, {"train/n09999999/1": 1})
    done = run("pack", animals, "--out", tmp_path / "out", "--key-map", tmp_path / "map.json")
    assert done.returncode == 3
    assert b"n09999999" in done.stderr and b"--on-unmapped" in done.stderr
    report = hr.pack(
        animals, tmp_path / "out", key_map=tmp_path / "map.json", on_unmapped="drop-sample"
    )
    assert (report["samples"], report["files"], report["shards"]) == (36, 36, 3)
    assert any("1 sample left out" in note for note in report["notes"])


def test_another_map_is_another_plan(animals, tmp_path):
    command = ["pack", animals, "--out", tmp_path / "out", "--key-map", tmp_path / "map.json"]
    ok(*command)
    assert json.loads(ok(*command, "--json"))["complete_before"]
    (tmp_path / "map.json").write_text(MAP.replace("odd/one", "odd/.*"))
    assert run(*command).returncode == 2


def test_python_keeps_folders_too(animals, tmp_path):
    assert hr.pack(animals, tmp_path / "out", folders="keep")["shards"] == 6
    assert hr.pack(animals, tmp_path / "two", folders="collapse")["shards"] == 1
    with pytest.raises(hr.UsageError, match="folders"):
        hr.pack(animals, tmp_path / "three", folders="all")  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('{"a.tar": ["x"]}', b"a.tar"),
        ('{"a-%d.zip": ["x"], "b-%d.tar": ["y"]}', b"does not end in"),
        ('{"a-%d.tar": ["(x"]}', b"(x"),
        ('{"s-{0..3}.tar": ["n01.*"], "s-%d.tar": [".*"]}', b"two shards would have the name"),
    ],
)
def test_maps_that_make_no_sense(text, said, animals, tmp_path):
    (tmp_path / "bad.json").write_text(text)
    options = ["--key-map", tmp_path / "bad.json", "--on-unmapped", "drop-sample"]
    done = run("pack", animals, "--out", tmp_path / "out", *options)
    assert done.returncode == 2 and said in done.stderr, done.stderr
