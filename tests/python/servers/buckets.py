"""Real servers that speak as bucket services do, each started for a test and ended with it.

with rclone_s3(folder) as server:
    run("ls", server.location, env=server.env)
"""

from __future__ import annotations

import base64
import contextlib
import email.utils
import hashlib
import hmac
import json
import os
import shutil
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pytest

KEY = "AKIDEXAMPLEEXAMPLE12"
SECRET = "a-secret/of+forty-characters.for-tests=1"


@dataclass(frozen=True)
class BucketServer:
    location: str  # the bucket
    endpoint: str
    env: dict[str, str]  # with which programs reach it
    wrong: dict[str, str] = field(default_factory=dict)  # what of it makes the server refuse them


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


@contextlib.contextmanager
def running(command: Sequence[object], port: int, log: Path, **env: str) -> Iterator[None]:
    """A server that listens on `port`, until the end of the block."""
    with log.open("w") as output:
        process = subprocess.Popen(
            [str(word) for word in command],
            stdout=output,
            stderr=subprocess.STDOUT,
            env={**os.environ, **env},
        )
    try:
        deadline = time.monotonic() + 60
        while True:
            with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
                break
            assert process.poll() is None, log.read_text()
            assert time.monotonic() < deadline, log.read_text()
            time.sleep(0.05)
        yield
    finally:
        process.terminate()
        try:
            process.wait(timeout=5)
        except subprocess.TimeoutExpired:  # some wait for clients that keep their connection
            process.kill()
            process.wait(timeout=30)


def program(name: str) -> str:
    """Of this Python's environment, of what ./dev fetched, or of the system."""
    fetched = Path(__file__).resolve().parents[3] / "build/servers"
    folders = [Path(sys.executable).parent, fetched, fetched / "node_modules/.bin"]
    found = shutil.which(name, path=os.pathsep.join(map(str, folders))) or shutil.which(name)
    if not found:
        pytest.skip(f"{name} is not installed (./dev test installs it where npm and go are)")
    return found


def _s3_environment(endpoint: str, home: Path) -> dict[str, str]:
    return {
        "AWS_ACCESS_KEY_ID": KEY,
        "AWS_SECRET_ACCESS_KEY": SECRET,
        "AWS_ENDPOINT_URL": endpoint,
        "AWS_REGION": "us-east-1",
        "AWS_EC2_METADATA_DISABLED": "true",
        "AWS_CONFIG_FILE": str(home / "no-config"),
        "AWS_SHARED_CREDENTIALS_FILE": str(home / "no-credentials"),
    }


@contextlib.contextmanager
def rclone_s3(scratch: Path, folder: Path | None = None) -> Iterator[BucketServer]:
    """`rclone serve s3`: checks signatures. `folder` becomes the bucket; else it is empty."""
    (scratch / "files").mkdir()
    if folder:
        (scratch / "files/bucket").symlink_to(folder.resolve())
    else:
        (scratch / "files/bucket").mkdir()
    port = free_port()
    command = [program("rclone"), "serve", "s3", "--addr", f"127.0.0.1:{port}"]
    command += ["--auth-key", f"{KEY},{SECRET}", "--copy-links", scratch / "files"]
    endpoint = f"http://127.0.0.1:{port}"
    config = str(scratch / "rclone.conf")
    with running(command, port, scratch / "rclone.log", RCLONE_CONFIG=config):
        wrong = {"AWS_SECRET_ACCESS_KEY": "another-secret-of-forty-characters-wrong"}
        yield BucketServer("s3://bucket", endpoint, _s3_environment(endpoint, scratch), wrong)


@contextlib.contextmanager
def moto_s3(scratch: Path) -> Iterator[BucketServer]:
    """moto: AWS in memory, with conditional writes, STS and the metadata service."""
    scratch.mkdir(parents=True, exist_ok=True)
    port = free_port()
    endpoint = f"http://127.0.0.1:{port}"
    with running([program("moto_server"), "-p", port], port, scratch / "moto.log"):
        request = urllib.request.Request(endpoint + "/bucket", method="PUT")
        urllib.request.urlopen(request, timeout=30).close()
        yield BucketServer("s3://bucket", endpoint, _s3_environment(endpoint, scratch))


@contextlib.contextmanager
def fake_gcs(scratch: Path) -> Iterator[BucketServer]:
    """fake-gcs-server: Google's JSON interface."""
    scratch.mkdir(parents=True, exist_ok=True)
    port = free_port()
    endpoint = f"http://127.0.0.1:{port}"
    command = [program("fake-gcs-server"), "-scheme", "http", "-host", "127.0.0.1"]
    command += ["-port", port, "-backend", "memory", "-public-host", f"127.0.0.1:{port}"]
    with running(command, port, scratch / "gcs.log"):
        body = json.dumps({"name": "bucket"}).encode()
        request = urllib.request.Request(endpoint + "/storage/v1/b", body)
        urllib.request.urlopen(request, timeout=30).close()
        yield BucketServer(
            "gs://bucket",
            endpoint,
            {"STORAGE_EMULATOR_HOST": endpoint, "HEADRACE_GS_ANONYMOUS": "1"},
        )


# The account that every copy of Azurite has; both are public.
AZURITE_ACCOUNT = "devstoreaccount1"
AZURITE_KEY = (
    "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw=="
)


def _sign_azurite(method: str, path: str, query: str) -> dict[str, str]:
    """Headers of a request without a body, signed with the account's key."""
    date = email.utils.formatdate(usegmt=True)
    headers = {"x-ms-date": date, "x-ms-version": "2021-08-06"}
    lines = "".join(f"{name}:{value}\n" for name, value in headers.items())
    resource = f"/{AZURITE_ACCOUNT}/{AZURITE_ACCOUNT}{path}\n{query.replace('=', ':')}"
    text = f"{method}{chr(10) * 12}{lines}{resource}".encode()
    mac = hmac.new(base64.b64decode(AZURITE_KEY), text, hashlib.sha256).digest()
    signature = base64.b64encode(mac).decode()
    return headers | {"Authorization": f"SharedKey {AZURITE_ACCOUNT}:{signature}"}


@contextlib.contextmanager
def azurite(scratch: Path) -> Iterator[BucketServer]:
    """Azurite: Azure's own emulator; checks signatures."""
    scratch.mkdir(parents=True, exist_ok=True)
    port = free_port()
    command = [program("azurite-blob"), "--blobHost", "127.0.0.1", "--blobPort", port]
    command += ["--location", scratch, "--silent", "--skipApiVersionCheck"]
    endpoint = f"http://127.0.0.1:{port}/{AZURITE_ACCOUNT}"
    with running(command, port, scratch / "azurite.log"):
        made = urllib.request.Request(f"{endpoint}/bucket?restype=container", method="PUT")
        for name, value in _sign_azurite("PUT", "/bucket", "restype=container").items():
            made.add_header(name, value)
        urllib.request.urlopen(made, timeout=30).close()
        account = f"BlobEndpoint={endpoint};AccountName={AZURITE_ACCOUNT};AccountKey="
        env, wrong = (
            {"AZURE_STORAGE_CONNECTION_STRING": account + key}
            for key in (AZURITE_KEY, base64.b64encode(b"another key").decode())
        )
        yield BucketServer("az://bucket", endpoint, env, wrong)
