"""Pipelines where torch is not installed, beside the real package in the same state."""

from __future__ import annotations

import json
import subprocess
import sys
import textwrap

import pytest
from small_archives import write

pytest.importorskip("webdataset", reason="webdataset is not installed: NOT TESTED")

SCRIPT = """
    import sys
    # Imports of these fail.
    sys.modules.update(dict.fromkeys(["torch", "torchvision", "torchaudio"]))

    import json, pickle
    import {library} as wds

    shards, folder = sys.argv[1:]
    said = {{}}

    def dataset(**options):
        return wds.WebDataset(shards, shardshuffle=2, seed=3, **options)

    plain = dataset().shuffle(5, seed=1).decode("rgb8").to_tuple("png", "cls", "__key__")
    said["samples"] = [(image.shape, label, key) for image, label, key in plain]
    batches = plain.batched(3)
    said["batches"] = [[images.shape, labels.tolist(), keys] for images, labels, keys in batches]
    again = pickle.loads(pickle.dumps(batches))
    said["pickled"] = [labels.tolist() for _, labels, _ in again]
    said["epoch"] = len(list(dataset().with_epoch(17)))
    said["mixed"] = sum(1 for _ in wds.RoundRobin([dataset(), dataset()], longest=True))
    said["wrapped"] = sum(1 for _ in wds.FluidWrapper(wds.MockDataset({{"a": 1}}, 5)).batched(2))
    pipeline = wds.DataPipeline(
        wds.SimpleShardList(shards),
        wds.split_by_node,
        wds.split_by_worker,
        wds.tarfile_to_samples(),
        wds.decode(),
        wds.map_dict(cls=lambda label: label + 1),
    )
    said["explicit"] = [sample["cls"] for sample in pipeline]
    with wds.ShardWriter(folder + "/x-%d.tar", maxcount=4, verbose=0) as sink:
        for sample in wds.WebDataset(shards, shardshuffle=False).slice(6):
            sink.write({{key: value for key, value in sample.items() if key != "__local_path__"}})
    written = wds.WebDataset(folder + "/x-{{0..1}}.tar", shardshuffle=False)
    said["written"] = [sample["__key__"] for sample in written]
    for name, use in {{
        "torchrgb": lambda: list(dataset().decode("torchrgb")),
        "loader": lambda: wds.WebLoader(dataset(), num_workers=1),
    }}.items():
        try:
            use()
        except Exception as error:
            said[name] = "an error"
    assert not any(name.partition(".")[0] == "torch" and sys.modules[name] for name in sys.modules)
    print(json.dumps(said))
"""


def run(library: str, *arguments: object) -> dict:
    script = textwrap.dedent(SCRIPT.format(library=library))
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", script, *map(str, arguments)],
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_all_that_needs_no_torch_does_the_same(tmp_path):
    Image = pytest.importorskip("PIL.Image", reason="Pillow is not installed: NOT TESTED")
    Image.new("RGB", (5, 4), (1, 2, 3)).save(tmp_path / "a.png")
    picture = (tmp_path / "a.png").read_bytes()
    for shard in range(3):
        numbers = range(shard * 5, shard * 5 + 5)
        fields = [
            (f"{n:02d}.{x}", d) for n in numbers for x, d in (("cls", b"%d" % n), ("png", picture))
        ]
        write(tmp_path / f"{shard}.tar", fields)
    said = []
    for library in ("webdataset", "headrace.webdataset"):
        (tmp_path / library).mkdir()
        said.append(run(library, tmp_path / "{0..2}.tar", tmp_path / library))
    assert said[1] == said[0]
    assert len(said[0]["samples"]) == 15 and said[0]["torchrgb"] == "an error"
