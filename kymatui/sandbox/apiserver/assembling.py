"""One API server out of its parts."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from kymatui.sandbox.apiserver.admission import Admission
from kymatui.sandbox.apiserver.api import Api
from kymatui.sandbox.apiserver.authorization import Authorizer
from kymatui.sandbox.apiserver.bootstrap import populate
from kymatui.sandbox.apiserver.catalog import Catalog
from kymatui.sandbox.apiserver.controlling import FaultControl
from kymatui.sandbox.apiserver.definitions import CustomSemantics, Definitions
from kymatui.sandbox.apiserver.deleting import Deleter
from kymatui.sandbox.apiserver.discovery import Discovery
from kymatui.sandbox.apiserver.exchange import SYSTEM
from kymatui.sandbox.apiserver.faults import Faults
from kymatui.sandbox.apiserver.holding import Holding
from kymatui.sandbox.apiserver.local import LocalClient
from kymatui.sandbox.apiserver.options import DeleteOptions
from kymatui.sandbox.apiserver.paths import Documents, Paths
from kymatui.sandbox.apiserver.reading import Reader
from kymatui.sandbox.apiserver.requests import RequestLog
from kymatui.sandbox.apiserver.resources import Resource
from kymatui.sandbox.apiserver.reviews import Reviews
from kymatui.sandbox.apiserver.rules import KindRules
from kymatui.sandbox.apiserver.scaling import Scaling
from kymatui.sandbox.apiserver.semantics import Ownership
from kymatui.sandbox.apiserver.subresources import Subresources
from kymatui.sandbox.apiserver.tokens import ADMIN, VIEWER, Tokens
from kymatui.sandbox.apiserver.watching import Watches
from kymatui.sandbox.apiserver.writing import Writer
from kymatui.sandbox.clock import Clock
from kymatui.sandbox.storage import Store, Stored


@dataclass(frozen=True, slots=True)
class Meaning:
    """What the objects of a server mean; everything else is the server's own."""

    builtin: Iterable[Resource]
    custom: CustomSemantics
    ownership: Ownership
    documents: Callable[[Catalog], Documents]


class ApiServer:
    """A server without sockets: `api.handle` takes requests, `client` asks from inside."""

    def __init__(
        self,
        clock: Clock,
        meaning: Meaning,
        *,
        admin_token: str,
        viewer_token: str = "",
        address: str = "127.0.0.1:0",
        store: Store | None = None,
    ) -> None:
        self.clock = clock
        self.store = store or Store()
        self.faults = Faults()
        self.watches = Watches()
        self.tokens = Tokens(self.store, clock, {admin_token: ADMIN})
        if viewer_token:
            self.tokens.fixed[viewer_token] = VIEWER
        self.authorizer = Authorizer(self.store)
        self.catalog = Catalog(meaning.builtin)
        self.holding = Holding()
        reader = Reader(self.store, clock, self.watches)
        rules = KindRules(self.store, clock)
        admission = Admission(self.store, self.authorizer)
        writer = Writer(self.store, clock, reader, self.catalog, admission, meaning.ownership, rules, self.holding)
        deleter = Deleter(self.store, clock, reader, rules)
        self.requests = RequestLog()
        control = FaultControl(self.faults, self.watches, self.tokens, self.holding, self.store, self.requests)
        self.api = Api(
            tokens=self.tokens,
            authorizer=self.authorizer,
            catalog=self.catalog,
            discovery=Discovery(self.catalog, address),
            paths=Paths(meaning.documents(self.catalog), control.answer),
            reader=reader,
            writer=writer,
            deleter=deleter,
            subresources=Subresources(self.store, clock, reader, deleter, self.tokens),
            scaling=Scaling(reader, writer),
            reviews=Reviews(self.authorizer, self.tokens),
        )
        self.client = LocalClient(self.api.handle, self.store, clock, self.catalog)

        def remove(resource: Resource, stored: Stored) -> None:
            deleter.delete_object(resource, stored, DeleteOptions(), SYSTEM)

        self.definitions = Definitions(self.store, clock, self.catalog, meaning.custom, remove, self.client)

    def bootstrap(self, port: int = 6443) -> None:
        """Creates what every cluster holds."""
        populate(self.client, port)
        self.store.compact()
