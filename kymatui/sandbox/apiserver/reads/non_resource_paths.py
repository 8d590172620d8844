"""Paths that are no resources: health, version, OpenAPI, token key set, the sandbox's admin path."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from kymatui import __version__
from kymatui.sandbox.apimachinery.exchange import RequestUser, ServerRequest, ServerResponse
from kymatui.sandbox.apimachinery.statuses import failure
from kymatui.sandbox.apiserver.auth.bearer_tokens import ISSUER
from kymatui.sandbox.apiserver.encoding.content_negotiation import JSON, AcceptedForm, parse_clauses
from kymatui.sandbox.apiserver.encoding.openapi_protobuf import ANSWERED_V2, PROTOBUF_V2
from kymatui.sandbox.apiserver.http.server_faults import ADMIN_PATH
from kymatui.sandbox.apiserver.reads.api_discovery import only_read
from kymatui.sandbox.apiserver.reads.object_reads import encode

_TEXT = "text/plain; charset=utf-8"
_HEALTH = ("healthz", "livez", "readyz")
_CHECKS = ("ping", "log", "etcd", "poststarthook/rbac/bootstrap-roles", "poststarthook/crd-informer-synced")
VERSION = {
    "major": "1",
    "minor": "36",
    "emulationMajor": "1",
    "emulationMinor": "36",
    "minCompatibilityMajor": "1",
    "minCompatibilityMinor": "35",
    "gitVersion": "v1.36.0",
    "gitCommit": f"kymatui-sandbox-{__version__}",
    "gitTreeState": "clean",
    "buildDate": "1970-01-01T00:00:00Z",
    "goVersion": "go1.26",
    "compiler": "gc",
    "platform": "linux/amd64",
}


class ServerDocuments(Protocol):
    """The OpenAPI documents."""

    def v2(self) -> bytes: ...

    def v2_protobuf(self) -> bytes: ...

    def v3_index(self) -> bytes: ...

    def v3(self, group_version: str) -> bytes | None: ...


class NonResourcePaths:
    """Answers by the first segment of the path."""

    def __init__(
        self, documents: ServerDocuments, admin: Callable[[ServerRequest, RequestUser], ServerResponse | None]
    ) -> None:
        self._documents = documents
        self._admin = admin

    def answer(self, request: ServerRequest, user: RequestUser) -> ServerResponse | None:
        """Return None for a path that is not served."""
        path = request.path.rstrip("/") or "/"
        first = path.split("/")[1]
        if request.path.startswith(ADMIN_PATH):
            return self._admin(request, user)
        if first in _HEALTH:
            return _health(request, path)
        if first == "openapi":
            return self._openapi(request, path)
        if path == "/version":
            return _version(request)
        if path == "/":
            return encode({"paths": sorted(self._index())}, _pretty())
        return _well_known(path)

    def _index(self) -> list[str]:
        health = [f"/{name}{check}" for name in _HEALTH for check in ("", *(f"/{known}" for known in _CHECKS))]
        return ["/api", "/api/v1", "/apis", "/apis/", "/openapi/v2", "/openapi/v3", "/version", *health]

    def _openapi(self, request: ServerRequest, path: str) -> ServerResponse | None:
        if path == "/openapi/v2":
            return self._openapi_v2(request)
        if request.path == "/openapi/v3":
            return ServerResponse(200, self._documents.v3_index())
        if request.path.startswith("/openapi/v3/"):
            document = self._documents.v3(path.removeprefix("/openapi/v3/"))
            return ServerResponse(404, b"", _TEXT) if document is None else ServerResponse(200, document)
        return None

    def _openapi_v2(self, request: ServerRequest) -> ServerResponse:
        """Return the document as JSON or protobuf, whichever the client prefers."""
        types = [clause.type for clause in parse_clauses(request.header("accept"))] or [JSON]
        for name in types:
            if name in ("*/*", "application/*", JSON):
                return ServerResponse(200, self._documents.v2())
            if name == PROTOBUF_V2:
                return ServerResponse(200, self._documents.v2_protobuf(), ANSWERED_V2)
        return ServerResponse(406, b"", _TEXT)


def _version(request: ServerRequest) -> ServerResponse:
    """Return the version as JSON, even if the client requests a conversion."""
    only_read(request)
    types = [clause.type for clause in parse_clauses(request.header("accept"))]
    if types and not any(name in ("*/*", JSON) for name in types):
        message = f"406: Not Acceptable\n\nAvailable representations: {JSON}"
        raise failure(406, "NotAcceptable", message, {})
    return encode(VERSION, _pretty())


def _pretty() -> AcceptedForm:
    return AcceptedForm(pretty=True)


def _health(request: ServerRequest, path: str) -> ServerResponse | None:
    check = path.split("/", 2)[2] if path.count("/") > 1 else ""
    if check and check not in _CHECKS:
        return None
    if "verbose" not in request.query or check:
        return ServerResponse(200, b"ok", _TEXT)
    lines = [f"[+]{name} ok\n" for name in _CHECKS if name not in request.query.get("exclude", ())]
    return ServerResponse(200, ("".join(lines) + f"{path[1:]} check passed\n").encode(), _TEXT)


def _well_known(path: str) -> ServerResponse | None:
    if path == "/.well-known/openid-configuration":
        value = {
            "issuer": ISSUER,
            "jwks_uri": f"{ISSUER}/openid/v1/jwks",
            "response_types_supported": ["id_token"],
            "subject_types_supported": ["public"],
            "id_token_signing_alg_values_supported": ["HS256"],
        }
        return encode(value, AcceptedForm())
    if path == "/openid/v1/jwks":
        return encode({"keys": []}, AcceptedForm())
    return None
