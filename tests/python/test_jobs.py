"""Packing from Python."""

from __future__ import annotations

import headrace as hr
import pytest


@pytest.fixture
def photos(tmp_path):
    source = tmp_path / "photos"
    for i in range(60):
        folder = source / f"class{i % 3}"
        folder.mkdir(parents=True, exist_ok=True)
        (folder / f"{i:03d}.jpg").write_bytes(bytes([i]) * 100)
    return source


def test_files_become_a_data_set(photos, tmp_path):
    report = hr.pack(photos, tmp_path / "out", samples=25, label_from="folder", shuffle=1)
    assert (report["samples"], report["shards"]) == (60, 3)
    assert report["classes"] == ["class0", "class1", "class2"]
    ds = hr.open(tmp_path / "out")
    assert ds.classes == report["classes"]
    assert ds.fingerprint == report["fingerprint"]
    assert ds["class1/001"]["jpg"] == bytes([1]) * 100
    assert ds["class1/001"]["cls"] == b"1"
    again = hr.pack(photos, tmp_path / "out", samples=25, label_from="folder", shuffle=1)
    assert again["complete_before"]


def test_what_cannot_be_packed_is_refused(photos, tmp_path):
    with pytest.raises(hr.UsageError, match="one of"):
        hr.pack(photos, tmp_path / "out", samples=25, shards=3)
    with pytest.raises(hr.NotFoundError):
        hr.pack(tmp_path / "nowhere", tmp_path / "out")
    hr.pack(photos, tmp_path / "out")
    (photos / "more.jpg").write_bytes(b"1")
    with pytest.raises(hr.Error):
        hr.pack(photos, tmp_path / "out")
    assert hr.pack(photos, tmp_path / "out", replace=True)["samples"] == 61
