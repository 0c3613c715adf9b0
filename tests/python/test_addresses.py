"""Data sets of shards that are named by addresses with a query, as signed ones are. The query is
another one in the next run, opens the shards, and is seen nowhere."""

from __future__ import annotations

import json
import pickle
from collections.abc import Iterator
from pathlib import Path

import boto3
import headrace as hr
import pytest
from conftest import MakeShards
from program import ok, run
from servers.buckets import KEY, SECRET, BucketServer, moto_s3
from servers.web import Content, FilePart, Reply, Request, WebServer, parse_range

SHARDS, SAMPLES = 4, 120
SIGNATURE = "0123456789abcdef"  # what no output may show


class SignedFolder:
    """Serves a folder to requests with the signature of the day, and for GET alone, as S3 does."""

    def __init__(self, folder: Path):
        self.folder = folder
        self.days = {1}  # whose signatures are good
        self.bytes_of_shards = 0
        self.server = WebServer(self._handle)
        self.server.start()

    def address(self, name: str, day: int = 1) -> str:
        return f"{self.server.origin}/{name}?{self.query(day)}"

    @staticmethod
    def query(day: int) -> str:
        return f"X-Date={day}&X-Signature={SIGNATURE}%2F{day}&list={{a,b}}"

    def _handle(self, request: Request) -> Reply:
        if request.query_text not in map(self.query, self.days):
            return Reply(403, body=f"<Provided>{request.query_text}</Provided>".encode())
        if request.method != "GET":
            return Reply(403)
        content = Content(self.folder / request.path.lstrip("/"))
        begin, end = parse_range(request.headers.get("range", ""), content.size) or (
            0,
            content.size,
        )
        self.bytes_of_shards += end - begin
        body = content.part(begin, end)
        assert isinstance(body, FilePart)
        place = f"bytes {begin}-{end - 1}/{content.size}"
        return Reply(206, {"Content-Range": place, "ETag": f'"{content.size}"'}, body)


@pytest.fixture
def folder(shards: MakeShards) -> Path:
    return shards(SAMPLES, SHARDS)


@pytest.fixture
def signed(folder: Path) -> Iterator[SignedFolder]:
    serving = SignedFolder(folder)
    yield serving
    serving.server.stop()


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.glob("*.tar"))


def keys(loader: hr.Loader) -> list[str]:
    return [key for batch in loader for key in batch.keys]


def read_and_resume(run_1: list[str], run_2: list[str]) -> tuple[list[str], str]:
    """Half an epoch with the first addresses, the rest with the second; and the state between."""
    first = hr.open(run_1).shuffle(seed=3).batch(8).loader()
    read: list[str] = []
    for batch in first:
        read += batch.keys
        if len(read) >= SAMPLES // 2:
            break
    state = json.dumps(first.state_dict())
    then = hr.open(run_2).shuffle(seed=3).batch(8).loader()
    then.load_state_dict(json.loads(state))
    return read + keys(then), state


def test_an_epoch_goes_on_with_addresses_that_were_signed_anew(signed: SignedFolder, folder: Path):
    today = [signed.address(name) for name in names(folder)]
    whole = keys(hr.open(folder).shuffle(seed=3).batch(8).loader())
    assert keys(hr.open(today).shuffle(seed=3).batch(8).loader()) == whole
    tomorrow = [signed.address(name, day=2) for name in names(folder)]
    signed.days = {1, 2}
    read, state = read_and_resume(today, tomorrow)
    assert read == whole
    assert SIGNATURE not in state
    again = hr.open(tomorrow)
    assert SIGNATURE not in repr(again) + "".join(map(str, again.shards))
    assert len(pickle.loads(pickle.dumps(again))) == SAMPLES


def test_shards_are_named_by_a_range_or_a_list(signed: SignedFolder, folder: Path, tmp_path: Path):
    address = signed.address("part-{000..003}.tar")
    assert len(hr.open(address)) == SAMPLES
    listed = tmp_path / "list.txt"
    listed.write_text("".join(signed.address(name) + "\n" for name in names(folder)))
    assert len(hr.open(f"@{listed}")) == SAMPLES
    assert len(ok("ls", address).splitlines()) == SAMPLES


