"""Blobs: pushed at once, in chunks, mounted; pulled whole and in ranges; deleted."""

from __future__ import annotations

import hashlib

import pytest

from tests.sandbox.registry.conftest import Serve, Served

CONTENT = b"the content of a layer"
DIGEST = "sha256:" + hashlib.sha256(CONTENT).hexdigest()


def test_post_then_put_stores_a_blob_that_get_and_head_find(served: Served) -> None:
    created = served.client.push("modules/keda", CONTENT, DIGEST)
    assert (created.status, created.headers["Docker-Content-Digest"]) == (201, DIGEST)
    assert created.headers["Location"] == f"/v2/modules/keda/blobs/{DIGEST}"
    got = served.client.ask("GET", f"/v2/modules/keda/blobs/{DIGEST}")
    assert (got.status, got.body, got.headers["Docker-Content-Digest"]) == (200, CONTENT, DIGEST)
    head = served.client.ask("HEAD", f"/v2/modules/keda/blobs/{DIGEST}")
    assert (head.status, head.headers["Content-Length"], head.body) == (200, str(len(CONTENT)), b"")


def test_one_post_with_the_digest_is_enough(served: Served) -> None:
    answer = served.client.ask("POST", f"/v2/r/blobs/uploads/?digest={DIGEST}", CONTENT)
    assert answer.status == 201
    assert served.registry.store.blob("r", DIGEST) == CONTENT


def test_sha512_is_verified_too(served: Served) -> None:
    digest = "sha512:" + hashlib.sha512(CONTENT).hexdigest()
    assert served.client.push("r", CONTENT, digest).status == 201
    assert served.client.push("r", CONTENT + b"!", digest).code == "DIGEST_INVALID"


@pytest.mark.parametrize(
    "digest",
    ["sha256:" + "0" * 64, "sha256:short", "md5:" + "0" * 32, "nonsense", ""],
    ids=["another content", "too short", "an algorithm it does not verify", "no digest", "none"],
)
def test_content_that_is_not_what_the_digest_says_is_refused_and_not_kept(served: Served, digest: str) -> None:
    answer = served.client.push("r", CONTENT, digest)
    assert (answer.status, answer.code) == (400, "DIGEST_INVALID")
    assert served.client.ask("GET", f"/v2/r/blobs/{DIGEST}").code == "BLOB_UNKNOWN"


def test_chunks_append_and_each_answer_says_how_far_it_is(served: Served) -> None:
    location = served.client.ask("POST", "/v2/r/blobs/uploads/", b"").headers["Location"]
    first = served.client.ask("PATCH", location, CONTENT[:8], Content_Range="0-7")
    assert (first.status, first.headers["Range"]) == (202, "0-7")
    asked = served.client.ask("GET", location)
    assert (asked.status, asked.headers["Range"], asked.headers["Location"]) == (204, "0-7", location)
    second = served.client.ask("PATCH", location, CONTENT[8:], Content_Range=f"8-{len(CONTENT) - 1}")
    assert second.headers["Range"] == f"0-{len(CONTENT) - 1}"
    assert served.client.ask("PUT", f"{location}?digest={DIGEST}").status == 201


def test_the_last_chunk_may_come_with_put(served: Served) -> None:
    location = served.client.ask("POST", "/v2/r/blobs/uploads/", b"").headers["Location"]
    served.client.ask("PATCH", location, CONTENT[:8])
    last = f"8-{len(CONTENT) - 1}"
    assert served.client.ask("PUT", f"{location}?digest={DIGEST}", CONTENT[8:], Content_Range=last).status == 201


@pytest.mark.parametrize("content_range", ["9-13", "0-4", "nonsense", "7-3"])
def test_a_chunk_out_of_order_is_416_with_where_to_go_on_and_can_be_resumed(served: Served, content_range: str) -> None:
    location = served.client.ask("POST", "/v2/r/blobs/uploads/", b"").headers["Location"]
    served.client.ask("PATCH", location, CONTENT[:8], Content_Range="0-7")
    refused = served.client.ask("PATCH", location, b"abcde", Content_Range=content_range)
    assert (refused.status, refused.code, refused.headers["Range"]) == (416, "RANGE_INVALID", "0-7")
    served.client.ask("PATCH", location, CONTENT[8:], Content_Range=f"8-{len(CONTENT) - 1}")
    assert served.client.ask("PUT", f"{location}?digest={DIGEST}").status == 201


