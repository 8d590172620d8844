"""What the screens know of a fleet, and of those of its runtimes that somebody looked at."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Protocol

from kymatui.domain.snapshots import RUNTIME_FEED, Feed, FeedState, Object
from kymatui.errors import KymatuiError
from kymatui.ui.cluster_view import ClusterView
from kymatui.ui.link import Followed, Link, Place, Session, defect
from kymatui.ui.mailbox import Mailbox, Pigeonhole
from kymatui.ui.presenters.connection import Connection, describe

if TYPE_CHECKING:
    from kymatui.actions.uninstall import Consent
    from kymatui.domain.fleet_pictures import FleetPicture, Key
    from kymatui.domain.resolution import Rules
    from kymatui.domain.targets import ClusterTarget
    from kymatui.domain.toggling import Toggle
    from kymatui.domain.watcher_chains import Chain
    from kymatui.ui.widgets.row_list import Row
    from kymatui.wiring.campaigns import Campaign, Pace

FLEET: Final = "fleet"
MOST_RUNTIMES: Final = 8


class FleetSource(Followed, Protocol):
    """What a connection to a control plane offers."""

    def picture(self) -> FleetPicture: ...

    @property
    def wanted(self) -> str: ...

    @property
    def straight_to(self) -> Key | None: ...

    def runtime(self, key: Key) -> Session: ...

    def rules(self, namespace: str) -> tuple[Rules, tuple[str, ...]]: ...

    def chains(self) -> Sequence[Chain]: ...

    def campaign(self, toggle: Toggle, pace: Pace, consent: Consent | None = None) -> Campaign: ...


@dataclass(frozen=True, slots=True)
class FleetSeen:
    """One look at the fleet, its rows, and the runtime that somebody asked for by a name."""

    picture: FleetPicture
    rows: Mapping[Key, Row]
    wanted: str = ""
    straight_to: Key | None = None


class FleetLink(Link[FleetSource]):
    """Makes rows in its thread: the screen only shows them."""

    def __init__(
        self, connect: Callable[[], FleetSource], mailbox: Mailbox | Pigeonhole, clock: Callable[[], float]
    ) -> None:
        super().__init__(connect, mailbox)
        self._clock = clock

    def look(self, session: FleetSource) -> bool:
        from kymatui.ui.presenters.fleet import FleetRows

        if not hasattr(self, "_rows"):
            self._rows = FleetRows()
        picture = session.picture()
        try:
            rows = self._rows.of(picture, self._clock())
            self._mailbox.put(FLEET, FleetSeen(picture, rows, session.wanted, session.straight_to))
        except Exception as error:  # noqa: BLE001 (the next look may be a good one)
            self._mailbox.put(FLEET, defect(error))
        return any(feed.state is FeedState.SYNCING for feed in picture.feeds.values())


class FleetView(ClusterView):
    """The control plane as a place on the screen: it has a fleet, and no catalog of its own."""

    def __init__(self, connect: Callable[[], FleetSource], mailbox: Mailbox, clock: Callable[[], float]) -> None:
        super().__init__(_no_cluster, mailbox, clock)
        self.seen: FleetSeen | None = None
        self.fleet_link = FleetLink(connect, self._hole, clock)

    def start(self) -> None:
        self.fleet_link.start()

    def retry(self) -> None:
        self.fleet_link.retry()

    def close(self) -> None:
        self.fleet_link.close()

    def deliver(self, values: Mapping[str, object]) -> tuple[Place | None, KymatuiError | None]:
        place, failure = super().deliver(values)
        found = self._hole.mine(values).get(FLEET)
        if isinstance(found, FleetSeen):
            self.seen, self.failure = found, None
        elif isinstance(found, KymatuiError):
            self.failure = failure = found
        return place, failure

    @property
    def target(self) -> ClusterTarget | None:
        return self.fleet_link.session.target if self.fleet_link.session is not None else None

    @property
    def connection(self) -> Connection:
        return describe(self.seen.picture.feeds if self.seen is not None else {}, self._clock(), self.failure)


def _no_cluster() -> Session:
    raise AssertionError("a fleet is no cluster")


class RuntimeView(ClusterView):
    """A runtime as a place on the screen: what is written goes to the runtime itself, and not to its control plane."""

    @property
    def session(self) -> Session | None:
        """The runtime's own session, once it is connected."""
        found: Session | None = getattr(super().session, "inner", None)
        return found

    @property
    def writing(self) -> Session | None:
        """Both sides, since what is written to the runtime is decided by its control plane."""
        return self.link.session if self.session is not None else None

    @property
    def kymas(self) -> Sequence[Object]:
        """The runtime's own: what its control plane has of it is a copy."""
        found: Sequence[Object] = getattr(super().session, "runtime_kymas", ())
        return found


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
        busy: Callable[[Key], bool] = lambda key: False,
    ) -> None:
        self._mailbox, self._clock, self._most, self._busy = mailbox, clock, most, busy
        self._views: OrderedDict[Key, ClusterView] = OrderedDict()
        self._past: dict[Key, Feed] = {}

    def of(self, key: Key, source: FleetSource) -> ClusterView:
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

    def known(self, key: Key) -> ClusterView | None:
        return self._views.get(key)

    def deliver(self, values: Mapping[str, object]) -> list[Place]:
        """Takes what came; the places that are told for the first time."""
        found = [view.deliver(values)[0] for view in self._views.values()]
        return [place for place in found if place is not None]

    def feeds(self) -> dict[Key, Feed]:
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
