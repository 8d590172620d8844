"""State of a fleet in the UI, with the runtimes that were opened."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Final, Protocol

from msgspec import Struct
from msgspec.structs import replace

from kymatui.actions.session import ConnectionSource, Session
from kymatui.domain.plans.cluster_target import ALL_CONTEXTS, ClusterTarget
from kymatui.domain.snapshot.snapshots import RUNTIME_FEED, Feed, FeedState, Object
from kymatui.engine.cluster.dials import DIALS
from kymatui.engine.cluster.logins import LOGINS
from kymatui.errors import DefectError, KymatuiError
from kymatui.ui.connection.cluster_link import ClusterConnection, ConnectionLink
from kymatui.ui.connection.cluster_view import ClusterView
from kymatui.ui.connection.connection_status import ConnectionStatus, describe_connection
from kymatui.ui.connection.mailbox import Mailbox, MailSlot

if TYPE_CHECKING:
    from kymatui.actions.edits.campaign import ListedFleet
    from kymatui.domain.catalog.rows import Catalog
    from kymatui.domain.fleet.fleet_tracker import FleetSnapshot, RuntimeKey
    from kymatui.domain.kyma.maintenance_windows import ControllerSettings
    from kymatui.domain.remote.watcher_chains import WatcherChain
    from kymatui.engine.cluster.ports import Cluster
    from kymatui.sessions.cluster.session_options import RemoteOptions
    from kymatui.ui.viewmodels.row_list import Row

FLEET: Final = "fleet"
MOST_RUNTIMES: Final = 8  # open runtimes: each has watches and objects in memory


class FleetObjectSource(Protocol):
    """Interface of the objects of a control plane: Kymas, and templates with release metas."""

    @property
    def name(self) -> str: ...

    def start(self) -> None: ...

    def objects(self) -> tuple[tuple[Object, ...], tuple[Object, ...]] | None:
        """Return the objects, None before they are listed; raises what keeps them from being listed."""

    def retry(self) -> None: ...

    def close(self) -> None: ...


class FleetSource(ConnectionSource, Protocol):
    """Interface of a connection to a control plane."""

    def picture(self) -> FleetSnapshot: ...

    @property
    def requested_runtime(self) -> str: ...

    @property
    def straight_to(self) -> RuntimeKey | None: ...

    def runtime(self, key: RuntimeKey) -> Session: ...

    def rules(self, namespace: str) -> tuple[ControllerSettings, tuple[str, ...]]: ...

    def listed(self, *, edits_kymas: bool = True) -> ListedFleet: ...

    def chains(self) -> Sequence[WatcherChain]: ...

    def follow_objects(self, on_change: Callable[[], None]) -> FleetObjectSource: ...

    @property
    def options(self) -> RemoteOptions: ...


class FleetReading(Struct, frozen=True):
    """One reading of the fleet with its rows and the runtime requested by name."""

    picture: FleetSnapshot
    rows: Mapping[RuntimeKey, Row]
    requested_runtime: str = ""
    straight_to: RuntimeKey | None = None


class FleetLink(ConnectionLink[FleetSource]):
    """Connection that builds the rows of the fleet in its thread."""

    def __init__(
        self, connect: Callable[[], FleetSource], mailbox: Mailbox | MailSlot, clock: Callable[[], float]
    ) -> None:
        super().__init__(connect, mailbox)
        self._clock = clock

    def poll(self, session: FleetSource) -> bool:
        from kymatui.ui.presenters.fleet.runtime_rows import FleetRows

        if not hasattr(self, "_rows"):
            self._rows = FleetRows()
        picture = session.picture()
        try:
            rows = self._rows.of(picture, self._clock())
            self._mailbox.put(FLEET, FleetReading(picture, rows, session.requested_runtime, session.straight_to))
        except Exception as error:  # noqa: BLE001 (the next reading may succeed)
            self._mailbox.put(FLEET, DefectError(error))
        return any(feed.state is FeedState.SYNCING for feed in picture.feeds.values())


class FleetView(ClusterView):
    """View of the control plane: a fleet without a catalog."""

    def __init__(
        self,
        connect: Callable[[], FleetSource],
        mailbox: Mailbox,
        clock: Callable[[], float],
        close_runtimes: Callable[[], None],
    ) -> None:
        super().__init__(_no_cluster, mailbox, clock)
        self._close_runtimes = close_runtimes
        self.seen: FleetReading | None = None
        self.fleet_link = FleetLink(connect, self._hole, clock)

    def start(self) -> None:
        self.fleet_link.start()

    def retry(self) -> None:
        self._rights_asked = False
        self.fleet_link.retry()

    def close(self) -> None:
        self._close_runtimes()
        self.fleet_link.close()

    def continue_from(self, before: ClusterView) -> None:
        super().continue_from(before)
        if isinstance(before, FleetView):
            self.seen = before.seen and replace(before.seen, picture=_loading(before.seen.picture))

    def deliver(self, values: Mapping[str, object]) -> tuple[ClusterConnection | None, KymatuiError | None]:
        connection, failure = super().deliver(values)
        value = self._hole.own_values(values).get(FLEET)
        if isinstance(value, FleetReading):
            self.seen, self.failure = value, None
        elif isinstance(value, KymatuiError):
            self.failure = failure = value
        return connection, failure

    @property
    def target(self) -> ClusterTarget | None:
        return self.fleet_link.session.target if self.fleet_link.session is not None else None

    @property
    def kyma_namespaces(self) -> frozenset[str]:
        return frozenset(key[0] for key in self.seen.picture.runtimes) if self.seen is not None else frozenset()

    @property
    def control_plane(self) -> Cluster | None:
        return self.fleet_link.session.home if self.fleet_link.session is not None else None

    @property
    def written_clusters(self) -> Sequence[Cluster]:
        return (self.control_plane,) if self.control_plane is not None else ()

    @property
    def connection(self) -> ConnectionStatus:
        return describe_connection(
            self.seen.picture.feeds if self.seen is not None else {},
            self._clock(),
            self.failure,
            login=LOGINS.oldest,
            dial=DIALS.oldest,
        )


class ContextsView(FleetView):
    """View of many contexts, of which no cluster is the home of all."""

    fleet_name = ALL_CONTEXTS

    @property
    def control_plane(self) -> Cluster | None:
        return None

    @property
    def written_clusters(self) -> Sequence[Cluster]:
        return ()

    @property
    def kyma_namespaces(self) -> frozenset[str]:
        return frozenset()


def _loading(picture: FleetSnapshot) -> FleetSnapshot:
    return replace(picture, feeds={name: Feed(FeedState.SYNCING) for name in picture.feeds})


def _no_cluster() -> Session:
    raise AssertionError("a fleet is not a cluster")


class RuntimeView(ClusterView):
    """View of a runtime; writes go to the runtime itself and not to its control plane."""

    @property
    def session(self) -> Session | None:
        """Return the runtime's own session; None before it is connected."""
        session = super().session
        return session if session is not None and session.is_connected else None

    @property
    def writing(self) -> Session | None:
        """Return a session on both sides, since the control plane decides on writes to the runtime."""
        return self.link.session if self.session is not None else None

    @property
    def kymas(self) -> Sequence[Object]:
        """Return the runtime's own Kymas; its control plane has a copy."""
        session = super().session
        return session.kymas if session is not None else ()


