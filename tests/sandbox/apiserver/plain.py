"""A server whose objects mean nothing in particular: what it does with them is its own."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kymatui.sandbox.apimachinery.clock import ManualClock
from kymatui.sandbox.apimachinery.exchange import ServerRequest, ServerResponse, parse_query
from kymatui.sandbox.apiserver.reads.builtin_resources import builtin_resources
from kymatui.sandbox.apiserver.resources.resource import Cause, KindSemantics, Object, ServedResource
from kymatui.sandbox.apiserver.resources.resource_catalog import ResourceCatalog
from kymatui.sandbox.apiserver.server.api_server import ApiServer, ServerSemantics
from kymatui.schemas.types.schema_node import ANY, Schema

ADMIN_TOKEN, VIEWER_TOKEN = "the-admin", "the-viewer"


class PlainSemantics:
    """No types, no defaults, no rules."""

    def decode(self, obj: Object) -> tuple[Object, list[str]]:
        return obj, []

    def prepare_create(self, obj: Object) -> None:
        if obj["kind"] == "Namespace":
            obj.setdefault("spec", {})["finalizers"] = ["kubernetes"]
        if obj["kind"] == "CustomResourceDefinition":
            names = obj["spec"]["names"]
            names.setdefault("singular", names["kind"].lower())
            names.setdefault("listKind", names["kind"] + "List")

    def prepare_update(self, new: Object, old: Object, subresource: str) -> None:
        return None

    def validate_create(self, obj: Object) -> list[Cause]:
        return []

    def validate_update(self, new: Object, old: Object, subresource: str) -> list[Cause]:
        return []

    def columns(self) -> list[Object]:
        return [{"name": "Name", "type": "string", "format": "name", "description": "", "priority": 0}]

    def cells(self, obj: Object, now: float) -> list[Any]:
        return [obj["metadata"]["name"]]


class NoOwnership:
    """Nobody owns a field."""

    def created(self, resource: ServedResource, obj: Object, manager: str, now: float) -> None:
        return None

    def updated(
        self, resource: ServedResource, live: Object, obj: Object, manager: str, subresource: str, now: float
    ) -> None:
        return None

    def applied(
        self,
        resource: ServedResource,
        live: Object | None,
        wanted: Object,
        manager: str,
        subresource: str,
        now: float,
        *,
        force: bool,
        validation: str,
    ) -> tuple[Object, list[str]]:
        return {**(live or {}), **wanted}, []


class NoDocuments:
    """No OpenAPI."""

    def __init__(self, catalog: ResourceCatalog) -> None:
        del catalog

    def v2(self) -> bytes:
        return b"{}"

    def v2_protobuf(self) -> bytes:
        return b""

    def v3_index(self) -> bytes:
        return b"{}"

    def v3(self, group_version: str) -> bytes | None:
        return None


def plain_semantics(
    group: str, version: str, kind: str, resource: str, *, namespaced: bool
) -> tuple[KindSemantics, Schema]:
    del group, version, kind, resource, namespaced
    return PlainSemantics(), ANY


def plain_custom(definition: Object, version: str) -> tuple[KindSemantics, Schema]:
    del definition, version
    return PlainSemantics(), ANY


def plain_server(*, bootstrapped: bool = True) -> ApiServer:
    """A server on a clock that stands still."""
    meaning = ServerSemantics(list(builtin_resources(plain_semantics)), plain_custom, NoOwnership(), NoDocuments)
    server = ApiServer(ManualClock(), meaning, admin_token=ADMIN_TOKEN, viewer_token=VIEWER_TOKEN)
    if bootstrapped:
        server.bootstrap()
    return server


def ask(
    server: ApiServer,
    method: str,
    path: str,
    body: bytes = b"",
    *,
    token: str = ADMIN_TOKEN,
    headers: Mapping[str, str] | None = None,
) -> ServerResponse:
    """One request as the holder of a token ("": of none)."""
    path, _, query = path.partition("?")
    found = dict(headers or {})
    if token:
        found.setdefault("authorization", f"Bearer {token}")
    return server.api.handle(ServerRequest(method, path, parse_query(query), found, body))


def advance(server: ApiServer, seconds: float = 0.0) -> None:
    """Moves the server's clock."""
    assert isinstance(server.clock, ManualClock)
    server.clock.advance(seconds)
