"""hf:// against a fake Hub that the real clients accept, and beside them."""

from __future__ import annotations

import base64
import contextlib
import gc
import json
import os
import signal
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import headrace as hr
import pytest
from exactly_once import read_on_two_worlds
from hub_tables import write_repository
from program import ok, run
from servers.hub_fake import HubFake
from servers.hub_repository import HubFile
from servers.web import Request

QUIET = {
    "HF_HUB_DISABLE_XET": "1",
    "HF_HUB_DISABLE_TELEMETRY": "1",
    "HF_HUB_DISABLE_UPDATE_CHECK": "1",
    "HF_HUB_DISABLE_PROGRESS_BARS": "1",
}


@pytest.fixture
def hub(monkeypatch, tmp_path) -> Iterator[HubFake]:
    """A fake Hub that this process and its children use, with an empty cache."""
    for name in list(os.environ):
        if name.startswith("HF_"):
            monkeypatch.delenv(name)
    with HubFake() as fake:
        for name, value in QUIET.items():
            monkeypatch.setenv(name, value)
        monkeypatch.setenv("HF_ENDPOINT", fake.endpoint)
        monkeypatch.setenv("HF_HOME", str(tmp_path / "home"))
        yield fake
        assert fake.leaks == []


@pytest.fixture
def packed_repository(hub, packed) -> str:
    """A packed data set of 60 samples as a repository."""
    paths = (path for path in packed.rglob("*") if path.is_file())
    made = {path.relative_to(packed).as_posix(): path for path in paths}
    hub.add("datasets", "org/packed", made)
    return "hf://datasets/org/packed"


@pytest.fixture
def shard_repository(hub, make_tar, tmp_path) -> str:
    """A repository of tar shards in two folders, as people upload them."""
    made: dict[str, bytes | Path] = {"README.md": b"# shards\n"}
    for split, shards in [("train", 4), ("test", 2)]:
        for shard in range(shards):
            path = tmp_path / f"{split}-{shard}.tar"
            keys = range(shard * 10, shard * 10 + 10)
            make_tar(path, [(f"{split}{i:03}", {"txt": b"%d" % i}) for i in keys])
            made[f"{split}/{shard:05}.tar"] = path
    hub.add("datasets", "org/shards", made)
    return "hf://datasets/org/shards"


def contents(location: object) -> dict[str, dict[str, bytes]]:
    return {
        sample.key: {name: bytes(sample[name]) for name in sample.fields}
        for sample in hr.open(location).samples()
    }


def python(run_python, code: str, **env: str) -> object:
    done = run_python(code, env=env)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_a_packed_data_set_is_read_at_one_resolve_a_file(hub, packed_repository, files):
    assert contents(packed_repository) == files[1]
    resolved = [target for kind, _, target in hub.log if kind == "resolvers"]
    places = [target for target in resolved if "/resolve/" in target]
    assert len(places) == len(set(places))
    assert hub.counts()["api"] == 2  # the commit and the manifest


def test_every_sample_comes_once_an_epoch_whatever_the_world(packed_repository, tmp_path):
    read_on_two_worlds(packed_repository, tmp_path)


class HeldAnswers:
    """The Hub says where shards are only when it is told to."""

    def __init__(self, hub: HubFake):
        self.asked, self.go_on = threading.Event(), threading.Event()
        hub.on_hub = self._hold

    def _hold(self, request: Request) -> None:
        if "/resolve/" in request.path and request.path.endswith(".tar"):
            self.asked.set()
            self.go_on.wait(30)


class Reader(threading.Thread):
    """Reads an epoch. `keys`: what came, until the loader was closed."""

    def __init__(self, data: hr.Dataset):
        super().__init__()
        self.loader = data.shuffle(seed=1).batch(8).loader()
        self.keys: list[str] = []
        self.start()

    def run(self) -> None:
        with contextlib.suppress(hr.StoppedError):
            for batch in self.loader:
                self.keys += batch.keys


def test_closing_a_loader_takes_nothing_from_another(hub, packed_repository, files):
    """The first asks where shards are, the second waits for these answers, the first is closed."""
    held = HeldAnswers(hub)
    data = hr.open(packed_repository)
    first = Reader(data)
    assert held.asked.wait(20)
    second = Reader(data)
    time.sleep(0.3)  # its reads are under way
    first.loader.close()
    held.go_on.set()
    second.join()
    first.join()
    assert set(second.keys) == set(files[1])


