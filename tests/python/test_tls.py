"""Servers behind TLS: certificates are checked, unless one says loudly that they shall not be."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from program import ok, run
from servers.buckets import free_port
from servers.certificate import make_certificate, tls_lines
from servers.nginx import nginx


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    return make_certificate(tmp_path_factory.mktemp("tls"), "DNS:localhost")


@pytest.fixture(scope="module")
def port(files, authority, tmp_path_factory: pytest.TempPathFactory) -> Iterator[int]:
    data_set = tmp_path_factory.mktemp("packed") / "set"
    ok("pack", files[0], "--out", data_set, "--samples", "10", "--quiet")
    port = free_port()
    scratch = tmp_path_factory.mktemp("nginx") / "server"
    with nginx(data_set, scratch, more=tls_lines(port, *authority)):
        yield port


def test_an_unknown_authority_is_refused_with_what_to_do(port: int):
    done = run("verify", f"https://localhost:{port}")
    assert done.returncode != 0
    assert b"certificate" in done.stderr.lower() and b"HEADRACE_CA_FILE" in done.stderr


def test_an_authority_of_ones_own_is_named(port: int, authority):
    known = {"HEADRACE_CA_FILE": str(authority[0])}
    done = run("verify", f"https://localhost:{port}", env=known)
    assert done.returncode == 0, done.stderr
    assert b"all is well" in done.stderr and b"not checked" not in done.stderr


def test_another_name_than_the_certificate_s_is_refused(port: int, authority):
    known = {"HEADRACE_CA_FILE": str(authority[0])}
    done = run("verify", f"https://127.0.0.1:{port}", env=known)
    assert done.returncode != 0 and b"certificate" in done.stderr.lower(), done.stderr


def test_unchecked_certificates_are_read_and_said(port: int):
    done = run("verify", f"https://localhost:{port}", env={"HEADRACE_TLS_VERIFY": "0"})
    assert done.returncode == 0, done.stderr
    assert b"certificates are not checked" in done.stderr
