"""The fake Hub is one that the real clients accept; what they ask of it is counted."""

from __future__ import annotations

import json

import pytest
from servers.hub_fake import HubFake

pytest.importorskip("huggingface_hub")
pytest.importorskip("datasets")

QUIET = {
    "HF_HUB_DISABLE_XET": "1",
    "HF_HUB_DISABLE_TELEMETRY": "1",
    "HF_HUB_DISABLE_UPDATE_CHECK": "1",
    "HF_HUB_DISABLE_PROGRESS_BARS": "1",
}


@pytest.fixture
def hub():
    with HubFake() as fake:
        yield fake


@pytest.fixture
def client(hub, run_python, tmp_path):
    """client(code): the code in a Python whose Hub is the fake; what it prints, as JSON."""

    def run(code, token="", home="home"):
        env = {"HF_ENDPOINT": hub.endpoint, "HF_HOME": str(tmp_path / home), **QUIET}
        done = run_python(code, env=env | ({"HF_TOKEN": token} if token else {}))
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    return run


def files(make_tar, tmp_path, shards=3, samples=4):
    out = {"README.md": b"# a data set\n", ".gitattributes": b"*.tar filter=lfs\n"}
    for shard in range(shards):
        path = tmp_path / f"{shard}.tar"
        keys = range(shard * samples, (shard + 1) * samples)
        rows = [(f"k{i:04}", {"txt": b"%d" % i, "cls": b"%d" % (i % 3)}) for i in keys]
        make_tar(path, rows)
        out[f"train/{shard:05}.tar"] = path
    return out


def test_hub_client_reads_files_trees_and_snapshots(hub, client, make_tar, tmp_path):
    made = files(make_tar, tmp_path)
    hub.add("datasets", "org/set", made)
    got = client(
        """
        import json, huggingface_hub as h
        here = dict(repo_id="org/set", repo_type="dataset")
        readme = open(h.hf_hub_download(filename="README.md", **here)).read()
        shard = len(open(h.hf_hub_download(filename="train/00001.tar", **here), "rb").read())
        folder = h.snapshot_download(**here)
        tree = [f.path for f in h.HfApi().list_repo_tree(recursive=True, **here)]
        fs = h.HfFileSystem()
        part = fs.open("datasets/org/set/train/00002.tar").read(100)
        names = fs.glob("datasets/org/set/**/*.tar")
        print(json.dumps([readme, shard, sorted(tree), len(part), names]))
        """
    )
    size = made["train/00001.tar"].stat().st_size
    shards = [f"train/{i:05}.tar" for i in range(3)]
    assert got[0] == "# a data set\n" and got[1] == size and got[3] == 100
    assert got[2] == [".gitattributes", "README.md", "train", *shards]
    assert got[4] == [f"datasets/org/set/{name}" for name in shards]
    assert hub.leaks == []


def test_trees_come_in_pages_that_the_client_follows(hub, client):
    hub.add("datasets", "org/many", {f"d{i % 7}/{i:05}.txt": b"x" for i in range(2500)})
    got = client(
        """
        import json, huggingface_hub as h
        tree = h.HfApi().list_repo_tree("org/many", repo_type="dataset", recursive=True)
        print(json.dumps(sum(isinstance(f, h.hf_api.RepoFile) for f in tree)))
        """
    )
    assert got == 2500
    assert hub.counts() == {"api": 3}


def test_datasets_streams_tar_shards(hub, client, make_tar, tmp_path):
    hub.add("datasets", "org/set", files(make_tar, tmp_path))
    got = client(
        """
        import json, datasets
        rows = datasets.load_dataset("org/set", split="train", streaming=True)
        print(json.dumps([row["txt"] for row in rows]))
        """
    )
    assert got == [str(i) for i in range(12)]


@pytest.mark.parametrize("part_size", [0, 4096])
def test_hub_client_commits_and_reads_back(hub, client, part_size):
    hub.part_size = part_size
    got = client(
        """
        import json, os, tempfile, huggingface_hub as h
        api, here = h.HfApi(), dict(repo_id="org/new", repo_type="dataset")
        api.create_repo(**here)
        folder = tempfile.mkdtemp()
        open(folder + "/README.md", "w").write("# new")
        open(folder + "/a.tar", "wb").write(bytes(range(256)) * 40)
        head = api.dataset_info("org/new").sha
        info = api.upload_folder(folder_path=folder, parent_commit=head, **here)
        files = sorted(api.list_repo_files(**here))
        back = open(h.hf_hub_download(filename="a.tar", **here), "rb").read()
        stale = ""
        try:
            add = h.CommitOperationAdd("b.md", b"b")
            api.create_commit(operations=[add], commit_message="b", parent_commit=head, **here)
        except h.errors.HfHubHTTPError as problem:
            stale = str(problem.response.status_code)
        print(json.dumps([info.oid, files, back == bytes(range(256)) * 40, stale]))
        """,
        token="hf_writer",
    )
    head = hub.repositories["datasets", "org/new"].refs["main"]
    assert got == [head, [".gitattributes", "README.md", "a.tar"], True, "412"]
    assert hub.leaks == []


def test_private_and_gated_repositories_need_their_token(hub, client):
    hub.add("datasets", "org/private", {"a.txt": b"p"}, token="hf_reader")
    hub.add("datasets", "org/gated", {"a.txt": b"g"}, token="hf_reader", gated=True)
    code = """
        import json, huggingface_hub as h
        out = []
        for name in ["org/private", "org/gated", "org/none"]:
            try:
                out.append(open(h.hf_hub_download(name, "a.txt", repo_type="dataset")).read())
            except Exception as problem:
                out.append(type(problem).__name__)
        print(json.dumps(out))
        """
    none = "RepositoryNotFoundError"
    assert client(code) == [none, "GatedRepoError", none]
    assert client(code, token="hf_reader", home="other") == ["p", "g", none]
