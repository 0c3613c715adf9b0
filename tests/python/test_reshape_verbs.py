"""select, sort, dedupe, rename, project, join: against the same in plain Python."""

import hashlib
import json
import random
import re
import signal
import tarfile
from pathlib import Path

import pytest
from program import ok, run, shards_of
from test_reshape import contents, report, samples

KEYS = [f"d{i % 3}/k{i}" for i in range(200)]


def fields_of(i: int) -> dict[str, bytes]:
    rng = random.Random(i)
    known = {
        "bin": rng.randbytes(rng.randrange(3000)),
        "cls": f" {rng.randrange(-50, 50)}\n".encode(),
        "json": json.dumps({"w": i, "lang": "ende"[i % 2 * 2 :][:2], "a": {"b": i / 7}}).encode(),
    }
    if i % 5 == 0:
        known["txt"] = f"text {i % 7}".encode()
    return known


ALL = {key: fields_of(i) for i, key in enumerate(KEYS)}


def as_read(items) -> list[tuple[str, tuple]]:
    """As samples() reports them."""
    return [
        (key, tuple((field, hashlib.sha256(data).hexdigest()) for field, data in fields.items()))
        for key, fields in items
    ]


@pytest.fixture
def data(make_tar, tmp_path) -> Path:
    folder = tmp_path / "data"
    folder.mkdir()
    items = list(ALL.items())
    for number in range(4):
        make_tar(folder / f"s{number}.tar", items[number * 50 : number * 50 + 50])
    ok("index", folder)
    return folder


def written(tmp_path: Path, *command) -> list[tuple[str, tuple]]:
    out = tmp_path / "out"
    ok(*command, "--out", out, "--samples", "30", "--no-fsync")
    ok("verify", out)
    return samples(out)


def number(fields) -> int:
    return int(fields["cls"])


def natural(key, _):
    return [int(x) if x.isdigit() else x for x in re.split(r"(\d+)", key)]


def en_from_20(_, fields, known):
    return known["lang"] == "en" and known["w"] >= 20


def de_or_3(_, fields, known):
    return known["lang"] == "de" or number(fields) == 3


def not_text_3(_, fields, known):
    return fields.get("txt", b"text 3") != b"text 3"


@pytest.mark.parametrize(
    ("condition", "holds"),
    [
        ("json.w >= 100", lambda k, f, j: j["w"] >= 100),
        ("json.lang = 'en' and not json.w < 20", en_from_20),
        ("json.lang in ('de', 'fr') or cls = 3", de_or_3),
        ("size(bin) < 1000", lambda k, f, j: len(f["bin"]) < 1000),
        ("size > 2000", lambda k, f, j: sum(map(len, f.values())) > 2000),
        ("key ~ '^d1/.*7$'", lambda k, f, j: re.search("^d1/.*7$", k)),
        ("txt is null", lambda k, f, j: "txt" not in f),
        ("txt is not null and txt != 'text 3'", not_text_3),
        ("json.a.b <= 3.5", lambda k, f, j: j["a"]["b"] <= 3.5),
        ("(cls > 0 or cls < -40) and json.none is null",
         lambda k, f, j: number(f) > 0 or number(f) < -40),
        ("cls not in (1, 2, -3)", lambda k, f, j: number(f) not in (1, 2, -3)),
    ],
)  # fmt: skip
def test_select_by_condition(condition, holds, data, tmp_path):
    kept = [(k, f) for k, f in ALL.items() if holds(k, f, json.loads(f["json"]))]
    assert 0 < len(kept) < len(ALL)
    assert written(tmp_path, "select", data, "--where", condition) == as_read(kept)


@pytest.mark.parametrize(
    "condition",
    ["json.w >=", "json.w > 1 cls", "(cls = 1", "cls in 1", "key ~ 5", "key ~ '('", "'a"],
)
def test_conditions_that_make_no_sense_are_exit_2(condition, data, tmp_path):
    assert run("select", data, "--where", condition, "--out", tmp_path / "out").returncode == 2


