"""The assembly of one API server."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from msgspec import Struct

from kymatui.sandbox.apimachinery.clock import SandboxClock
from kymatui.sandbox.apimachinery.exchange import SYSTEM
from kymatui.sandbox.apimachinery.local_client import LocalClient
from kymatui.sandbox.apimachinery.object_store import ObjectStore, Stored
from kymatui.sandbox.apiserver.auth.access_reviews import AccessReviews
from kymatui.sandbox.apiserver.auth.bearer_tokens import ADMIN, VIEWER, Tokens
from kymatui.sandbox.apiserver.auth.rbac_authorizer import Authorizer
from kymatui.sandbox.apiserver.http.request_log import RequestLog
from kymatui.sandbox.apiserver.http.server_faults import ServerFaults
from kymatui.sandbox.apiserver.reads.api_discovery import ApiDiscovery
from kymatui.sandbox.apiserver.reads.non_resource_paths import NonResourcePaths, ServerDocuments
from kymatui.sandbox.apiserver.reads.object_reads import ObjectReader
from kymatui.sandbox.apiserver.reads.watch_streams import WatchStreams
from kymatui.sandbox.apiserver.requests.request_options import DeleteOptions
from kymatui.sandbox.apiserver.resources.held_objects import HeldObjects
from kymatui.sandbox.apiserver.resources.ownership_port import Ownership
from kymatui.sandbox.apiserver.resources.resource import ServedResource
from kymatui.sandbox.apiserver.resources.resource_catalog import ResourceCatalog
from kymatui.sandbox.apiserver.server.admin_path import FaultControl
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
