"""What the screens know of a fleet, and of those of its runtimes that somebody looked at."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Protocol

from kymatui.domain.snapshot.snapshots import RUNTIME_FEED, Feed, FeedState, Object
from kymatui.errors import KymatuiError
from kymatui.ui.connection.cluster_link import (
    ClusterConnection,
    ClusterSession,
    ConnectionLink,
    ConnectionSource,
    as_defect_error,
)
from kymatui.ui.connection.cluster_view import ClusterView
from kymatui.ui.connection.connection_status import ConnectionStatus, describe_connection
from kymatui.ui.connection.mailbox import Mailbox, MailSlot

if TYPE_CHECKING:
    from kymatui.adapters.sessions.cluster.session_options import RemoteOptions
    from kymatui.domain.fleet.fleet_tracker import FleetSnapshot, RuntimeKey
    from kymatui.domain.kyma.maintenance_windows import ControllerSettings
    from kymatui.domain.plans.cluster_target import ClusterTarget
    from kymatui.domain.remote.watcher_chains import WatcherChain
    from kymatui.ui.viewmodels.row_list import Row

FLEET: Final = "fleet"
MOST_RUNTIMES: Final = 8


class FleetSource(ConnectionSource, Protocol):
    """What a connection to a control plane offers."""

    def picture(self) -> FleetSnapshot: ...

    @property
    def wanted(self) -> str: ...

    @property
    def straight_to(self) -> RuntimeKey | None: ...

    def runtime(self, key: RuntimeKey) -> ClusterSession: ...

    def rules(self, namespace: str) -> tuple[ControllerSettings, tuple[str, ...]]: ...

    def chains(self) -> Sequence[WatcherChain]: ...

    @property
    def options(self) -> RemoteOptions: ...


@dataclass(frozen=True, slots=True)
class FleetReading:
    """One look at the fleet, its rows, and the runtime that somebody asked for by a name."""

    picture: FleetSnapshot
    rows: Mapping[RuntimeKey, Row]
    wanted: str = ""
    straight_to: RuntimeKey | None = None


class FleetLink(ConnectionLink[FleetSource]):
    """Makes rows in its thread: the screen only shows them."""

    def __init__(
        self, connect: Callable[[], FleetSource], mailbox: Mailbox | MailSlot, clock: Callable[[], float]
    ) -> None:
        super().__init__(connect, mailbox)
        self._clock = clock

    def look(self, session: FleetSource) -> bool:
        from kymatui.ui.presenters.fleet.runtime_rows import FleetRows

        if not hasattr(self, "_rows"):
            self._rows = FleetRows()
        picture = session.picture()
        try:
            rows = self._rows.of(picture, self._clock())
            self._mailbox.put(FLEET, FleetReading(picture, rows, session.wanted, session.straight_to))
        except Exception as error:  # noqa: BLE001 (the next look may be a good one)
            self._mailbox.put(FLEET, as_defect_error(error))
        return any(feed.state is FeedState.SYNCING for feed in picture.feeds.values())


class FleetView(ClusterView):
    """The control plane as a place on the screen: it has a fleet, and no catalog of its own."""

    def __init__(self, connect: Callable[[], FleetSource], mailbox: Mailbox, clock: Callable[[], float]) -> None:
        super().__init__(_no_cluster, mailbox, clock)
        self.seen: FleetReading | None = None
        self.fleet_link = FleetLink(connect, self._hole, clock)

    def start(self) -> None:
        self.fleet_link.start()

    def retry(self) -> None:
        self.fleet_link.retry()

    def close(self) -> None:
        self.fleet_link.close()

    def deliver(self, values: Mapping[str, object]) -> tuple[ClusterConnection | None, KymatuiError | None]:
        place, failure = super().deliver(values)
        found = self._hole.mine(values).get(FLEET)
        if isinstance(found, FleetReading):
            self.seen, self.failure = found, None
        elif isinstance(found, KymatuiError):
            self.failure = failure = found
        return place, failure

    @property
    def target(self) -> ClusterTarget | None:
        return self.fleet_link.session.target if self.fleet_link.session is not None else None

    @property
    def connection(self) -> ConnectionStatus:
        return describe_connection(
            self.seen.picture.feeds if self.seen is not None else {}, self._clock(), self.failure
        )


def _no_cluster() -> ClusterSession:
    raise AssertionError("a fleet is no cluster")


class RuntimeView(ClusterView):
    """A runtime as a place on the screen: what is written goes to the runtime itself, and not to its control plane."""

    @property
    def session(self) -> ClusterSession | None:
        """The runtime's own session, once it is connected."""
        found = super().session
        return found if found is not None and found.is_connected else None

    @property
    def writing(self) -> ClusterSession | None:
        """Both sides, since what is written to the runtime is decided by its control plane."""
        return self.link.session if self.session is not None else None

    @property
    def kymas(self) -> Sequence[Object]:
        """The runtime's own: what its control plane has of it is a copy."""
        found = super().session
        return found.kymas if found is not None else ()


class RuntimeViews:
    """The runtimes that somebody looked at, by key: eight are kept, and those that nobody used for longest go.

    One that is `busy`, for a job is at work there, stays until that has ended. How one was that is let go of is
    remembered, in the state "absent" where it was well.
    """

    def __init__(
        self,
        mailbox: Mailbox,
        clock: Callable[[], float],
        most: int = MOST_RUNTIMES,
        busy: Callable[[RuntimeKey], bool] = lambda key: False,
    ) -> None:
        self._mailbox, self._clock, self._most, self._busy = mailbox, clock, most, busy
        self._views: OrderedDict[RuntimeKey, ClusterView] = OrderedDict()
        self._past: dict[RuntimeKey, Feed] = {}

    def of(self, key: RuntimeKey, source: FleetSource) -> ClusterView:
        """The view of a runtime; it connects when it is asked for the first time."""
        view = self._views.get(key)
        if view is None:
            name = "/".join(key)
            view = self._views[key] = RuntimeView(lambda: source.runtime(key), self._mailbox, self._clock, name)
            view.start()
            self._past.pop(key, None)
        self._views.move_to_end(key)
        idle = [one for one in self._views if one != key and not self._busy(one)]
        for gone in idle[: max(0, len(self._views) - self._most)]:
            oldest = self._views.pop(gone)
            was = self._feed(oldest)
            self._past[gone] = was if was.state is FeedState.FAILED else Feed(FeedState.ABSENT)
            oldest.close()
        return view

    def known(self, key: RuntimeKey) -> ClusterView | None:
        return self._views.get(key)

    def deliver(self, values: Mapping[str, object]) -> list[ClusterConnection]:
        """Takes what came; the places that are told for the first time."""
        found = [view.deliver(values)[0] for view in self._views.values()]
        return [place for place in found if place is not None]

    def feeds(self) -> dict[RuntimeKey, Feed]:
        """How the runtimes are doing that are kept, and how those were that were let go of."""
        return {**self._past, **{key: self._feed(view) for key, view in self._views.items()}}

    def _feed(self, view: ClusterView) -> Feed:
        if view.failure is not None:
            return Feed(FeedState.FAILED, 0.0, str(view.failure))
        feeds = view.snapshot.feeds if view.snapshot is not None else {}
        return feeds.get(RUNTIME_FEED, Feed(FeedState.SYNCING))

    def close(self) -> None:
        """Returns at once."""
        for view in self._views.values():
            view.close()
        self._views.clear()
