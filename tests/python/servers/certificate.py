"""Certificates that no authority knows."""

from __future__ import annotations

import subprocess
from pathlib import Path


def make_certificate(folder: Path, name: str) -> tuple[Path, Path]:
    """Certificate and key of a server that is known as `name`, as "DNS:localhost"."""
    certificate, key = folder / "certificate.pem", folder / "key.pem"
    words = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2"]
    names = ["-subj", "/CN=localhost", "-addext", f"subjectAltName={name}"]
    out = ["-out", str(certificate), "-keyout", str(key)]
    subprocess.run([*words, *names, *out], check=True, capture_output=True)
    return certificate, key


def tls_lines(port: int, certificate: Path, key: Path, more: str = "") -> str:
    """For nginx(more=…): it listens on this port too, behind TLS."""
    return (
        f"listen 127.0.0.1:{port} ssl {more}; "
        f"ssl_certificate {certificate}; ssl_certificate_key {key};"
    )
