"""Where credentials come from: each source in turn, proved by a server that checks signatures."""

from __future__ import annotations

import datetime
import json
import shlex
import sys
import urllib.parse

import pytest
from program import run
from servers.buckets import KEY, SECRET, rclone_s3
from servers.web import Reply, WebServer


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    scratch = tmp_path_factory.mktemp("rclone")
    with rclone_s3(scratch) as started:
        (scratch / "files/bucket/hello.tar").write_bytes(b"\0" * 1024)
        yield started


@pytest.fixture
def answers(server):
    """answers(environment): whether the bucket answers a program with just this environment."""
    nothing = dict.fromkeys(("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_PROFILE"), "")

    def check(more):
        done = run("info", server.location + "/hello.tar/x", env={**server.env, **nothing, **more})
        assert done.returncode in (3, 7), done.stderr  # not there, or not let in
        assert SECRET.encode() not in done.stderr
        return done.returncode == 3

    return check


@pytest.fixture
def web():
    """web(handle): a server of one function; its origin."""
    started = []

    def start(handle):
        server = WebServer(handle)
        server.start()
        started.append(server)
        return server.origin

    yield start
    for server in started:
        server.stop()


def lent(minutes=60, **more):
    end = datetime.datetime.now(datetime.timezone.utc) + datetime.timedelta(minutes=minutes)
    expiration = end.strftime("%Y-%m-%dT%H:%M:%SZ")
    return {"AccessKeyId": KEY, "SecretAccessKey": SECRET, "Expiration": expiration, **more}


def config(tmp_path, text):
    path = tmp_path / "config"
    path.write_text(text)
    return {"AWS_CONFIG_FILE": str(path)}


def test_environment(answers):
    assert answers({"AWS_ACCESS_KEY_ID": KEY, "AWS_SECRET_ACCESS_KEY": SECRET})
    assert not answers({"AWS_ACCESS_KEY_ID": KEY, "AWS_SECRET_ACCESS_KEY": SECRET[::-1]})


def test_profiles_of_both_files(answers, tmp_path):
    keys = f"aws_access_key_id = {KEY}\naws_secret_access_key = {SECRET}  # a comment\n"
    credentials = tmp_path / "credentials"
    credentials.write_text(f"[default]\naws_access_key_id=other\n\n[work]\n{keys}")
    both = {"AWS_SHARED_CREDENTIALS_FILE": str(credentials)}
    assert answers({**both, "AWS_PROFILE": "work"})
    assert not answers(both)
    inside = config(tmp_path, f"[profile of config]\nregion=x\ns3 =\n  style = path\n{keys}")
    assert answers({**inside, "AWS_PROFILE": "of config"})
    assert not answers({**inside, "AWS_PROFILE": "nobody"})


def test_the_endpoint_of_a_profile(server, answers, tmp_path):
    keys = f"aws_access_key_id = {KEY}\naws_secret_access_key = {SECRET}\n"
    services = f"services = here\n[services here]\ns3 =\n  endpoint_url = {server.endpoint}\n"
    assert answers({**config(tmp_path, f"[default]\n{keys}{services}"), "AWS_ENDPOINT_URL": ""})


def test_credential_process(answers, tmp_path):
    script = tmp_path / "lend.py"
    script.write_text(f"print({json.dumps({'Version': 1, **lent()})!r})")
    command = f"credential_process = {shlex.quote(sys.executable)} {shlex.quote(str(script))}"
    assert answers(config(tmp_path, f"[default]\n{command}\n"))
    assert not answers(config(tmp_path, "[default]\ncredential_process = false\n"))


def test_container_with_a_token(answers, web, tmp_path):
    def handle(request):
        if request.headers.get("authorization") != "the token":
            return Reply(401)
        return Reply(body=json.dumps(lent(Token="")).encode())

    address = web(handle) + "/v2/credentials"
    token = tmp_path / "token"
    token.write_text("the token\n")
    env = {"AWS_CONTAINER_CREDENTIALS_FULL_URI": address}
    assert answers({**env, "AWS_CONTAINER_AUTHORIZATION_TOKEN": "the token"})
    assert answers({**env, "AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE": str(token)})
    assert not answers({**env, "AWS_CONTAINER_AUTHORIZATION_TOKEN": "another"})
    far = {"AWS_CONTAINER_CREDENTIALS_FULL_URI": "http://192.0.2.1/credentials"}
    assert not answers(far)  # never over plain HTTP to elsewhere


