"""A bucket whose listing never ends: an error after a bounded number of requests."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from program import run
from servers.buckets import KEY, SECRET
from servers.web import Reply, Request, WebServer

OBJECT = (
    "<Contents><Key>set/a.tar</Key><Size>1024</Size><ETag>&quot;e&quot;</ETag>"
    "<LastModified>2026-01-01T00:00:00.000Z</LastModified></Contents>"
)
PAGES = {  # what each page has, and whether its token is a new one
    "the same page by the same token": (OBJECT, False),
    "the same page by new tokens": (OBJECT, True),
    "empty pages by new tokens": ("", True),
}


@pytest.fixture(params=PAGES)
def endless(request) -> Iterator[tuple[str, list[str]]]:
    """Address of a server, and what it was asked for."""
    content, is_new = PAGES[request.param]
    asked: list[str] = []

    def handle(asking: Request) -> Reply:
        asked.append(asking.target)
        if "list-type" not in asking.query:
            return Reply(404)
        token = f"token-{len(asked) if is_new else 0}"
        more = f"<IsTruncated>true</IsTruncated><NextContinuationToken>{token}"
        body = f"<ListBucketResult>{content}{more}</NextContinuationToken></ListBucketResult>"
        return Reply(200, {"Content-Type": "application/xml"}, body.encode())

    server = WebServer(handle)
    server.start()
    try:
        yield server.origin, asked
    finally:
        server.stop()


def test_it_is_an_error_after_a_bounded_number_of_requests(endless):
    endpoint, asked = endless
    env = {
        "AWS_ACCESS_KEY_ID": KEY,
        "AWS_SECRET_ACCESS_KEY": SECRET,
        "AWS_ENDPOINT_URL": endpoint,
        "AWS_REGION": "us-east-1",
    }
    done = run("ls", "s3://bucket/set", env=env)
    assert done.returncode == 1, done.stderr
    assert b"the same page of the listing again and again" in done.stderr
    assert len(asked) < 1100