def test_no_verb_shows_a_query(signed: SignedFolder, folder: Path, tmp_path: Path):
    address = signed.address("part-{000..003}.tar")
    listed = tmp_path / "list.txt"
    listed.write_text("".join(signed.address(name) + "\n" for name in names(folder)))
    calls = [
        ["ls", address, "--json"],
        ["info", address],
        ["info", address, "--json"],
        ["verify", address],
        ["cat", address, "s00003", "txt"],
        ["cp", address, tmp_path / "copy"],
        ["shuffle", f"@{listed}", "--out", tmp_path / "shuffled", "--seed", "1"],
        ["pack", signed.address("part-003.tar"), "--out", tmp_path / "packed"],
    ]
    for call in calls:
        done = run(*call)
        assert done.returncode == 0, (call, done.stderr)
        assert SIGNATURE.encode() not in done.stdout + done.stderr, call
    for name in names(folder):
        assert (tmp_path / "copy" / name).read_bytes() == (folder / name).read_bytes()
    assert len(hr.open(tmp_path / "shuffled")) == SAMPLES
    for path in tmp_path.rglob("*"):
        if path != listed and path.is_file():
            assert SIGNATURE.encode() not in path.read_bytes(), path


def test_no_error_shows_a_query(signed: SignedFolder, tmp_path: Path):
    old = signed.address("part-{000..003}.tar")
    folder = signed.address("folder")
    missing = signed.address("part-009.tar")
    signed.days = {2}
    with pytest.raises(hr.DeniedError, match="part-00") as refused:
        hr.open(old)
    assert "sign it anew" in str(refused.value)
    assert SIGNATURE not in str(refused.value)
    calls = [
        ["ls", old],
        ["ls", folder],
        ["ls", old, folder],
        ["verify", old],
        ["verify", folder],
        ["verify", old, folder],
        ["cp", missing, tmp_path / "copy"],
        ["index", old],
        ["pack", folder, "--out", tmp_path / "packed"],
        ["shuffle", old, "--out", tmp_path / "shuffled"],
        ["cache", "prefetch", old, "--cache", tmp_path / "cache"],
    ]
    for call in calls:
        done = run(*call)
        assert done.returncode not in (0, 1), (call, done.stderr)
        assert SIGNATURE.encode() not in done.stdout + done.stderr, (call, done.stderr)


def test_the_cache_knows_a_shard_by_another_signature(signed: SignedFolder, tmp_path: Path):
    cache = tmp_path / "cache"
    ok("cache", "prefetch", signed.address("part-{000..003}.tar"), "--cache", cache)
    before = signed.bytes_of_shards
    signed.days = {2}
    again = hr.open(signed.address("part-{000..003}.tar", day=2), cache=cache)
    assert len(keys(again.batch(8).loader())) == SAMPLES
    assert signed.bytes_of_shards - before <= 3 * SHARDS  # the first byte tells the version
    for path in cache.rglob("*"):
        assert not path.is_file() or SIGNATURE.encode() not in path.read_bytes(), path


@pytest.fixture
def moto(tmp_path: Path) -> Iterator[BucketServer]:
    with moto_s3(tmp_path / "moto") as server:
        yield server


def test_what_amazons_client_signs(moto: BucketServer, folder: Path, tmp_path: Path):
    ok("cp", folder, moto.location, env=moto.env)
    client = boto3.client(
        "s3",
        endpoint_url=moto.endpoint,
        region_name="us-east-1",
        aws_access_key_id=KEY,
        aws_secret_access_key=SECRET,
    )

    def sign(seconds: int) -> list[str]:
        wanted = [{"Bucket": "bucket", "Key": name} for name in names(folder)]
        return [client.generate_presigned_url("get_object", p, ExpiresIn=seconds) for p in wanted]

    first, second = sign(300), sign(301)
    assert not set(first) & set(second)
    assert all("?" in address for address in first)
    read, state = read_and_resume(first, second)
    assert read == keys(hr.open(folder).shuffle(seed=3).batch(8).loader())
    assert "Signature" not in state
    ok("cp", first[0], tmp_path / "copy")
    assert (tmp_path / "copy/part-000.tar").read_bytes() == (folder / "part-000.tar").read_bytes()