def test_long_conditions_are_understood_and_deep_ones_refused(data, tmp_path):
    many = " or ".join(f"cls = {i + 1000}" for i in range(5_000))
    deep = "(" * 150 + "not " * 40 + "json.w >= 30" + ")" * 150
    kept = written(tmp_path, "select", data, "--where", f"({many}) or {deep}")
    assert kept == as_read([(k, f) for k, f in ALL.items() if json.loads(f["json"])["w"] >= 30])
    for condition in ("(" * 30_000, "not " * 30_000 + "cls"):
        done = run("select", data, "--where", condition, "--out", tmp_path / "deep")
        assert done.returncode == 2 and b"nested too deeply" in done.stderr


def test_select_by_keys_and_pattern(data, tmp_path):
    wanted = random.Random(1).sample(KEYS, 40)
    (tmp_path / "keys.txt").write_text("\n".join([*wanted, "none"]) + "\n")
    both = [(k, f) for k, f in ALL.items() if k in wanted and k.startswith("d2")]
    command = ["select", data, "--keys", tmp_path / "keys.txt", "--regex", "^d2/"]
    assert written(tmp_path, *command) == as_read(both)
    ok(*command, "--invert", "--out", tmp_path / "others")
    assert samples(tmp_path / "others") == as_read(
        (k, f) for k, f in ALL.items() if not (k in wanted and k.startswith("d2"))
    )


def test_parts_have_no_key_in_common_and_are_the_shares_of_open(data, tmp_path):
    hr = pytest.importorskip("headrace")
    out = tmp_path / "parts"
    ok("select", data, "--parts", "train=0.7,val=0.2,test=0.1", "--seed", "3", "--out", out)
    parts = {name: [k for k, _ in samples(out / name)] for name in ("train", "val", "test")}
    assert sorted(parts["train"] + parts["val"] + parts["test"]) == sorted(KEYS)
    assert len(parts["train"]) > len(parts["val"]) > len(parts["test"]) > 0
    ok("select", data, "--fraction", "0.7-0.9", "--seed", "3", "--out", tmp_path / "val")
    assert [k for k, _ in samples(tmp_path / "val")] == parts["val"]
    assert len(hr.open(str(out / "train"))) == len(parts["train"])


@pytest.mark.parametrize(
    ("options", "key"),
    [
        ([], lambda k, f: k.encode()),
        (["--as", "natural"], natural),
        (["--as", "md5"], lambda k, f: hashlib.md5(k.encode()).hexdigest()),
        (["--by", "cls", "--as", "integer"], lambda k, f: number(f)),
        (["--by", "cls", "--as", "float"], lambda k, f: float(f["cls"])),
        (["--by", "bin"], lambda k, f: f["bin"]),
        (["--by", "size"], lambda k, f: sum(map(len, f.values()))),
    ],
    ids=str,
)  # fmt: skip
@pytest.mark.parametrize("reverse", [False, True])
def test_sort(options, key, reverse, data, tmp_path):
    # Python keeps equal ones in their order, also in reverse.
    expected = sorted(ALL.items(), key=lambda item: key(*item), reverse=reverse)
    command = ["sort", data, *options, *(["--reverse"] if reverse else [])]
    assert written(tmp_path, *command) == as_read(expected)


def test_sort_by_what_some_lack(data, tmp_path):
    command = ["sort", data, "--by", "txt"]
    assert run(*command, "--out", tmp_path / "none").returncode == 3
    having = sorted(((k, f) for k, f in ALL.items() if "txt" in f), key=lambda s: s[1]["txt"])
    lacking = [(k, f) for k, f in ALL.items() if "txt" not in f]
    ok(*command, "--on-missing", "last", "--out", tmp_path / "last")
    assert samples(tmp_path / "last") == as_read([*having, *lacking])
    ok(*command, "--on-missing", "drop-sample", "--out", tmp_path / "drop")
    assert samples(tmp_path / "drop") == as_read(having)


