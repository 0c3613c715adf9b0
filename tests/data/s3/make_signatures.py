#!/usr/bin/env python3
"""Writes signatures.json beside this file: 240 requests as botocore sends and signs them.

usage: make_signatures.py        needs botocore; the table names the version that made it

The clients are botocore's own, stopped just before they send, at a fixed time. Headers that
Headrace does not sign (see src/io/s3/signature_v4.h) are put on botocore's list of those.
"""

import datetime
import itertools
import json
from pathlib import Path
from urllib.parse import urlsplit

import botocore
import botocore.auth
import botocore.session
from botocore.awsrequest import AWSResponse
from botocore.config import Config

KEYS = [
    "plain.tar",
    "folder/train-000017.tar",
    "a b/c  d.tar",
    "year=2024/month=08/part.tar",
    "a+b+c.jpg",
    "per%20cent%2Falready.tar",
    "100%.txt",
    "äöü/日本語/😀.jpg",
    "//double//slash//",
    "./dot/../dots",
    "~tilde-under_score.dot",
    "quotes'and\"(brackets)[square]{curly}",
    "at@colon:semi;comma,",
    "amper&sand=equals?question#hash",
    "back\\slash|pipe^caret`tick",
    "stars*!$dollar<less>more",
    " leading and trailing ",
    "tab\tand\x7f",
    "slash/",
    "e\u0301 combining",
]
TOKENS = ["", "1/abc+DEF/ghi==", "a b+c&d=e%20?ü"]
NOW = datetime.datetime(2024, 2, 29, 23, 59, 58)
STREAM = b"some bytes \x00\xff"

unsigned = {"range", "amz-sdk-invocation-id", "amz-sdk-request", "content-length"}
unsigned |= {"if-match", "if-none-match", "content-encoding"}
botocore.auth.SIGNED_HEADERS_BLACKLIST = [*botocore.auth.SIGNED_HEADERS_BLACKLIST, *unsigned]
botocore.auth.get_current_datetime = lambda *_, **__: NOW

PLACES = [
    # endpoint, region, addressing, session token, digest of the body
    (None, "us-east-1", "virtual", "", True),
    (None, "eu-central-1", "path", "FwoGZXIvYXdzE+/=token", True),
    ("http://127.0.0.1:9000", "us-east-1", "path", "", True),
    ("https://objects.example.org:8443/prefix", "garage", "path", "", False),
    ("http://storage.example.org", "auto", "virtual", "a session/token+==", True),
]


def operations(key: str, token: str):
    place = {"Bucket": "some-bucket"}
    item = {**place, "Key": key}
    upload = {**item, "UploadId": "VX+/=~ upload id"}
    parts = {"Parts": [{"ETag": '"x"', "PartNumber": 1}]}
    yield "get_object", {**item, "Range": "bytes=3-9"}
    yield "head_object", item
    yield "put_object", {**item, "Body": STREAM, "IfNoneMatch": "*"}
    yield "delete_object", item
    more = {"ContinuationToken": token} if token else {"StartAfter": key}
    listing = {**place, "Prefix": key, "EncodingType": "url", **more}
    yield "list_objects_v2", {**listing, "RequestPayer": "requester"}
    yield "create_multipart_upload", {**item, "ContentType": "application/x-tar"}
    yield "upload_part", {**upload, "PartNumber": 7, "Body": STREAM}
    yield "complete_multipart_upload", {**upload, "MultipartUpload": parts}
    yield "abort_multipart_upload", upload
    yield "get_object", {**item, "VersionId": "", "ResponseContentType": "a/b; c=d  e"}
    yield "list_multipart_uploads", {**place, "Prefix": key, "EncodingType": "url"}
    yield "list_parts", {**upload, "MaxParts": 1000, "PartNumberMarker": 17}


def client_of(session, place):
    endpoint, region, addressing, token, digested = place
    return session.create_client(
        "s3",
        region_name=region,
        endpoint_url=endpoint,
        aws_access_key_id="AKIDEXAMPLE",
        aws_secret_access_key="wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY",
        aws_session_token=token or None,
        config=Config(
            signature_version="s3v4",
            s3={
                "addressing_style": addressing,
                "payload_signing_enabled": digested,
                "us_east_1_regional_endpoint": "regional",
            },
            request_checksum_calculation="when_required",
            retries={"max_attempts": 0},
        ),
    )


def text(value) -> str:
    return value.decode() if isinstance(value, bytes) else str(value)


def signed_headers(headers) -> dict:
    names = text(headers["Authorization"]).partition("SignedHeaders=")[2].partition(",")[0]
    added = {"host", "x-amz-date", "x-amz-security-token", "x-amz-content-sha256"}
    return {name: text(headers[name]) for name in names.split(";") if name not in added}


class Sent:
    """Keeps the request that would have been sent, and answers in the server's place."""

    def __call__(self, request, **_):
        self.request = request

        class Raw:
            def stream(self, *_, **__):
                return iter([b"<a/>"])

            def read(self, *_, **__):
                return b"<a/>"

        return AWSResponse(request.url, 200, {}, Raw())


def sign_row(client, place, operation, arguments) -> dict:
    sent = Sent()
    client.meta.events.register("before-send.s3", sent)
    getattr(client, operation)(**arguments)
    client.meta.events.unregister("before-send.s3", sent)
    request = sent.request
    return {
        "operation": operation,
        "endpoint": place[0] or "",
        "region": place[1],
        "style": place[2],
        "key": arguments.get("Key", ""),
        "session_token": place[3],
        "method": request.method,
        "url": request.url,
        "headers": signed_headers(request.headers),
        "digest": text(request.headers["X-Amz-Content-SHA256"]),
        "authorization": text(request.headers["Authorization"]),
    }


def presign_row(client, place, key) -> dict:
    url = client.generate_presigned_url(
        "get_object", Params={"Bucket": "some-bucket", "Key": key}, ExpiresIn=600
    )
    return {
        "operation": "presign",
        "endpoint": place[0] or "",
        "region": place[1],
        "style": place[2],
        "key": key,
        "session_token": place[3],
        "presigned": url,
        "url": urlsplit(url)._replace(query="").geturl(),
    }


def main() -> None:
    session = botocore.session.Session()
    clients = [client_of(session, place) for place in PLACES]
    rows = []
    tokens = itertools.cycle(TOKENS)
    for number, key in enumerate(KEYS):
        for step, (operation, arguments) in enumerate(operations(key, next(tokens))):
            which = (number + step) % len(PLACES)
            if operation == "get_object" and step == 0 and number % 2:
                rows.append(presign_row(clients[which], PLACES[which], key))
            else:
                rows.append(sign_row(clients[which], PLACES[which], operation, arguments))
    table = {
        "made_by": f"make_signatures.py with botocore {botocore.__version__}",
        "time": int(NOW.replace(tzinfo=datetime.timezone.utc).timestamp()),
        "access_key": "AKIDEXAMPLE",
        "secret_key": "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY",
        "bucket": "some-bucket",
        "rows": rows,
    }
    out = Path(__file__).with_name("signatures.json")
    out.write_text(json.dumps(table, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    print(f"{len(rows)} rows")


if __name__ == "__main__":
    main()
