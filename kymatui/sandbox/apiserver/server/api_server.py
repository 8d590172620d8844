"""The assembly of one API server."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import msgspec
from msgspec import Struct

from kymatui.errors import UsageError
from kymatui.sandbox.apimachinery.clock import SandboxClock
from kymatui.sandbox.apimachinery.exchange import SYSTEM, RequestUser, ServerRequest, ServerResponse
from kymatui.sandbox.apimachinery.local_client import LocalClient
from kymatui.sandbox.apimachinery.object_store import ObjectStore, Stored
from kymatui.sandbox.apimachinery.statuses import bad_request, not_found
from kymatui.sandbox.apiserver.auth.access_reviews import AccessReviews
from kymatui.sandbox.apiserver.auth.bearer_tokens import ADMIN, VIEWER, Tokens
from kymatui.sandbox.apiserver.auth.rbac_authorizer import Attributes, Authorizer, refusal
from kymatui.sandbox.apiserver.http.request_log import RequestLog
from kymatui.sandbox.apiserver.http.server_faults import ADMIN_PATH, ServerFaults, parse_fault
from kymatui.sandbox.apiserver.reads.api_discovery import ApiDiscovery
from kymatui.sandbox.apiserver.reads.non_resource_paths import NonResourcePaths, ServerDocuments
from kymatui.sandbox.apiserver.reads.object_reads import ObjectReader
from kymatui.sandbox.apiserver.reads.watch_streams import WatchStreams
from kymatui.sandbox.apiserver.requests.request_options import DeleteOptions
from kymatui.sandbox.apiserver.resources.held_objects import HeldObjects, Ownership
from kymatui.sandbox.apiserver.resources.resource import ServedResource
from kymatui.sandbox.apiserver.resources.resource_catalog import ResourceCatalog
from kymatui.sandbox.apiserver.server.bootstrap_objects import populate
from kymatui.sandbox.apiserver.server.request_pipeline import RequestPipeline
from kymatui.sandbox.apiserver.writes.admission_plugins import Admission
from kymatui.sandbox.apiserver.writes.crd_lifecycle import CrdLifecycle, CustomSemantics
from kymatui.sandbox.apiserver.writes.kind_hooks import KindRules
from kymatui.sandbox.apiserver.writes.object_deletion import ObjectDeleter
from kymatui.sandbox.apiserver.writes.object_writes import ObjectWriter
from kymatui.sandbox.apiserver.writes.scale_subresource import ScaleSubresource
from kymatui.sandbox.apiserver.writes.subresource_writes import Subresources


class ServerSemantics(Struct, frozen=True):
    """The behaviour of a server's kinds, pluggable."""

    builtin: Iterable[ServedResource]
    custom: CustomSemantics
    ownership: Ownership
    documents: Callable[[ResourceCatalog], ServerDocuments]


class ApiServer:
    """A server without sockets: `api.handle` serves requests, `client` is an in-process client."""

    def __init__(
        self,
        clock: SandboxClock,
        meaning: ServerSemantics,
        *,
        admin_token: str,
        viewer_token: str = "",
        address: str = "127.0.0.1:0",
        store: ObjectStore | None = None,
    ) -> None:
        self.clock = clock
        self.store = store or ObjectStore()
        self.faults = ServerFaults()
        self.watches = WatchStreams()
        self.tokens = Tokens(self.store, clock, {admin_token: ADMIN})
        if viewer_token:
            self.tokens.fixed[viewer_token] = VIEWER
        self.authorizer = Authorizer(self.store)
        self.catalog = ResourceCatalog(meaning.builtin)
        self.holding = HeldObjects()
        reader = ObjectReader(self.store, clock, self.watches)
        rules = KindRules(self.store, clock)
        admission = Admission(self.store, self.authorizer)
        writer = ObjectWriter(
            self.store, clock, reader, self.catalog, admission, meaning.ownership, rules, self.holding
        )
        deleter = ObjectDeleter(self.store, clock, reader, rules)
        self.requests = RequestLog()
        control = FaultControl(self.faults, self.watches, self.tokens, self.holding, self.store, self.requests)
        self.api = RequestPipeline(
            tokens=self.tokens,
            authorizer=self.authorizer,
            catalog=self.catalog,
            discovery=ApiDiscovery(self.catalog, address),
            paths=NonResourcePaths(meaning.documents(self.catalog), control.answer),
            reader=reader,
            writer=writer,
            deleter=deleter,
            subresources=Subresources(self.store, clock, reader, deleter, self.tokens),
            scaling=ScaleSubresource(reader, writer),
            reviews=AccessReviews(self.authorizer, self.tokens),
        )
        self.client = LocalClient(self.api.handle, self.store, clock, self.catalog)

        def remove(resource: ServedResource, stored: Stored) -> None:
            deleter.delete_object(resource, stored, DeleteOptions(), SYSTEM)

        self.definitions = CrdLifecycle(self.store, clock, self.catalog, meaning.custom, remove, self.client)

    def bootstrap(self, port: int = 6443) -> None:
        """Create the objects that every cluster has."""
        populate(self.client, port)
        self.store.compact()


FAULTS = ADMIN_PATH + "faults"
HOLD_FINALIZER = "sandbox.kymatui.io/held"