def test_who_waits_for_anothers_answer_hears_ctrl_c(hub, packed_repository, files):
    held = HeldAnswers(hub)
    reader = Reader(hr.open(packed_repository))
    assert held.asked.wait(20)
    data = hr.open(packed_repository)
    threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT)).start()
    begin = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        list(data.samples())
    assert time.monotonic() - begin < 2
    del data  # what waited is gone when the answer comes
    gc.collect()
    held.go_on.set()
    reader.join()
    assert set(reader.keys) == set(files[1])


def test_tar_shards_give_what_datasets_gives(hub, shard_repository, run_python):
    theirs = python(
        run_python,
        """
        import json, datasets
        rows = datasets.load_dataset("org/shards", split="train", streaming=True)
        print(json.dumps({row["__key__"]: row["txt"] for row in rows}))
        """,
    )
    ours = contents(f"{shard_repository}/train")
    assert {key: fields["txt"].decode() for key, fields in ours.items()} == theirs
    assert contents(f"{shard_repository}/train/*.tar") == ours
    assert contents(f"{shard_repository}/train/{{00000..00003}}.tar") == ours
    assert len(contents(shard_repository)) == 60


def test_loose_files_are_a_data_set(hub, tmp_path):
    made = {f"images/{i:03}.bin": bytes([i]) * 50 for i in range(40)}
    made |= {f"images/{i:03}.cls": b"%d" % (i % 3) for i in range(40)}
    hub.add("datasets", "org/loose", made)
    got = contents("hf://datasets/org/loose/images")
    assert len(got) == 40 and got["007"] == {"bin": bytes([7]) * 50, "cls": b"1"}
    read_on_two_worlds("hf://datasets/org/loose/images", tmp_path)


def test_parquet_gives_what_datasets_gives(hub, run_python, tmp_path):
    folder = write_repository(tmp_path / "tables")
    made = {str(p.relative_to(folder)): p for p in folder.rglob("*") if p.is_file()}
    hub.add("datasets", "org/tables", made)
    theirs = python(
        run_python,
        """
        import base64, json, datasets
        rows = datasets.load_dataset("org/tables", split="train", streaming=True)
        rows = rows.cast_column("image", datasets.Image(decode=False))
        print(json.dumps([
            {**row, "image": row["image"] and base64.b64encode(row["image"]["bytes"]).decode()}
            for row in rows
        ]))
        """,
    )
    ours = contents("hf://datasets/org/tables/data/train-*.parquet")
    assert len(ours) == len(theirs) == 60
    for fields, row in zip(ours.values(), theirs, strict=True):
        assert int(fields["label"]) == row["label"]
        assert fields["caption"].decode() == row["caption"]
        assert json.loads(fields["boxes"]) == row["boxes"]
        pictures = [data for name, data in fields.items() if name.startswith("image.")]
        assert [base64.b64encode(data).decode() for data in pictures] == [row["image"]] * len(
            pictures
        )
        assert bool(pictures) == (row["image"] is not None)
    assert len(contents("hf://datasets/org/tables")) == 70
    read_on_two_worlds("hf://datasets/org/tables", tmp_path / "audits")


def test_arrow_files_are_refused_with_what_to_do(hub):
    hub.add("datasets", "org/arrows", {"README.md": b"#", "data/train-0.arrow": b"ARROW1"})
    with pytest.raises(hr.UsageError, match="Arrow") as caught:
        hr.open("hf://datasets/org/arrows")
    assert caught.value.hint


def test_revisions_are_pinned_to_a_commit(hub):
    repository = hub.add("datasets", "org/set", {"a.txt": b"one"})
    first = repository.refs["main"]
    ds = hr.open("hf://datasets/org/set")
    repository.add_commit({"a.txt": HubFile.make("a.txt", b"two")})
    assert bytes(ds[0]["txt"]) == b"one"
    del ds
    assert contents(f"hf://datasets/org/set@{first}") == {"a": {"txt": b"one"}}
    repository.refs["v2/beta"] = repository.refs["main"]
    assert contents("hf://datasets/org/set@v2%2Fbeta") == {"a": {"txt": b"two"}}
    with pytest.raises(hr.NotFoundError, match="no revision 'gone'"):
        hr.open("hf://datasets/org/set@gone")


def test_the_client_s_cache_is_read_and_offline_needs_nothing_else(
    hub, packed_repository, files, run_python, monkeypatch
):
    code = """
        import json, huggingface_hub as h
        print(json.dumps(h.snapshot_download("org/packed", repo_type="dataset")))
        """
    python(run_python, code)
    hub.clear_log()
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    assert contents(packed_repository) == files[1]
    assert hub.log == []
    with pytest.raises(hr.NotFoundError, match="HF_HUB_OFFLINE"):
        hr.open("hf://datasets/org/other")


