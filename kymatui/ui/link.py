"""The screen's connection to one cluster: a thread that turns snapshots into catalogs and hands them to the mailbox.

Nothing of the Kubernetes client is imported before the first paint: `connect` is called in the thread.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from kymatui.domain.snapshots import FeedState
from kymatui.errors import KymatuiError
from kymatui.ui.mailbox import Mailbox, Pigeonhole

if TYPE_CHECKING:
    from kymatui.domain.refs import ObjectRef
    from kymatui.domain.rows import Catalog
    from kymatui.domain.snapshots import Snapshot

CATALOG = "catalog"
CLUSTER = "cluster"
FAILURE = "failure"
STEADY_SECONDS = 0.25  # between two looks once all lists are there: the mailbox delivers no more often
_BURST_SECONDS = 0.02  # changes come several at a time


class Session(Protocol):
    """What a connection offers to a front end."""

    @property
    def name(self) -> str: ...

    @property
    def namespace(self) -> str: ...

    @property
    def read_only(self) -> bool: ...

    def start(self, on_change: Callable[[], None]) -> None: ...

    def snapshot(self) -> Snapshot: ...

    def follow_events(self, refs: Iterable[ObjectRef]) -> None: ...

    def follow_owned(self, refs: Iterable[ObjectRef]) -> None: ...

    def retry(self) -> None: ...

    def close(self) -> None: ...


@dataclass(frozen=True, slots=True)
class Place:
    """Which cluster the screen is on, and whether it may be written to."""

    context: str
    namespace: str
    read_only: bool


@dataclass(frozen=True, slots=True)
class Seen:
    """One look at the cluster: what was observed, and what the domain makes of it."""

    snapshot: Snapshot
    catalog: Catalog


@dataclass(frozen=True, slots=True)
class Looks:
    """The objects whose events are shown, and those whose Pods and the like are."""

    events: tuple[ObjectRef, ...] = ()
    owned: tuple[ObjectRef, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.events or self.owned)


class ClusterLink:
    """Owns the session and its thread; `close` returns at once, the thread ends by itself."""

    def __init__(
        self,
        connect: Callable[[], Session],
        read: Callable[[Snapshot], Catalog],
        mailbox: Mailbox | Pigeonhole,
        *,
        pause: float = 0.1,  # between two looks while lists are coming
    ) -> None:
        self._connect = connect
        self._read = read
        self._mailbox = mailbox
        self._pause = pause
        self._changed = threading.Event()
        self._closed = threading.Event()
        self._session: Session | None = None
        self._looked_at = Looks()
        self._thread = threading.Thread(target=self._run, name="cluster-link", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def retry(self) -> None:
        """Asks the server again now instead of after the back-off."""
        if self._session is not None:
            threading.Thread(target=self._session.retry, name="cluster-retry", daemon=True).start()

    def follow(self, looks: Looks) -> None:
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
            self._mailbox.put(CLUSTER, Place(session.name, session.namespace, session.read_only))
            self._session.start(self._changed.set)
            self._follow(self._session)
        except KymatuiError as error:
            self._mailbox.put(FAILURE, error)
        except Exception as error:  # noqa: BLE001 (a thread that dies in silence would leave the screen waiting for ever)
            self._mailbox.put(FAILURE, _defect(error))
        finally:
            if self._session is not None:
                self._session.close()

    def _follow(self, session: Session) -> None:
        """A burst of changes is read once: whoever sets the event within the pause is served by the next look."""
        followed = Looks()
        while not self._closed.is_set():
            self._changed.clear()
            if followed != self._looked_at:
                followed = self._looked_at
                session.follow_events(followed.events)
                session.follow_owned(followed.owned)
            began = time.monotonic()
            pause = self._pause if self._look(session) else STEADY_SECONDS
            self._changed.wait()
            if self._closed.is_set():
                return
            time.sleep(max(_BURST_SECONDS, began + pause - time.monotonic()))

    def _look(self, session: Session) -> bool:
        """Whether lists are still coming, so that the next look is worth more.

        A defect that one object brings to light must not end the session: the next look may be a good one.
        """
        snapshot = session.snapshot()
        try:
            self._mailbox.put(CATALOG, Seen(snapshot, self._read(snapshot)))
        except Exception as error:  # noqa: BLE001
            self._mailbox.put(CATALOG, _defect(error))  # in the same place, so that a later look replaces it
        return any(feed.state is FeedState.SYNCING for feed in snapshot.feeds.values())


def _defect(error: Exception) -> KymatuiError:
    text = f"{type(error).__name__}: {error}"
    return KymatuiError(text, hint="this is a defect of kymatui; please report it")
