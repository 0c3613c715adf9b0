"""How gs:// and az:// get their tokens: each way against a server that checks what it is asked."""

from __future__ import annotations

import base64
import json
import urllib.parse

import pytest
from program import run
from servers.web import Reply, WebServer

TOKEN = "the-access-token"


class Cloud:
    """A store that lets in who has the token, and the services that give it out."""

    def __init__(self):
        self.asked = []  # forms and queries of those who wanted a token
        self.refused = []
        self.server = WebServer(self.handle)
        self.server.start()

    def handle(self, request):
        if "token" in request.path:
            body = request.body.decode()
            self.asked.append((request, dict(urllib.parse.parse_qsl(body)) or request.query))
            return Reply(body=json.dumps({"access_token": TOKEN, "expires_in": 3600}).encode())
        if request.headers.get("authorization") != f"Bearer {TOKEN}":
            self.refused.append(request)
            return Reply(401)
        return Reply(404)


@pytest.fixture
def cloud():
    started = Cloud()
    yield started
    started.server.stop()


def is_let_in(cloud, location, env):
    done = run("cat", location, "some", "bin", env=env)
    assert done.returncode in (3, 7), done.stderr
    assert TOKEN.encode() not in done.stderr
    return done.returncode == 3 and not cloud.refused


def google(cloud, **more):
    nowhere = {"CLOUDSDK_CONFIG": "/nowhere", "GCE_METADATA_HOST": "127.0.0.1:1"}
    return {"STORAGE_EMULATOR_HOST": cloud.server.origin, **nowhere, **more}


def test_a_service_account_signs_a_token_that_google_can_check(cloud, tmp_path):
    pytest.importorskip("cryptography")
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import padding, rsa

    key = rsa.generate_private_key(65537, 2048)
    pem = key.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.NoEncryption(),
    )
    account = {
        "type": "service_account",
        "client_email": "robot@example.org",
        "private_key_id": "7",
        "private_key": pem.decode(),
        "token_uri": cloud.server.origin + "/token",
    }
    path = tmp_path / "account.json"
    path.write_text(json.dumps(account))
    assert is_let_in(cloud, "gs://b/x", google(cloud, GOOGLE_APPLICATION_CREDENTIALS=str(path)))

    ((_, form),) = cloud.asked
    assert form["grant_type"] == "urn:ietf:params:oauth:grant-type:jwt-bearer"
    signed, _, signature = form["assertion"].rpartition(".")
    header, claims = (
        json.loads(base64.urlsafe_b64decode(part + "==")) for part in signed.split(".")
    )
    assert header == {"alg": "RS256", "typ": "JWT", "kid": "7"}
    assert claims["iss"] == "robot@example.org" and claims["aud"] == account["token_uri"]
    assert claims["exp"] - claims["iat"] == 3600
    key.public_key().verify(
        base64.urlsafe_b64decode(signature + "=="),
        signed.encode(),
        padding.PKCS1v15(),
        hashes.SHA256(),
    )


def test_a_user_of_gcloud(cloud, tmp_path):
    user = {"type": "authorized_user", "client_id": "i", "client_secret": "s"}
    user |= {"refresh_token": "r", "token_uri": cloud.server.origin + "/token"}
    (tmp_path / "application_default_credentials.json").write_text(json.dumps(user))
    assert is_let_in(cloud, "gs://b/x", google(cloud, CLOUDSDK_CONFIG=str(tmp_path)))
    ((_, form),) = cloud.asked
    assert form == {
        "grant_type": "refresh_token",
        "client_id": "i",
        "client_secret": "s",
        "refresh_token": "r",
    }


def test_the_metadata_server_of_google(cloud):
    host = cloud.server.origin.removeprefix("http://")
    assert is_let_in(cloud, "gs://b/x", google(cloud, GCE_METADATA_HOST=host))
    ((request, _),) = cloud.asked
    assert request.headers["metadata-flavor"] == "Google"


def test_a_token_at_hand_and_none(cloud):
    assert is_let_in(cloud, "gs://b/x", google(cloud, GOOGLE_OAUTH_ACCESS_TOKEN=TOKEN))
    assert not is_let_in(cloud, "gs://b/x", google(cloud, GOOGLE_OAUTH_ACCESS_TOKEN="another"))


def azure(cloud, **more):
    login = {"AZURE_TENANT_ID": "t", "AZURE_CLIENT_ID": "c"}
    place = {"AZURE_STORAGE_ENDPOINT": cloud.server.origin + "/account"}
    return {**place, **login, "AZURE_AUTHORITY_HOST": cloud.server.origin, **more}


def test_an_application_of_azure(cloud, tmp_path):
    assert is_let_in(cloud, "az://b/x", azure(cloud, AZURE_CLIENT_SECRET="s"))
    ((request, form),) = cloud.asked
    assert request.path == "/t/oauth2/v2.0/token"
    assert form["client_secret"] == "s" and form["scope"] == "https://storage.azure.com/.default"

    (tmp_path / "token").write_text("federated")
    file = str(tmp_path / "token")
    assert is_let_in(cloud, "az://b/x", azure(cloud, AZURE_FEDERATED_TOKEN_FILE=file))
    assert cloud.asked[1][1]["client_assertion"] == "federated"


def test_a_shared_access_signature_goes_with_every_request_and_is_never_shown(cloud):
    sas = "sv=2021-08-06&sr=c&sig=the%2Bsecret%3D"
    env = azure(cloud, AZURE_STORAGE_SAS_TOKEN="?" + sas)
    done = run("cat", "az://b/x", "some", "bin", env=env)
    assert done.returncode == 7
    assert cloud.refused and all(sas in request.query_text for request in cloud.refused)
    assert b"secret" not in done.stderr