class FaultControl:
    """Serves GET, POST and DELETE of `faults`, POST of one-time faults, GET and DELETE of `requests`."""

    def __init__(
        self,
        faults: ServerFaults,
        watches: WatchStreams,
        tokens: Tokens,
        holding: HeldObjects,
        store: ObjectStore,
        requests: RequestLog | None = None,
    ) -> None:
        self._requests = requests or RequestLog()
        self._faults = faults
        self._watches = watches
        self._tokens = tokens
        self._holding = holding
        self._store = store
        self._actions: dict[str, Callable[[dict[str, Any]], dict[str, Any]]] = {
            "end-watches": self._end_watches,
            "expire-watches": self._expire_watches,
            "revoke-token": self._revoke_token,
            "restore-token": self._restore_token,
            "hold": self._hold,
            "release": self._release,
        }

    def answer(self, request: ServerRequest, user: RequestUser) -> ServerResponse | None:
        """Return None for a path that is not served. Raise StatusError 400, 403."""
        if "system:masters" not in user.groups:
            raise refusal(user, Attributes(request.method.lower(), path=request.path))
        rest = request.path.removeprefix(ADMIN_PATH).strip("/").split("/")
        if rest[0] == "faults":
            return self._serve_faults(request, rest[1:])
        if rest == ["requests"]:
            return self._serve_requests(request)
        action = self._actions.get(rest[0])
        if action is None or request.method != "POST" or len(rest) > 1:
            return None
        return _json(action(_body(request)))

    def _serve_requests(self, request: ServerRequest) -> ServerResponse | None:
        if request.method not in ("GET", "DELETE"):
            return None
        description = self._requests.describe()
        if request.method == "DELETE":
            self._requests.clear()
        return _json(description)

    def _serve_faults(self, request: ServerRequest, rest: list[str]) -> ServerResponse | None:
        if request.method == "GET" and not rest:
            return _json({"faults": self._faults.describe(), "held": self._held()})
        if request.method == "POST" and not rest:
            try:
                number = self._faults.add(parse_fault(_body(request)))
            except UsageError as error:
                raise bad_request(f"{error}: {error.hint}" if error.hint else str(error)) from error
            return _json({"number": number}, 201)
        if request.method == "DELETE":
            return self._remove(rest)
        return None

    def _remove(self, rest: list[str]) -> ServerResponse:
        if not rest:
            self._faults.clear()
        elif not (rest[0].isdigit() and self._faults.remove(int(rest[0]))):
            raise not_found("faults", rest[0])
        return _json({})

    def _held(self) -> list[dict[str, str]]:
        return [
            {"resource": resource, "namespace": namespace, "name": name, "finalizer": finalizer}
            for (resource, namespace, name), finalizer in self._holding.held.items()
        ]

    # -- one-time faults

    def _end_watches(self, fields: dict[str, Any]) -> dict[str, Any]:
        return {"ended": self._watches.end(fields.get("resource", ""))}

    def _expire_watches(self, fields: dict[str, Any]) -> dict[str, Any]:
        """End the watches with 410 and forget the versions they could resume from."""
        resource = fields.get("resource", "")
        count = self._watches.expire(resource)
        for name in [resource] if resource else self._store.resources():
            self._store.forget(name)
        return {"expired": count}

    def _revoke_token(self, fields: dict[str, Any]) -> dict[str, Any]:
        self._tokens.revoked.add(str(fields.get("token", "")))
        return {}

    def _restore_token(self, fields: dict[str, Any]) -> dict[str, Any]:
        self._tokens.revoked.discard(str(fields.get("token", "")))
        return {}

    def _hold(self, fields: dict[str, Any]) -> dict[str, Any]:
        resource, namespace, name = _object(fields)
        stored = self._store.get(resource, namespace, name)
        if stored is None:
            raise not_found(resource, name)
        finalizer = fields.get("finalizer") or HOLD_FINALIZER
        self._holding.hold(resource, namespace, name, finalizer)
        body = stored.body()
        self._holding.keep(resource, body)
        self._store.put(resource, body)
        return {"finalizer": finalizer}

    def _release(self, fields: dict[str, Any]) -> dict[str, Any]:
        """Remove the held finalizer; if it was the last one, the object is deleted."""
        resource, namespace, name = _object(fields)
        finalizer = self._holding.held.get((resource, namespace, name))
        if not self._holding.release(resource, namespace, name):
            raise not_found(resource, name)
        stored = self._store.get(resource, namespace, name)
        if stored is None:
            return {}
        body = stored.body()
        metadata = body["metadata"]
        finalizers = [held for held in metadata.get("finalizers") or () if held != finalizer]
        metadata["finalizers"] = finalizers
        if not finalizers:
            del metadata["finalizers"]
        if not finalizers and metadata.get("deletionTimestamp"):
            self._store.remove(resource, namespace, name)
        else:
            self._store.put(resource, body)
        return {}


def _object(fields: dict[str, Any]) -> tuple[str, str, str]:
    return str(fields.get("resource", "")), str(fields.get("namespace", "")), str(fields.get("name", ""))


def _body(request: ServerRequest) -> dict[str, Any]:
    try:
        value = msgspec.json.decode(request.body or b"{}")
    except msgspec.DecodeError as error:
        raise bad_request(str(error)) from None
    if not isinstance(value, dict):
        raise bad_request("the body is an object")
    return value


def _json(value: Any, status: int = 200) -> ServerResponse:
    return ServerResponse(status, msgspec.json.encode(value))
