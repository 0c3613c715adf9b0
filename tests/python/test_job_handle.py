"""hr.jobs: verbs of the program as handles, with progress, errors and resuming."""

from __future__ import annotations

import re

import headrace as hr
import pytest
from job_outputs import contents, numbered_set
from program import ok


@pytest.fixture(scope="module")
def source(tmp_path_factory):
    return numbered_set(tmp_path_factory.mktemp("source"))


def keys(folder):
    return [sample.key for sample in hr.open(folder).samples()]


def test_every_verb(source, tmp_path):
    jobs = hr.jobs
    expected = keys(source)
    assert jobs.split(source, tmp_path / "split", multiple_of=8).wait()["tasks"] == 8
    assert keys(tmp_path / "split") == expected
    assert jobs.merge(source, tmp_path / "merge", shards=1).wait()["samples"] == 600
    assert jobs.shuffle([source], tmp_path / "shuffle", seed=3, samples=50).wait()["tasks"] == 12
    assert sorted(keys(tmp_path / "shuffle")) == expected != keys(tmp_path / "shuffle")
    sort = jobs.sort(tmp_path / "shuffle", tmp_path / "sort", as_="natural", reverse=True)
    assert sort.wait()["samples"] == 600 and keys(tmp_path / "sort") == expected[::-1]
    assert jobs.select(source, tmp_path / "select", regex="^00").wait()["samples"] == 100
    assert jobs.dedupe(source, tmp_path / "dedupe", by="cls").wait()["samples"] == 7
    jobs.rename(source, tmp_path / "rename", fields="text=txt").wait()
    assert sorted(hr.open(tmp_path / "rename")[5].fields) == ["cls", "text"]
    jobs.project(source, tmp_path / "project", fields="cls").wait()
    assert list(hr.open(tmp_path / "project")[5].fields) == ["cls"]
    assert jobs.convert(source, tmp_path / "convert", container="tar.zst").wait()["samples"] == 600
    assert keys(tmp_path / "convert") == expected
    assert all(name.endswith(".tar.zst") for name in hr.open(tmp_path / "convert").shards)


def test_every_verb_that_plans_is_there():
    words = set(re.findall(r"[a-z]+", ok("--help").decode()))
    unknown = ok("plan", "--help")
    verbs = {word for word in words if ok("plan", word, "--help") != unknown}
    assert {"shuffle", "convert", "map"} <= verbs <= set(hr.jobs.__all__)


def test_a_job_is_cancelled_and_goes_on(source, tmp_path):
    plan = tmp_path / "plan"
    whole = hr.jobs.shuffle(source, tmp_path / "whole", seed=1, shards=20)
    assert whole.wait()["samples"] == 600 and whole.progress() == (20, 20)
    job = hr.jobs.shuffle(source, tmp_path / "out", seed=1, shards=20, plan=str(plan))
    job.cancel()
    assert not job.running() and "20 tasks" in repr(job)
    assert hr.jobs.resume(plan).wait()["samples"] == 600
    assert contents(tmp_path / "out") == contents(tmp_path / "whole")


def test_errors_are_those_of_the_program(source, tmp_path):
    with pytest.raises(hr.NotFoundError):
        hr.jobs.split(tmp_path / "nowhere", tmp_path / "out")
    with pytest.raises(hr.Error):
        hr.jobs.split(source, tmp_path / "out", no_such_option=1)
    hr.jobs.split(source, tmp_path / "taken", samples=100).wait()
    other = hr.jobs.split(source, tmp_path / "taken", samples=50)
    with pytest.raises(hr.UsageError, match="another data set"):
        other.wait()
