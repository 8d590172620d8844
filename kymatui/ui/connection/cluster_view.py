"""State of one cluster in the UI with its link. An app may have several and displays one."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

from msgspec.structs import replace

from kymatui.actions.session import Session
from kymatui.domain.snapshot.snapshots import Feed, FeedState, Object, ReadCache, Snapshot
from kymatui.engine.cluster.dials import DIALS
from kymatui.engine.cluster.logins import LOGINS
from kymatui.errors import KymatuiError
from kymatui.ui.connection.cluster_link import (
    CATALOG,
    CLUSTER,
    FAILURE,
    ClusterConnection,
    ClusterLink,
    ClusterReading,
    FollowedObjects,
)
from kymatui.ui.connection.connection_status import ConnectionStatus, describe_connection
from kymatui.ui.connection.mailbox import Mailbox, MailSlot

if TYPE_CHECKING:
    from kymatui.actions.modules.version_content import VersionReader
    from kymatui.domain.catalog.change_history import ChangeHistory
    from kymatui.domain.catalog.rows import Catalog
    from kymatui.domain.plans.cluster_management import ClusterManagement
    from kymatui.domain.plans.cluster_target import ClusterName, ClusterTarget
    from kymatui.domain.snapshot.object_index import ObjectIndex
    from kymatui.engine.cluster.ports import Cluster
    from kymatui.settings.config_file import Settings
    from kymatui.ui.connection.component_reader import ComponentReader
    from kymatui.ui.connection.signature_watch import SignatureWatch


SIGNATURES = "signatures"
"""The mailbox key that redraws the screen after answers of registries."""


RIGHTS = "rights"
"""The mailbox key that redraws the screen after the answer of an access review."""


class ClusterView:
    """View of one cluster; `name` separates its values from those of other views in the shared mailbox."""

    locations: ObjectIndex

    fleet_name: ClusterName | None = None
    """What journals name many contexts, each with its own cluster; None for one cluster."""

    def __init__(
        self, connect: Callable[[], Session], mailbox: Mailbox, clock: Callable[[], float], name: str = ""
    ) -> None:
        self.snapshot: Snapshot | None = None
        self.catalog: Catalog | None = None
        self.failure: KymatuiError | None = None
        self.history: ChangeHistory | None = None
        self.place: ClusterConnection | None = None
        self.management: ClusterManagement | None = None
        self.versions: VersionReader | None = None  # made when versions are first compared, with all that it imports
        self.signatures: SignatureWatch | None = None  # made when the catalog first shows them
        self.components: ComponentReader | None = None
        self.may_write = True
        """Whether the user may write anything, as far as the server has answered."""
        self._rights_asked = False
        self._clock = clock
        self._memory = ReadCache()
        self.flow_memory = ReadCache()
        """What flows and the reasons in menus read of the last snapshot; the link's thread has a memory of its own."""
        self._followed: dict[object, FollowedObjects] = {}
        self._hole = MailSlot(mailbox, name)
        self.link = ClusterLink(connect, self._read, self._hole)

    @property
    def session(self) -> Session | None:
        """Return the session; None before it is open."""
        return self.link.session

    @property
    def target(self) -> ClusterTarget | None:
        """Return the cluster as plans and questions name it; None before the session is open."""
        return self.link.session.target if self.link.session is not None else None

    @property
    def writing(self) -> Session | None:
        """Return the session that flows read and write; None where nothing can be written."""
        return self.session

    @property
    def control_plane(self) -> Cluster | None:
        """Return the control plane whose fleet the view is of; None for a cluster with modules."""
        return None

    @property
    def kymas(self) -> Sequence[Object]:
        """Return the Kymas from the side where they are edited."""
        return self.snapshot.kymas if self.snapshot is not None else ()

    def continue_from(self, before: ClusterView) -> None:
        """Display what another view of the same cluster has, as loading, until the first reading of this one."""
        self.catalog, self.history, self.management = before.catalog, before.history, before.management
        if before.snapshot is not None:
            feeds = {name: Feed(FeedState.SYNCING) for name in before.snapshot.feeds}
            self.snapshot, self.locations = replace(before.snapshot, feeds=feeds), before.locations

    @property
    def written_clusters(self) -> Sequence[Cluster]:
        """Return the clusters that the view's Kyma and modules are on, as far as they are connected."""
        session = self.session
        if session is None:
            return ()
        return (session.home, session.cluster) if session.is_connected and session.kyma is not None else (session.home,)

    @property
    def kyma_namespaces(self) -> frozenset[str]:
        """Return the namespaces of the Kymas, as far as they are known."""
        return frozenset(kyma["metadata"].get("namespace", "") for kyma in self.kymas)

    def ask_rights(self) -> None:
        """Ask the clusters in a thread whether the user may write anything; once, when the Kymas are known."""
        if not self._rights_asked and self.kyma_namespaces:
            self._rights_asked = True
            threading.Thread(target=self._read_rights, name="rights", daemon=True).start()

    def _read_rights(self) -> None:
        own = {self.target.namespace} if self.target is not None else set()
        namespaces = sorted(filter(None, own | self.kyma_namespaces))
        with contextlib.suppress(KymatuiError):  # a runtime may be lost meanwhile
            self.may_write = any(cluster.may_write(namespaces) for cluster in self.written_clusters)
            self._hole.put(RIGHTS, True)

    @property
    def write_mode(self) -> str:
        """Return the mode of the top line: whether the user may write."""
        return "RW" if self.may_write else "MAY ONLY READ"

    def start(self) -> None:
        """Start the connection in a thread."""
        self.link.start()

    def retry(self) -> None:
        self._rights_asked = False
        self.link.retry()

    def close(self) -> None:
        """Close the connection; return at once."""
        self.link.close()

    def _read(self, snapshot: Snapshot) -> Catalog:
        """Read a catalog in the link's thread, which also imports what the first paint must not wait for."""
        from kymatui.domain.catalog.catalog import build_catalog
        from kymatui.domain.catalog.change_history import ChangeHistory
        from kymatui.domain.plans.cluster_management import detect_management
        from kymatui.domain.snapshot.object_index import index_objects

        self.history = self.history or ChangeHistory()
        catalog = build_catalog(snapshot, self._clock(), cache=self._memory)
        self.locations = index_objects(snapshot, self._memory)
        self.history.see(catalog, snapshot, self.locations, self._clock())
        self.management = detect_management(snapshot)
        return catalog

    def follow(self, follower: object, objects: FollowedObjects) -> None:
        """Follow the objects that a screen displays; the latest request is served first."""
        if self._followed.get(follower, FollowedObjects()) == objects:
            return
        self._followed.pop(follower, None)
        if objects:
            self._followed[follower] = objects
        newest = list(reversed(self._followed.values()))
        events = tuple(ref for followed in newest for ref in followed.events)
        self.link.follow(FollowedObjects(events, tuple(ref for followed in newest for ref in followed.owned)))

    def deliver(self, values: Mapping[str, object]) -> tuple[ClusterConnection | None, KymatuiError | None]:
        """Store values from the mailbox; return a newly connected cluster and the last failure."""
        own = self._hole.own_values(values)
        connection, catalog = own.get(CLUSTER), own.get(CATALOG)
        if isinstance(connection, ClusterConnection):
            self.place = connection
        if isinstance(catalog, ClusterReading):
            self.snapshot, self.catalog, self.failure = catalog.snapshot, catalog.catalog, None
        failures = [error for error in (catalog, own.get(FAILURE)) if isinstance(error, KymatuiError)]
        if failures:
            self.failure = failures[-1]
        return (connection if isinstance(connection, ClusterConnection) else None), (failures[-1] if failures else None)

    def watch_signatures(self, registry: str, public_key: str) -> SignatureWatch:
        """Return what reads the signatures of the catalog's components; its answers come through the mailbox."""
        if self.signatures is None:
            from kymatui.ui.connection.signature_watch import SignatureWatch

            self.signatures = SignatureWatch(registry, public_key, lambda: self._hole.put(SIGNATURES, True))
        return self.signatures

    def component_reader(self, settings: Settings) -> ComponentReader:
        """Return what reads components for the screen; its methods block."""
        if self.components is None:
            from kymatui.ui.connection.component_reader import ComponentReader

            self.components = ComponentReader(settings.registry, settings.public_key)
        return self.components

    @property
    def connection(self) -> ConnectionStatus:
        feeds = self.snapshot.feeds if self.snapshot else {}
        return describe_connection(feeds, self._clock(), self.failure, login=LOGINS.oldest, dial=DIALS.oldest)

    @property
    def is_outdated(self) -> bool:
        """Return whether the server does not answer, so that the displayed data may be wrong by now."""
        return bool(self.connection.stale_since) or self.failure is not None
