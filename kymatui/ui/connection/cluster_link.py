"""Connection to one cluster: a thread that turns snapshots into catalogs and mails them to the UI.

No Kubernetes client is imported before the first paint: the thread calls `connect`.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Generic, TypeVar

from msgspec import Struct

from kymatui.actions.session import ConnectionSource, Session
from kymatui.domain.kubernetes.refs import ObjectRef
from kymatui.domain.snapshot.snapshots import FeedState, Snapshot
from kymatui.errors import DefectError, KymatuiError
from kymatui.ui.connection.mailbox import Mailbox, MailSlot

if TYPE_CHECKING:
    from kymatui.domain.catalog.rows import Catalog

CATALOG = "catalog"
CLUSTER = "cluster"
FAILURE = "failure"
STEADY_SECONDS = 0.25  # between two readings once all lists are loaded: the mailbox delivers no more often
_BURST_SECONDS = 0.02  # changes come several at a time


S = TypeVar("S", bound=ConnectionSource)


class ClusterConnection(Struct, frozen=True):
    """The displayed cluster and whether kymatui may write to it."""

    context: str
    namespace: str
    read_only: bool
    title: str = ""
    """What plans, journals and backups are named after, where that is not the context."""

    @property
    def name(self) -> str:
        return self.title or self.context


class ClusterReading(Struct, frozen=True):
    """One reading of the cluster: the snapshot and the catalog made from it."""

    snapshot: Snapshot
    catalog: Catalog


class FollowedObjects(Struct, frozen=True):
    """Objects with displayed events, and objects with displayed Pods and other owned objects."""

    events: tuple[ObjectRef, ...] = ()
    owned: tuple[ObjectRef, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.events or self.owned)


class ConnectionLink(Generic[S]):
    """Owner of a session and its thread; `close` returns at once and the thread ends by itself."""

    def __init__(
        self,
        connect: Callable[[], S],
        mailbox: Mailbox | MailSlot,
        *,
        pause: float = 0.1,  # between two readings while lists are loading
    ) -> None:
        self._connect = connect
        self._mailbox = mailbox
        self._pause = pause
        self._changed = threading.Event()
        self._closed = threading.Event()
        self._listeners: tuple[threading.Event, ...] = ()
        self._session: S | None = None
        self._to_follow = FollowedObjects()
        self._followed = FollowedObjects()
        self._thread = threading.Thread(target=self._run, name="cluster-link", daemon=True)

    @property
    def session(self) -> S | None:
        """Return the session; None before it is open."""
        return self._session

    def start(self) -> None:
        self._thread.start()

    @contextmanager
    def listening(self) -> Iterator[threading.Event]:
        """Yield an event that every change sets as well."""
        changed = threading.Event()
        self._listeners = (*self._listeners, changed)
        try:
            yield changed
        finally:
            self._listeners = tuple(listener for listener in self._listeners if listener is not changed)

    def _ring(self) -> None:
        self._changed.set()
        for listener in self._listeners:
            listener.set()

    def retry(self) -> None:
        """Query the server again now instead of after the back-off."""
        if self._session is not None:
            threading.Thread(target=self._session.retry, name="cluster-retry", daemon=True).start()

    def follow(self, objects: FollowedObjects) -> None:
        """Follow what belongs to these objects instead of the previous ones."""
        if objects != self._to_follow:
            self._to_follow = objects
            self._changed.set()

    def close(self) -> None:
        self._closed.set()
        self._changed.set()

    def _run(self) -> None:
        try:
            session = self._session = self._connect()
            self._mailbox.put(CLUSTER, connection_of(session))
            self._session.start(self._ring)
            self._follow(self._session)
        except KymatuiError as error:
            self._mailbox.put(FAILURE, error)
        except Exception as error:  # noqa: BLE001 (a thread that dies in silence would leave the screen waiting for ever)
            self._mailbox.put(FAILURE, DefectError(error))
        finally:
            if self._session is not None:
                self._session.close()

    def _follow(self, session: S) -> None:
        """Read once for a burst of changes; a change during the pause is part of the next reading."""
        while not self._closed.is_set():
            self._changed.clear()
            began = time.monotonic()
            pause = self._pause if self.poll(session) else STEADY_SECONDS
            self._changed.wait()
            if self._closed.is_set():
                return
            time.sleep(max(_BURST_SECONDS, began + pause - time.monotonic()))

    def poll(self, session: S) -> bool:
        """Read the current state; return whether lists are still loading, so a new reading is worthwhile."""
        raise AssertionError(f"{type(self).__name__} does not poll")


class ClusterLink(ConnectionLink[Session]):
    """Connection to one cluster with a catalog."""

    def __init__(
        self,
        connect: Callable[[], Session],
        read: Callable[[Snapshot], Catalog],
        mailbox: Mailbox | MailSlot,
        *,
        pause: float = 0.1,
    ) -> None:
        super().__init__(connect, mailbox, pause=pause)
        self._read = read

    def poll(self, session: Session) -> bool:
        """Read the catalog; report a defect that one object causes and keep the session open."""
        if self._followed != self._to_follow:
            self._followed = self._to_follow
            session.follow_events(self._followed.events)
            session.follow_owned(self._followed.owned)
        snapshot = session.snapshot()
        try:
            self._mailbox.put(CATALOG, ClusterReading(snapshot, self._read(snapshot)))
        except Exception as error:  # noqa: BLE001
            self._mailbox.put(CATALOG, DefectError(error))  # under the same key: a later reading replaces it
        return any(feed.state is FeedState.SYNCING for feed in snapshot.feeds.values())


def connection_of(session: ConnectionSource) -> ClusterConnection:
    return ClusterConnection(session.name, session.namespace, session.read_only, session.title)
