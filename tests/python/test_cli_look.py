"""`headrace ls`, `cat` and `info`, against what tarfile and the file system say."""

import json
import tarfile

from program import make_tar, ok, run, shards_of


def sample_lines(samples):
    def line(key, fields):
        return f"{key}\t" + " ".join(f"{name}={len(data)}" for name, data in sorted(fields.items()))

    return sorted(line(key, fields) for key, fields in samples.items())


def test_ls_has_a_line_a_sample(files, packed):
    assert sorted(ok("ls", packed).decode().splitlines()) == sample_lines(files[1])
    lines = [json.loads(line) for line in ok("ls", packed, "--json").splitlines()]
    sizes = {key: {f: len(data) for f, data in fields.items()} for key, fields in files[1].items()}
    assert {line["key"]: line["fields"] for line in lines} == sizes


def test_ls_members_is_what_tarfile_lists(packed):
    expected = []
    for shard in shards_of(packed):
        with tarfile.open(shard) as tar:
            expected += [(str(shard), m.offset_data, m.size, m.name) for m in tar]
    lines = [line.split("\t") for line in ok("ls", packed, "--members").decode().splitlines()]
    assert [(s, int(offset), int(size), name) for s, offset, size, name in lines] == expected
    parsed = [json.loads(line) for line in ok("ls", packed, "--members", "--json").splitlines()]
    assert [(m["shard"], m["offset"], m["size"], m["name"]) for m in parsed] == expected


def test_ls_filters(packed):
    assert len(ok("ls", packed, "--limit", "7").splitlines()) == 7
    assert len(ok("ls", packed, "--shard", "2").splitlines()) == 10
    by_name = ok("ls", packed, "--shard", shards_of(packed)[2].name)
    assert by_name == ok("ls", packed, "--shard", "2")
    assert run("ls", packed, "--shard", "77").returncode == 3


def test_ls_of_every_kind_of_source(files, packed):
    folder, samples = files
    expected = ok("ls", packed)
    shards = shards_of(packed)
    assert ok("ls", *shards) == expected
    assert [shard.name for shard in shards] == [f"shard-{n:06}.tar" for n in range(6)]
    braces = packed / "shard-{000000..000005}.tar"
    assert ok("ls", braces) == expected
    assert ok("ls", packed / "headrace.json") == expected
    (packed / "headrace.json").unlink()
    assert ok("ls", packed) == expected
    assert sorted(ok("ls", folder).decode().splitlines()) == sample_lines(samples)
    assert ok("ls", "-", stdin=shards[1].read_bytes()) == ok("ls", shards[1])
    members = ok("ls", "-", "--members", stdin=shards[1].read_bytes())
    assert [line.split(b"\t")[1:] for line in members.splitlines()] == [
        line.split(b"\t")[1:] for line in ok("ls", shards[1], "--members").splitlines()
    ]


def test_ls_of_a_stream_that_is_cut_inside_a_member(packed):
    data = shards_of(packed)[0].read_bytes()
    assert run("ls", "-", stdin=data[:700]).returncode == 4
    assert run("ls", "-", stdin=b"").returncode == 4
    assert run("ls", "-", stdin=b"no tar at all" * 100).returncode == 4


def test_cat_gives_the_bytes_of_every_field(files, packed):
    for key, fields in files[1].items():
        for field, data in fields.items():
            assert ok("cat", packed, key, field) == data
    for number, line in enumerate(ok("ls", packed, "--limit", "3").decode().splitlines()):
        key = line.split("\t")[0]
        assert ok("cat", packed, "--at", number, "bin") == files[1][key]["bin"]


def test_cat_says_where_the_bytes_are(files, packed):
    place = json.loads(ok("cat", packed, "dog/004", "bin", "--json"))
    (field,) = place["fields"]
    with open(place["shard"], "rb") as shard:
        shard.seek(field["offset"])
        assert shard.read(field["size"]) == files[1]["dog/004"]["bin"]


def test_cat_of_loose_files(files):
    folder, samples = files
    assert ok("cat", folder, "cat/007", "txt") == samples["cat/007"]["txt"]


def test_cat_helps_when_it_cannot_find(packed):
    def stderr(*args, code):
        done = run("cat", packed, *args)
        assert done.returncode == code and done.stdout == b""
        return done.stderr.decode()

    assert "Did you mean 'dog/004'?" in stderr("dgo/004", "bin", code=3)
    assert "the key 'dog/004' and the field 'bin'" in stderr("dog/004.bin", code=3)
    several = stderr("dog/004", code=2)
    assert "bin (" in several and "cls (1 B)" in several
    assert "bin (" in stderr("dog/004", "jpg", code=3)
    assert "has 60" in stderr("--at", "60", "bin", code=3)


def test_cat_of_an_ambiguous_key_names_the_places(tmp_path):
    make_tar(tmp_path / "0.tar", ["a.txt", "b.txt"], b"first")
    make_tar(tmp_path / "1.tar", ["c.txt", "a.txt"], b"second")
    done = run("cat", tmp_path, "a")
    assert done.returncode == 2
    hint = done.stderr.decode()
    assert "0.tar at byte 0" in hint and "1.tar at byte 1024" in hint
    assert ok("cat", tmp_path, "a", "--nth", "0") == b"first"
    assert ok("cat", tmp_path, "a", "--nth", "1") == b"second"
    assert run("cat", tmp_path, "a", "--nth", "2").returncode == 3
    assert ok("cat", tmp_path, "c") == b"second"


def test_info_counts(files, packed):
    _, samples = files
    info = json.loads(ok("info", packed, "--json"))
    assert (info["schema"], info["samples"], info["shards"], info["manifest"]) == (
        "headrace.info/1",
        60,
        6,
        True,
    )
    assert info["bytes"] == sum(s.stat().st_size for s in shards_of(packed))
    assert info["shard_samples"] == {"min": 10, "median": 10, "max": 10}
    for field in info["fields"]:
        sizes = sorted(len(f[field["name"]]) for f in samples.values() if field["name"] in f)
        assert field["count"] == len(sizes) and field["bytes"] == sum(sizes)
        assert field["size"] == {
            "min": sizes[0],
            "median": sizes[(len(sizes) - 1) // 2],
            "max": sizes[-1],
        }
    counts = {c["label"]: c["count"] for c in info["classes"]["counts"]}
    assert counts == {"0": 30, "1": 30}
    assert any("sorted by class" in hint for hint in info["hints"])
    assert any("'txt' is missing in 50 samples" in hint for hint in info["hints"])
    text = ok("info", packed).decode()
    assert "60" in text and info["fingerprint"] in text


def test_info_without_a_manifest_is_the_same_data(packed):
    with_manifest = json.loads(ok("info", packed, "--json"))
    (packed / "headrace.json").unlink()
    without = json.loads(ok("info", packed, "--json"))
    assert not without["manifest"]
    assert any("headrace index" in hint for hint in without["hints"])
    for same in ("samples", "shards", "bytes", "fields", "shard_bytes", "classes"):
        assert with_manifest[same] == without[same]


def test_info_class_field_must_be_there(packed):
    assert run("info", packed, "--classes", "nope").returncode == 3
    assert run("info", packed, "--classes", "bin").returncode == 2