def test_sort_to_the_shards_of_a_key_map(data, tmp_path):
    wanted = {"a/d0-%03d.tar": ["^d0/"], "rest-{00..99}.tar": ["d1/k1", "d1/k4", "^d2/.*5$"]}
    (tmp_path / "map.json").write_text("// ours\n" + json.dumps(wanted))
    lines = [f"{entry}\t{name}" for name, entries in wanted.items() for entry in entries]
    (tmp_path / "map.txt").write_text("\n".join(lines))
    command = ["sort", data, "--samples", "20", "--no-fsync"]
    refused = run(*command, "--key-map", tmp_path / "map.json", "--out", tmp_path / "no")
    assert refused.returncode == 3 and b"does not name" in refused.stderr
    command += ["--on-missing", "drop-sample"]
    ok(*command, "--key-map", tmp_path / "map.json", "--out", tmp_path / "json")
    ok(*command, "--key-map", tmp_path / "map.txt", "--out", tmp_path / "lines")
    assert contents(tmp_path / "json") == contents(tmp_path / "lines")
    in_order = sorted(ALL.items(), key=lambda item: item[0].encode())
    assert samples(tmp_path / "json", "a/*.tar") == as_read(
        (k, f) for k, f in in_order if k.startswith("d0/")
    )
    assert samples(tmp_path / "json", "rest-*.tar") == as_read(
        (k, f) for k, f in in_order if k in ("d1/k1", "d1/k4") or re.search("^d2/.*5$", k)
    )


def test_dedupe_keeps_the_first(data, tmp_path, make_tar):
    def first(by):
        seen = {}
        for key, fields in ALL.items():
            seen.setdefault(tuple(fields.get(name) for name in by), (key, fields))
        return as_read(seen.values())

    assert written(tmp_path, "dedupe", data, "--by", "txt") == first(["txt"])
    ok("dedupe", data, "--by", "cls,txt", "--out", tmp_path / "two", "--shards", "1")
    assert samples(tmp_path / "two") == first(["cls", "txt"])
    again = report("dedupe", data, data, "--out", tmp_path / "all")
    assert again["samples"] == len(ALL)


def test_rename_and_project(data, tmp_path):
    renamed = [
        (k, {{"cls": "label", "bin": "raw"}.get(n, n): d for n, d in f.items()})
        for k, f in ALL.items()
    ]
    assert written(tmp_path, "rename", data, "--fields", "label=cls,raw=bin") == as_read(renamed)
    command = ["project", data, "--fields", "cap=caption;txt,cls"]
    assert run(*command, "--out", tmp_path / "no").returncode == 3
    having = [(k, {"cap": f["txt"], "cls": f["cls"]}) for k, f in ALL.items() if "txt" in f]
    ok(*command, "--on-missing", "drop-sample", "--out", tmp_path / "drop")
    assert samples(tmp_path / "drop") == as_read(having)
    ok(*command, "--on-missing", "ignore", "--out", tmp_path / "ignore")
    assert len(samples(tmp_path / "ignore")) == len(ALL)
    ok("verify", tmp_path / "ignore")
    assert run("rename", data, "--fields", "bin=cls", "--out", tmp_path / "no").returncode == 2


def test_join(data, make_tar, tmp_path):
    right = {k: {"cap": k.encode() * 3} for k in KEYS[::3]} | {"more": {"cap": b"more"}}
    make_tar(tmp_path / "right.tar", random.Random(1).sample(list(right.items()), len(right)))
    command = ["join", data, tmp_path / "right.tar"]
    assert run(*command, "--out", tmp_path / "no").returncode == 3
    inner = [(k, f | right[k]) for k, f in ALL.items() if k in right]
    left = [(k, f | right.get(k, {})) for k, f in ALL.items()]
    for policy, expected in {
        "inner": inner,
        "left": left,
        "outer": [*left, ("more", right["more"])],
    }.items():
        ok(*command, "--on-missing", policy, "--out", tmp_path / policy, "--samples", "17")
        assert samples(tmp_path / policy) == as_read(expected)
        ok("verify", tmp_path / policy)
    conflict = ["join", data, data, "--out", tmp_path / "same"]
    assert run(*conflict).returncode == 2
    ok(*conflict, "--on-conflict", "first")
    assert samples(tmp_path / "same") == as_read(ALL.items())