def test_the_client_reads_what_we_cached(hub, packed_repository, packed, run_python):
    hr.open(packed_repository)
    hub.clear_log()
    code = """
        import json, huggingface_hub as h
        here = dict(repo_id="org/packed", repo_type="dataset")
        path = h.hf_hub_download(filename="headrace.json", local_files_only=True, **here)
        info = h.scan_cache_dir()
        print(json.dumps([open(path).read(), len(info.warnings), path]))
        """
    text, warnings, path = python(run_python, code)
    assert text == (packed / "headrace.json").read_text()
    assert warnings == 0 and Path(path).is_symlink()
    assert hub.log == []


def test_processes_of_a_machine_ask_once(hub, run_python):
    hub.add("datasets", "org/many", {f"d/{i:05}.txt": b"x" for i in range(2500)})
    code = "import headrace as hr; assert len(hr.open('hf://datasets/org/many')) == 2500"
    threads = [threading.Thread(target=run_python, args=(code,)) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert hub.counts() == {"api": 1 + 3 + 1}  # commit, pages of the tree, no manifest


def test_a_large_repository_with_a_manifest_is_not_listed(hub, packed):
    files = {path.relative_to(packed).as_posix(): path for path in packed.rglob("*.*")}
    files |= {f"{i:05}.txt": b"x" for i in range(3500)}
    hub.add("datasets", "org/large", {k: v for k, v in files.items() if k[0] != "."})
    assert len(hr.open("hf://datasets/org/large")) > 0
    assert hub.counts()["api"] == 2  # the commit and the manifest
    assert sum(hub.counts().values()) <= 15
    assert bytes(hr.open("hf://datasets/org/large")[0]["txt"])
    assert hub.counts()["api"] == 2


def test_what_a_manifest_names_is_read_or_missed_by_name(hub, packed, monkeypatch, tmp_path):
    """Tables and shards are opened without looking at the list of files."""
    files = {path.relative_to(packed).as_posix(): path for path in packed.rglob("*.*")}
    shard = next(name for name in files if name.endswith(".tar"))
    longer = tmp_path / "longer.tar"
    longer.write_bytes(files[shard].read_bytes() + bytes(512))
    lacks_shard = {name: path for name, path in files.items() if name != shard}
    table = next(name for name in files if "shards" in name and not name.endswith(".tar"))
    lacks_table = {name: path for name, path in files.items() if name != table}
    cases = [
        ("lacks-shard", lacks_shard, "not_found", shard),
        ("lacks-table", lacks_table, "not_found", table),
        ("longer", files | {shard: longer}, "changed", shard),
    ]
    for name, made, code, where in cases:
        hub.add("datasets", f"org/{name}", made)
        with pytest.raises(hr.Error) as caught:
            contents(f"hf://datasets/org/{name}")
        assert caught.value.code == code and where in str(caught.value), name


def test_the_client_s_cache_is_used_without_a_list_of_files(
    hub, packed_repository, files, run_python
):
    code = """
        import json, huggingface_hub as h
        print(json.dumps(h.snapshot_download("org/packed", repo_type="dataset")))
        """
    snapshot = Path(str(python(run_python, code)))
    for tree in snapshot.parents[1].glob("trees/*"):
        tree.unlink()
    hub.clear_log()
    assert contents(packed_repository) == files[1]
    assert {kind for kind, _, _ in hub.log} <= {"api"}


def test_a_job_that_pins_its_inputs_reads_them(hub, packed_repository, packed, tmp_path):
    options = ["--seed", "3", "--quiet"]
    ok("shuffle", packed_repository, "--out", tmp_path / "out", *options)
    ok("shuffle", packed, "--out", tmp_path / "expected", *options)
    shards = {path.name: path.read_bytes() for path in (tmp_path / "expected").rglob("*.tar")}
    assert {path.name: path.read_bytes() for path in (tmp_path / "out").rglob("*.tar")} == shards
    plan = next((tmp_path / "out").rglob("*plan*"), None)
    assert hub.counts()["api"] == 3, plan  # for the pins, the first page of the tree as well


def test_signed_addresses_are_renewed_when_they_end(hub, shard_repository):
    ds = hr.open(f"{shard_repository}/train")
    assert bytes(ds[0]["txt"]) == b"0"
    hub.expire_urls()
    assert len(list(ds.samples())) == 40
    hub.url_seconds = 2
    hub.expire_urls()
    begin = time.monotonic()
    while time.monotonic() - begin < 4:
        assert bytes(ds[25]["txt"]) == b"25"
    refused = [target for kind, _, target in hub.log if kind == "cdn"]
    assert refused


def test_the_rate_limit_is_obeyed(hub):
    hub.add("datasets", "org/many", {f"d/{i:05}.txt": b"x" for i in range(2500)})
    hub.quotas["api"] = 3
    hub.new_window(seconds=1.5)
    begin = time.monotonic()
    assert len(hr.open("hf://datasets/org/many")) == 2500
    assert time.monotonic() - begin > 0.9
    assert hub.counts()["api"] <= 5 + 4  # not a storm


def test_private_and_gated_repositories_say_what_to_do(hub, monkeypatch, tmp_path):
    hub.add("datasets", "org/private", {"a.txt": b"p"}, token="hf_reader")
    hub.add("datasets", "org/gated", {"a.txt": b"g"}, token="hf_reader", gated=True)
    with pytest.raises(hr.Error, match="org/private") as caught:
        hr.open("hf://datasets/org/private")
    assert "HF_TOKEN" in caught.value.hint
    with pytest.raises(hr.Error, match="gated") as caught:
        contents("hf://datasets/org/gated")
    assert caught.value.code == "denied" and "/datasets/org/gated" in caught.value.hint
    (tmp_path / "home").mkdir(exist_ok=True)
    (tmp_path / "home/token").write_text("hf_reader\n")
    assert contents("hf://datasets/org/private") == {"a": {"txt": b"p"}}
    assert contents("hf://datasets/org/gated") == {"a": {"txt": b"g"}}


@pytest.mark.parametrize("part_size", [0, 300_000])
def test_pack_makes_one_commit_that_the_client_reads(
    hub, files, run_python, monkeypatch, part_size, tmp_path
):
    hub.part_size = part_size
    monkeypatch.setenv("HF_TOKEN", "hf_writer")
    repository = hub.add("datasets", "org/new", {"README.md": b"# new\n"})
    (tmp_path / "in").mkdir()
    big = os.urandom(2_500_000)
    (tmp_path / "in/big.bin").write_bytes(big)
    (tmp_path / "in/small.txt").write_bytes(b"small")
    ok("pack", tmp_path / "in", "--out", "hf://datasets/org/new/set", "--quiet")
    assert len(repository.commits) == 2
    assert contents("hf://datasets/org/new/set") == {
        "big": {"bin": big},
        "small": {"txt": b"small"},
    }
    code = """
        import json, huggingface_hub as h
        folder = h.snapshot_download("org/new", repo_type="dataset")
        import headrace as hr
        print(json.dumps([s.key for s in hr.open(folder + "/set").samples()]))
        """
    assert python(run_python, code) == ["big", "small"]
    names = sorted(repository.commits[repository.refs["main"]])
    assert "README.md" in names and not any("pending" in name for name in names)
    ok("pack", tmp_path / "in", "--out", "hf://datasets/org/new/set", "--quiet")
    assert len(repository.commits) == 2  # it holds exactly this


def test_cp_brings_a_data_set_there_in_one_commit_and_back(
    hub, packed, files, monkeypatch, tmp_path
):
    monkeypatch.setenv("HF_TOKEN", "hf_writer")
    repository = hub.add("datasets", "org/copy", {".gitattributes": b"*.tar filter=lfs\n"})
    ok("cp", packed, "hf://datasets/org/copy", "--quiet")
    assert len(repository.commits) == 2
    ok("cp", "hf://datasets/org/copy", tmp_path / "back", "--quiet")
    assert contents(tmp_path / "back") == files[1]


def test_a_commit_by_somebody_else_meanwhile_is_refused(hub, files, monkeypatch):
    monkeypatch.setenv("HF_TOKEN", "hf_writer")
    repository = hub.add("datasets", "org/new", {"README.md": b"# new\n"})
    apply = repository.apply

    def late(lines, large, branch):
        repository.add_commit(dict(repository.commits[repository.refs["main"]]))
        return apply(lines, large, branch)

    repository.apply = late
    done = run("pack", files[0], "--out", "hf://datasets/org/new", "--quiet")
    assert done.returncode == 6 and b"somebody else committed" in done.stderr
    repository.apply = apply
    ok("pack", files[0], "--out", "hf://datasets/org/new", "--quiet")
    assert contents("hf://datasets/org/new") == files[1]


def test_writing_needs_a_token_and_a_repository(hub, files, monkeypatch):
    hub.add("datasets", "org/new", {"README.md": b"# new\n"})
    done = run("pack", files[0], "--out", "hf://datasets/org/new", "--quiet")
    assert done.returncode == 7 and b"HF_TOKEN" in done.stderr
    done = run("pack", files[0], "--out", "hf://datasets/org/none", "--quiet")
    assert done.returncode in (3, 7) and b"org/none" in done.stderr