def test_metadata_of_the_machine(answers, web):
    folder = "/latest/meta-data/iam/security-credentials/"

    def handle(request):
        if request.method == "PUT" and request.path == "/latest/api/token":
            return Reply(body=request.headers["x-aws-ec2-metadata-token-ttl-seconds"].encode())
        if request.headers.get("x-aws-ec2-metadata-token") != "21600":
            return Reply(401)
        if request.path == folder:
            return Reply(body=b"the-role")
        assert request.path == folder + "the-role"
        return Reply(body=json.dumps(lent(Code="Success", Token="")).encode())

    env = {"AWS_EC2_METADATA_SERVICE_ENDPOINT": web(handle)}
    assert answers({**env, "AWS_EC2_METADATA_DISABLED": "false"})
    assert not answers({**env, "AWS_EC2_METADATA_DISABLED": "true"})


def sts_answer(action):
    lines = "".join(f"<{name}>{value}</{name}>" for name, value in lent().items())
    return f"<{action}Response><{action}Result><Credentials>{lines}</Credentials>" + (
        f"</{action}Result></{action}Response>"
    )


def test_web_identity(answers, web, tmp_path):
    token = tmp_path / "token"
    token.write_text("a.web+identity/token==")

    def handle(request):
        asked = dict(urllib.parse.parse_qsl(request.body.decode()))
        if asked["WebIdentityToken"] != "a.web+identity/token==":
            return Reply(
                403, body=b"<ErrorResponse><Error><Code>AccessDenied</Code></Error></ErrorResponse>"
            )
        assert asked["Action"] == "AssumeRoleWithWebIdentity"
        assert asked["RoleArn"] == "arn:aws:iam::1:role/x"
        assert "authorization" not in request.headers
        return Reply(body=sts_answer("AssumeRoleWithWebIdentity").encode())

    env = {"AWS_ENDPOINT_URL_STS": web(handle), "AWS_WEB_IDENTITY_TOKEN_FILE": str(token)}
    assert answers({**env, "AWS_ROLE_ARN": "arn:aws:iam::1:role/x"})
    token.write_text("another")
    assert not answers({**env, "AWS_ROLE_ARN": "arn:aws:iam::1:role/x"})


def test_a_role_taken_with_the_credentials_of_another_profile(answers, web, tmp_path):
    def handle(request):
        asked = dict(urllib.parse.parse_qsl(request.body.decode()))
        assert asked["Action"] == "AssumeRole" and asked["RoleArn"] == "arn:aws:iam::1:role/y"
        assert "Credential=SOURCEKEY/" in request.headers["authorization"]
        return Reply(body=sts_answer("AssumeRole").encode())

    source = "[profile base]\naws_access_key_id=SOURCEKEY\naws_secret_access_key=s\n"
    role = "[default]\nrole_arn = arn:aws:iam::1:role/y\nsource_profile = base\n"
    env = {"AWS_ENDPOINT_URL_STS": web(handle)}
    assert answers({**config(tmp_path, source + role), **env})
    circle = "[default]\nrole_arn = a\nsource_profile = b\n[profile b]\nrole_arn = a\n"
    assert not answers({**config(tmp_path, circle + "source_profile = default\n"), **env})


def test_without_any_it_says_where_it_looked(server):
    nothing = {"AWS_ACCESS_KEY_ID": "", "AWS_SECRET_ACCESS_KEY": ""}
    done = run("info", server.location + "/set", env=server.env | nothing)
    assert done.returncode == 7
    assert b"no credentials" in done.stderr and b"HEADRACE_S3_ANONYMOUS" in done.stderr