@pytest.mark.parametrize("point", ["marked", "shard_committed:3", "recorded:5", "tables", "rooted"])
@pytest.mark.parametrize(
    "command",
    [
        ["sort", "--by", "cls", "--as", "integer"],
        ["select", "--where", "json.w >= 30"],
        ["dedupe", "--by", "cls"],
        ["project", "--fields", "cls,bin"],
    ],
    ids=lambda words: words[0],
)
def test_killed_they_go_on_with_the_same_bytes(command, point, data, tmp_path):
    command = [command[0], data, *command[1:], "--shards", "6", "--no-fsync"]
    ok(*command, "--out", tmp_path / "expected", "-j", "1")
    out = tmp_path / "out"
    killed = run(*command, "--out", out, env={"HEADRACE_CRASH_AT": point})
    assert killed.returncode == -signal.SIGKILL
    # The plan lies at the destination behind the marker, until the root is there.
    again = (
        [*command, "--out", out] if point in ("marked", "rooted") else ["resume", out, "--no-fsync"]
    )
    ok(*again)
    assert contents(out) == contents(tmp_path / "expected")


def test_a_listed_plan_is_run_task_by_task(data, tmp_path):
    plan, out = tmp_path / "plan", tmp_path / "out"
    command = ["sort", data, "--by", "size", "--shards", "5"]
    ok("plan", *command, "--out", out, "--plan", plan)
    for task in (3, 0, 4, 2, 1):
        ok("run-task", plan, task)
    ok("run", plan)
    ok(*command, "--out", tmp_path / "whole")
    assert contents(out) == contents(tmp_path / "whole")
    order = plan / "order.bin"
    order.write_bytes(b"\x01" + order.read_bytes()[1:])
    (tmp_path / "out" / "headrace.json").unlink()
    assert run("run", plan).returncode == 4


def test_zip_by_position(make_tar, tmp_path):
    """Keys differ; the first set's stay."""
    rng = random.Random(8)
    left = [(f"a{i:03}", {"jpg": rng.randbytes(rng.randrange(3000))}) for i in range(50)]
    right = [(f"other/{99 - i}", {"npy": rng.randbytes(100), "cls": b"%d" % i}) for i in range(53)]
    make_tar(tmp_path / "left.tar", left)
    for number, part in enumerate((right[:20], right[20:])):
        (tmp_path / "right").mkdir(exist_ok=True)
        make_tar(tmp_path / "right" / f"{number}.tar", part)
    command = ["zip", tmp_path / "left.tar", tmp_path / "right", "--samples", "12"]
    refused = run(*command, "--out", tmp_path / "error")
    assert refused.returncode == 2 and b"50" in refused.stderr and b"53" in refused.stderr
    both = [(key, {**fields, **more[1]}) for (key, fields), more in zip(left, right, strict=False)]
    for missing, expected in {
        "inner": both,
        "left": both,
        "outer": both + right[50:],
    }.items():
        ok(*command, "--out", tmp_path / missing, "--on-missing", missing)
        ok("verify", tmp_path / missing)
        found = {}
        for shard in shards_of(tmp_path / missing):
            with tarfile.open(shard) as archive:
                for member in archive:
                    key, field = member.name.rsplit(".", 1)
                    found.setdefault(key, {})[field] = archive.extractfile(member).read()
        assert found == dict(expected)
    assert run("zip", tmp_path / "left.tar", "--out", tmp_path / "one").returncode == 2
    same = ["zip", tmp_path / "left.tar", tmp_path / "left.tar", "--out", tmp_path / "same"]
    assert b"--on-conflict" in run(*same).stderr
    ok(*same, "--on-conflict", "last")
