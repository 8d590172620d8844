"""The screen's connection to one cluster: a thread that turns snapshots into catalogs and hands them to the mailbox.

Nothing of the Kubernetes client is imported before the first paint: `connect` is called in the thread.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Generic, Protocol, TypeVar

from kymatui.actions.session import Session
from kymatui.domain.snapshot.snapshots import FeedState
from kymatui.errors import KymatuiError
from kymatui.ui.connection.mailbox import Mailbox, MailSlot

if TYPE_CHECKING:
    from kymatui.domain.catalog.rows import Catalog
    from kymatui.domain.kubernetes.refs import ObjectRef
    from kymatui.domain.plans.cluster_target import ClusterTarget
    from kymatui.domain.snapshot.snapshots import Object, Snapshot

CATALOG = "catalog"
CLUSTER = "cluster"
FAILURE = "failure"
STEADY_SECONDS = 0.25  # between two looks once all lists are there: the mailbox delivers no more often
_BURST_SECONDS = 0.02  # changes come several at a time


class ConnectionSource(Protocol):
    """What every connection offers to a front end."""

    @property
    def name(self) -> str: ...

    @property
    def title(self) -> str:
        """Return the name for plans, journals and backups where that is not `name`, else ""."""

    @property
    def namespace(self) -> str: ...

    @property
    def read_only(self) -> bool: ...

    @property
    def target(self) -> ClusterTarget: ...

    @property
    def traffic(self) -> tuple[int, int]: ...

    def start(self, on_change: Callable[[], None]) -> None: ...

    def retry(self) -> None: ...

    def close(self) -> None: ...


class ClusterSession(ConnectionSource, Session, Protocol):
    """What a connection to one cluster, or to a runtime, offers to the screen."""

    @property
    def is_connected(self) -> bool:
        """Return whether the cluster with the modules was reached."""

    @property
    def kymas(self) -> Sequence[Object]:
        """Return the Kymas that are edited."""

    def read(self, ref: ObjectRef) -> Object:
        """Return one object whole, from the side that displays it. Raise what its server answers."""


S = TypeVar("S", bound=ConnectionSource)


@dataclass(frozen=True, slots=True)
class ClusterConnection:
    """Which cluster the screen is on, and whether it may be written to."""

    context: str
    namespace: str
    read_only: bool
    title: str = ""
    """What plans, journals and backups are named after, where that is not the context."""

    @property
    def name(self) -> str:
        return self.title or self.context


@dataclass(frozen=True, slots=True)
class ClusterReading:
    """One look at the cluster: what was observed, and what the domain makes of it."""

    snapshot: Snapshot
    catalog: Catalog


@dataclass(frozen=True, slots=True)
class FollowedObjects:
    """The objects whose events are shown, and those whose Pods and the like are."""

    events: tuple[ObjectRef, ...] = ()
    owned: tuple[ObjectRef, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.events or self.owned)


class ConnectionLink(Generic[S]):
    """Owns a session and its thread; `close` returns at once, the thread ends by itself."""

    def __init__(
        self,
        connect: Callable[[], S],
        mailbox: Mailbox | MailSlot,
        *,
        pause: float = 0.1,  # between two looks while lists are coming
    ) -> None:
        self._connect = connect
        self._mailbox = mailbox
        self._pause = pause
        self._changed = threading.Event()
        self._closed = threading.Event()
        self._listeners: tuple[threading.Event, ...] = ()
        self._session: S | None = None
        self._looked_at = FollowedObjects()
        self._followed = FollowedObjects()
        self._thread = threading.Thread(target=self._run, name="cluster-link", daemon=True)

    @property
    def session(self) -> S | None:
        """The session, once there is one."""
        return self._session

    def start(self) -> None:
        self._thread.start()

    def listen(self, changed: threading.Event) -> None:
        """The event is set, too, whenever something changes, until `forget`."""
        self._listeners = (*self._listeners, changed)

    def forget(self, changed: threading.Event) -> None:
        self._listeners = tuple(one for one in self._listeners if one is not changed)

    def _ring(self) -> None:
        self._changed.set()
        for one in self._listeners:
            one.set()

    def retry(self) -> None:
        """Asks the server again now instead of after the back-off."""
        if self._session is not None:
            threading.Thread(target=self._session.retry, name="cluster-retry", daemon=True).start()

    def follow(self, looks: FollowedObjects) -> None:
        """Asks for what belongs to these objects, instead of those that were looked at before."""
        if looks != self._looked_at:
            self._looked_at = looks
            self._changed.set()

    def close(self) -> None:
        self._closed.set()
        self._changed.set()

    def _run(self) -> None:
        try:
            session = self._session = self._connect()
            self._mailbox.put(CLUSTER, _place(session))
            self._session.start(self._ring)
            self._follow(self._session)
        except KymatuiError as error:
            self._mailbox.put(FAILURE, error)
        except Exception as error:  # noqa: BLE001 (a thread that dies in silence would leave the screen waiting for ever)
            self._mailbox.put(FAILURE, as_defect_error(error))
        finally:
            if self._session is not None:
                self._session.close()

    def _follow(self, session: S) -> None:
        """A burst of changes is read once: whoever sets the event within the pause is served by the next look."""
        while not self._closed.is_set():
            self._changed.clear()
            began = time.monotonic()
            pause = self._pause if self.look(session) else STEADY_SECONDS
            self._changed.wait()
            if self._closed.is_set():
                return
            time.sleep(max(_BURST_SECONDS, began + pause - time.monotonic()))

    def look(self, session: S) -> bool:
        """Takes what there is; whether lists are still coming, so that the next look is worth more."""
        raise AssertionError(f"{type(self).__name__} does not look")


class ClusterLink(ConnectionLink[ClusterSession]):
    """The link to one cluster."""

    def __init__(
        self,
        connect: Callable[[], ClusterSession],
        read: Callable[[Snapshot], Catalog],
        mailbox: Mailbox | MailSlot,
        *,
        pause: float = 0.1,
    ) -> None:
        super().__init__(connect, mailbox, pause=pause)
        self._read = read

    def look(self, session: ClusterSession) -> bool:
        """A defect that one object brings to light must not end the session: the next look may be a good one."""
        if self._followed != self._looked_at:
            self._followed = self._looked_at
            session.follow_events(self._followed.events)
            session.follow_owned(self._followed.owned)
        snapshot = session.snapshot()
        try:
            self._mailbox.put(CATALOG, ClusterReading(snapshot, self._read(snapshot)))
        except Exception as error:  # noqa: BLE001
            self._mailbox.put(CATALOG, as_defect_error(error))  # in the same place, so that a later look replaces it
        return any(feed.state is FeedState.SYNCING for feed in snapshot.feeds.values())


def as_defect_error(error: Exception) -> KymatuiError:
    """What no cluster can be blamed for, as an error that says so."""
    text = f"{type(error).__name__}: {error}"
    return KymatuiError(text, hint="this is a defect of kymatui; please report it")


def _place(session: ConnectionSource) -> ClusterConnection:
    return ClusterConnection(session.name, session.namespace, session.read_only, session.title)