class RuntimeViews:
    """Views of opened runtimes by key: up to eight, the least recently used is closed.

    A `busy` runtime with a running job stays open until the job has ended. The last feed of a closed view is saved,
    in the state "absent" if it was healthy.
    """

    def __init__(
        self,
        mailbox: Mailbox,
        clock: Callable[[], float],
        most: int = MOST_RUNTIMES,
        busy: Callable[[RuntimeKey], bool] = lambda key: False,
        new_view: Callable[[Callable[[], Session], Mailbox, Callable[[], float], str], ClusterView] = RuntimeView,
    ) -> None:
        self._mailbox, self._clock, self._most, self._busy = mailbox, clock, most, busy
        self._new_view = new_view
        self._views: OrderedDict[RuntimeKey, ClusterView] = OrderedDict()
        self._past: dict[RuntimeKey, Feed] = {}

    def of(self, key: RuntimeKey, source: FleetSource) -> ClusterView:
        """Return the view of a runtime; connect on the first call."""
        view = self._views.get(key)
        if view is None:
            name = "/".join(key)
            view = self._views[key] = self._new_view(lambda: source.runtime(key), self._mailbox, self._clock, name)
            view.start()
            self._past.pop(key, None)
        self._views.move_to_end(key)
        idle = [view_key for view_key in self._views if view_key != key and not self._busy(view_key)]
        for gone in idle[: max(0, len(self._views) - self._most)]:
            oldest = self._views.pop(gone)
            was = self._feed(oldest)
            self._past[gone] = was if was.state is FeedState.FAILED else Feed(FeedState.ABSENT)
            oldest.close()
        return view

    def known(self, key: RuntimeKey) -> ClusterView | None:
        return self._views.get(key)

    def deliver(self, values: Mapping[str, object]) -> list[ClusterConnection]:
        """Store values from the mailbox; return the newly connected clusters."""
        connections = [view.deliver(values)[0] for view in self._views.values()]
        return [connection for connection in connections if connection is not None]

    def feeds(self) -> dict[RuntimeKey, Feed]:
        """Return the feeds of open runtimes and the last feeds of closed runtimes."""
        return {**self._past, **{key: self._feed(view) for key, view in self._views.items()}}

    def catalogs(self) -> dict[RuntimeKey, Catalog]:
        """Return the catalogs of open runtimes that are connected: what runs in them is read."""
        return {
            key: view.catalog
            for key, view in self._views.items()
            if view.catalog is not None and self._feed(view).state is FeedState.LIVE
        }

    def _feed(self, view: ClusterView) -> Feed:
        if view.failure is not None:
            return Feed.of_error(FeedState.FAILED, 0.0, view.failure)
        if view.snapshot is None:
            return Feed(FeedState.SYNCING)
        return view.snapshot.feeds.get(RUNTIME_FEED, Feed(FeedState.LIVE))  # a context has no other connection

    def close(self) -> None:
        """Close all views; return at once."""
        for view in self._views.values():
            view.close()
        self._views.clear()
