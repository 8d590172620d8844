"""Routes and errors of the distribution API; repository names contain slashes: paths are parsed from the end."""

from __future__ import annotations

import hashlib
import json
import re
from typing import Any

from aiohttp import web
from msgspec import Struct

STATUS_OF_CODE: dict[str, int] = {
    "BLOB_UNKNOWN": 404,
    "BLOB_UPLOAD_INVALID": 400,
    "BLOB_UPLOAD_UNKNOWN": 404,
    "DIGEST_INVALID": 400,
    "MANIFEST_BLOB_UNKNOWN": 400,
    "MANIFEST_INVALID": 400,
    "MANIFEST_UNKNOWN": 404,
    "NAME_INVALID": 400,
    "NAME_UNKNOWN": 404,
    "PAGINATION_NUMBER_INVALID": 400,
    "RANGE_INVALID": 416,
    "SIZE_INVALID": 400,
    "TAG_INVALID": 400,
    "UNAUTHORIZED": 401,
    "DENIED": 403,
    "UNSUPPORTED": 405,
    "TOOMANYREQUESTS": 429,
    "UNKNOWN": 500,
}


class RegistryRefusal(Exception):
    """A refused request; `headers` are added to the answer (challenges, ranges)."""

    def __init__(
        self, code: str, message: str, *, detail: Any = None, status: int = 0, headers: dict[str, str] | None = None
    ) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.detail = detail
        self.status = status or STATUS_OF_CODE[code]
        self.headers = headers or {}


def answer_refusal(refusal: RegistryRefusal) -> web.Response:
    """Return the body `{"errors": [{code, message, detail}]}` of the specification."""
    body = {"errors": [{"code": refusal.code, "message": refusal.message, "detail": refusal.detail}]}
    return web.Response(
        status=refusal.status, body=json.dumps(body).encode(), content_type="application/json", headers=refusal.headers
    )


_SHAPES: tuple[tuple[str, re.Pattern[str]], ...] = (
    ("base", re.compile(r"/v2/?")),
    ("catalog", re.compile(r"/v2/_catalog")),
    ("tags", re.compile(r"/v2/(?P<name>.+)/tags/list")),
    ("start", re.compile(r"/v2/(?P<name>.+)/blobs/uploads/?")),
    ("upload", re.compile(r"/v2/(?P<name>.+)/blobs/uploads/(?P<reference>[^/]+)")),
    ("blob", re.compile(r"/v2/(?P<name>.+)/blobs/(?P<reference>[^/]+)")),
    ("manifest", re.compile(r"/v2/(?P<name>.+)/manifests/(?P<reference>[^/]+)")),
    ("referrers", re.compile(r"/v2/(?P<name>.+)/referrers/(?P<reference>[^/]+)")),
)

ACTIONS: dict[tuple[str, str], tuple[str, ...]] = {
    ("start", "POST"): ("pull", "push"),
    ("upload", "GET"): ("pull",),
    ("upload", "PATCH"): ("pull", "push"),
    ("upload", "PUT"): ("pull", "push"),
    ("upload", "DELETE"): ("pull", "push"),
    ("blob", "GET"): ("pull",),
    ("blob", "HEAD"): ("pull",),
    ("blob", "DELETE"): ("delete",),
    ("manifest", "GET"): ("pull",),
    ("manifest", "HEAD"): ("pull",),
    ("manifest", "PUT"): ("pull", "push"),
    ("manifest", "DELETE"): ("delete",),
    ("tags", "GET"): ("pull",),
    ("referrers", "GET"): ("pull",),
    ("base", "GET"): (),
    ("base", "HEAD"): (),
    ("catalog", "GET"): (),
}


class Route(Struct, frozen=True, dict=True):
    """The target of a request; `actions` are those it needs in the repository `name`."""

    shape: str
    name: str
    reference: str
    actions: tuple[str, ...]


def route(method: str, path: str) -> Route:
    for shape, pattern in _SHAPES:
        match = pattern.fullmatch(path)
        if not match:
            continue
        parts = match.groupdict()
        name = check_name(parts["name"]) if "name" in parts else ""
        actions = ACTIONS.get((shape, method))
        if actions is None:
            raise RegistryRefusal("UNSUPPORTED", "The operation is unsupported.", detail=f"{method} {path}")
        return Route(shape, name, parts.get("reference", ""), actions)
    raise RegistryRefusal("NAME_INVALID", "no such path in the distribution API", detail=path, status=404)


# Rules of content digests (`sha256:…`, `sha512:…`) and of repository names and tags.


_HEX_LENGTH = {"sha256": 64, "sha512": 128}
_DIGEST = re.compile(r"([a-z0-9]+(?:[+._-][a-z0-9]+)*):([a-zA-Z0-9=_-]+)")
_NAME = re.compile(r"[a-z0-9]+(?:(?:\.|_|__|-+)[a-z0-9]+)*(?:/[a-z0-9]+(?:(?:\.|_|__|-+)[a-z0-9]+)*)*")
_TAG = re.compile(r"[a-zA-Z0-9_][a-zA-Z0-9._-]{0,127}")


def digest_of(content: bytes, algorithm: str = "sha256") -> str:
    return f"{algorithm}:{hashlib.new(algorithm, content).hexdigest()}"


def check_digest(text: str) -> str:
    """Return the algorithm of a valid digest. Raise DIGEST_INVALID for one that cannot be verified."""
    match = _DIGEST.fullmatch(text)
    if not match:
        raise RegistryRefusal(
            "DIGEST_INVALID", "provided digest did not match uploaded content", detail=f"not a digest: {text}"
        )
    algorithm, encoded = match[1], match[2]
    if algorithm not in _HEX_LENGTH:
        raise RegistryRefusal("DIGEST_INVALID", f"unsupported digest algorithm {algorithm}", detail=text)
    if not re.fullmatch(rf"[0-9a-f]{{{_HEX_LENGTH[algorithm]}}}", encoded):
        raise RegistryRefusal("DIGEST_INVALID", f"invalid {algorithm} digest", detail=text)
    return algorithm


def verify(content: bytes, digest: str) -> None:
    """Raise DIGEST_INVALID unless `digest` is that of `content`."""
    algorithm = check_digest(digest)
    actual = digest_of(content, algorithm)
    if actual != digest:
        raise RegistryRefusal(
            "DIGEST_INVALID",
            "provided digest did not match uploaded content",
            detail={"Digest": digest, "Actual": actual},
        )


def is_digest(reference: str) -> bool:
    return ":" in reference


def check_name(name: str) -> str:
    if len(name) > 255 or not _NAME.fullmatch(name):
        raise RegistryRefusal("NAME_INVALID", "invalid repository name", detail=name)
    return name


def check_tag(tag: str) -> str:
    if not _TAG.fullmatch(tag):
        raise RegistryRefusal("TAG_INVALID", "manifest tag did not match URI", detail=tag)
    return tag