def test_a_chunk_whose_length_is_not_its_range_is_refused(served: Served) -> None:
    location = served.client.ask("POST", "/v2/r/blobs/uploads/", b"").headers["Location"]
    assert served.client.ask("PATCH", location, b"abc", Content_Range="0-7").code == "SIZE_INVALID"


def test_a_cancelled_upload_is_gone(served: Served) -> None:
    location = served.client.ask("POST", "/v2/r/blobs/uploads/", b"").headers["Location"]
    assert served.client.ask("DELETE", location).status == 204
    assert served.client.ask("GET", location).code == "BLOB_UPLOAD_UNKNOWN"
    assert served.client.ask("PUT", f"{location}?digest={DIGEST}", CONTENT).status == 404


def test_a_finished_upload_is_gone_and_another_repository_does_not_see_it(served: Served) -> None:
    location = served.client.ask("POST", "/v2/r/blobs/uploads/", b"").headers["Location"]
    assert served.client.ask("GET", location.replace("/r/", "/s/")).status == 404
    served.client.ask("PUT", f"{location}?digest={DIGEST}", CONTENT)
    assert served.client.ask("GET", location).status == 404


def test_a_blob_is_mounted_from_a_repository_that_has_it_and_else_an_upload_begins(served: Served) -> None:
    served.client.push("from/here", CONTENT, DIGEST)
    mounted = served.client.ask("POST", f"/v2/to/there/blobs/uploads/?mount={DIGEST}&from=from/here", b"")
    assert (mounted.status, mounted.headers["Location"]) == (201, f"/v2/to/there/blobs/{DIGEST}")
    assert served.client.ask("HEAD", f"/v2/to/there/blobs/{DIGEST}").status == 200
    other = served.client.ask("POST", f"/v2/to/there/blobs/uploads/?mount={DIGEST}&from=not/there", b"")
    assert other.status == 202
    assert "Location" in other.headers


def test_a_blob_of_one_repository_is_not_one_of_another(served: Served) -> None:
    served.client.push("one", CONTENT, DIGEST)
    assert served.client.ask("GET", f"/v2/two/blobs/{DIGEST}").status == 404


@pytest.mark.parametrize(
    ("asked", "status", "body", "content_range"),
    [
        ("bytes=0-2", 206, b"the", "bytes 0-2/22"),
        ("bytes=17-", 206, b"layer", "bytes 17-21/22"),
        ("bytes=-5", 206, b"layer", "bytes 17-21/22"),
        ("bytes=17-99", 206, b"layer", "bytes 17-21/22"),
        ("bytes=22-", 416, None, "bytes */22"),
        ("lines=1-2", 200, CONTENT, None),
    ],
)
def test_a_pull_can_ask_for_a_range(
    served: Served, asked: str, status: int, body: bytes | None, content_range: str | None
) -> None:
    served.client.push("r", CONTENT, DIGEST)
    answer = served.client.ask("GET", f"/v2/r/blobs/{DIGEST}", Range=asked)
    assert (answer.status, answer.headers.get("Content-Range")) == (status, content_range)
    assert body is None or answer.body == body


def test_a_deleted_blob_is_gone_from_that_repository_alone(served: Served) -> None:
    served.client.push("one", CONTENT, DIGEST)
    served.client.push("two", CONTENT, DIGEST)
    assert served.client.ask("DELETE", f"/v2/one/blobs/{DIGEST}").status == 202
    assert served.client.ask("GET", f"/v2/one/blobs/{DIGEST}").status == 404
    assert served.client.ask("DELETE", f"/v2/one/blobs/{DIGEST}").status == 404
    assert served.client.ask("GET", f"/v2/two/blobs/{DIGEST}").body == CONTENT


def test_a_blob_over_the_limit_is_refused_while_it_comes(serve: Serve) -> None:
    served = serve(max_blob_bytes=10)
    answer = served.client.push("r", CONTENT, DIGEST)
    assert (answer.status, answer.code) == (413, "SIZE_INVALID")


@pytest.mark.parametrize("name", ["Upper", "a//b", "-a", "a..b", "x" * 256])
def test_a_name_that_is_none_is_refused(served: Served, name: str) -> None:
    assert served.client.ask("POST", f"/v2/{name}/blobs/uploads/", b"").code == "NAME_INVALID"
