"""Watches: one thread per kind that lists, then watches forever, and publishes the state of its feed.

A watch that ends resumes where it stopped; 410 lists again; other errors back off from 0.5 to 30 seconds. A forbidden
list is retried every few minutes, first in all namespaces, then in some. With `turns`, it only lists: every watch needs
its own connection, while lists of many kinds share a few.
"""

from __future__ import annotations

import threading
from collections.abc import Callable

from kymatui.adapters.kube.api.client import Client
from kymatui.adapters.kube.watch.watch_cache import Store
from kymatui.adapters.kube.watch.watch_reader import WatchReader, WatchSubject, WatchTiming
from kymatui.domain.snapshot.snapshots import Feed, FeedState
from kymatui.errors import (
    CancelledError,
    ExpiredError,
    ForbiddenError,
    KymatuiError,
    NotFoundError,
    ServerError,
    ThrottledError,
    UnreachableError,
    is_busy,
)

_BRIEF = 5.0  # a shorter watch does not prove that the server serves it
_TURN = 1.0  # seconds a list waits for its turn: a slow answer must not hold up other kinds


class Watch:
    """Keeps a store up to date in its own thread; calls `missing` if the kind is no longer served.

    With `turns`, it lists once, and again only on `retry`; the semaphore limits the parallel lists.
    """

    def __init__(
        self,
        client: Client,
        subject: WatchSubject,
        store: Store,
        *,
        timing: WatchTiming | None = None,
        missing: Callable[[], None] = lambda: None,
        semaphore: threading.Semaphore | None = None,
    ) -> None:
        self.subject = subject
        self.store = store
        self._timing = timing or WatchTiming()
        self._missing = missing
        self._turns = semaphore
        self._stopped = threading.Event()
        self._woken = threading.Event()
        self._attempt = 0
        self._synced = False
        self._requested_at: float | None = None
        self._expiries = 0
        self._expired_at = float("-inf")
        self._reader = WatchReader(
            client, subject, store, self._timing, self._stopped, self._live, abandonable=semaphore is None
        )
        self._read_scope(0)
        self._thread = threading.Thread(target=self._run, name=f"watch-{subject.resource.name}", daemon=True)

    def start(self) -> None:
        self._thread.start()

    @property
    def is_whole(self) -> bool:
        """Return whether the store has what was asked for, and not only what one namespace has of it."""
        return self.store.feed.state is FeedState.LIVE and self._scope == 0

    def retry(self) -> None:
        """Request now instead of after the current wait."""
        self._woken.set()

    def stop(self) -> None:
        """End the thread; returns at once."""
        self._stopped.set()
        self._woken.set()
        self._reader.close()

    def join(self, timeout: float) -> None:
        if self._thread.is_alive():
            self._thread.join(timeout)

    # the thread

    def _run(self) -> None:
        while not self._stopped.is_set():
            try:
                wait = self._turn()
            except CancelledError:  # the watch was closed
                return
            except ExpiredError:  # etcd has compacted the version, so only a new list helps
                self._reader.version, wait = "", self._after_expiry()
            except ForbiddenError as error:
                wait = self._forbidden(error)
            except NotFoundError as error:
                wait = self._absent(error)
            except KymatuiError as error:
                wait = self._failed(error)
            except Exception as error:  # noqa: BLE001 (a thread that died would leave a feed that says it lives)
                wait = self._failed(ServerError(f"{type(error).__name__}: {error}"))
            if wait > 0 and not self._stopped.is_set():
                self._timing.wait(self._woken, wait)
                self._woken.clear()

    def _turn(self) -> float:
        """List if necessary and follow until the watch ends; return the seconds to wait."""
        if self._requested_at is None:
            self._requested_at = self._timing.now()
        if self._turns is not None:
            return self._list_once(self._turns)
        if not self.subject.resource.can("watch") and self.subject.resource.verbs:
            return self._poll()
        began = self._timing.now()
        try:
            self._reader.resume()
        except ForbiddenError:  # some users may list objects, and not watch them
            if not self._may_list():
                raise
            return self._polled()
        finally:
            if self._timing.now() - began >= _BRIEF:
                self._attempt = 0
        # A watch that lasted minutes did its work; one that ends at once must not be repeated in a loop.
        if self._timing.now() - began >= _BRIEF:
            return 0.0
        self._attempt += 1
        return self._timing.backoff(self._attempt)

    def _list_once(self, semaphore: threading.Semaphore) -> float:
        mine = semaphore.acquire(timeout=_TURN)
        try:
            self._reader.read_list()
        finally:
            if mine:
                semaphore.release()
        self._attempt = 0
        return threading.TIMEOUT_MAX

    def _poll(self) -> float:
        self._reader.read_list()
        return self._polled()

    def _polled(self) -> float:
        self._reader.version, self._attempt = "", 0
        message = f"you may not watch it; kymatui lists it every {self._timing.poll:.0f} s"
        self.store.publish(Feed(FeedState.LIVE, self._timing.now(), self._where(message)))
        return self._timing.poll

    def _may_list(self) -> bool:
        """List after a forbidden watch, since the `list` permission may exist without `watch`."""
        try:
            self._reader.read_list()
        except ForbiddenError:
            return False
        return True

    # feed states

    def _live(self) -> None:
        self._synced = True
        if self.store.feed.state is not FeedState.LIVE:
            self.store.publish(Feed(FeedState.LIVE, self._reader.heard, self._where("")))

    def _where(self, message: str) -> str:
        namespace = self._reader.namespace
        scope = f"only the namespace {namespace} may be read" if namespace and not self.subject.only else ""
        return "; ".join(text for text in (scope, message) if text)

    def _forbidden(self, error: ForbiddenError) -> float:
        if self._scope + 1 < len(self.subject.scopes):
            self._read_scope(self._scope + 1)
            return 0.0
        self._read_scope(0)
        self._synced, self._requested_at = False, None
        self.store.replace({})
        self.store.publish(Feed(FeedState.FORBIDDEN, self._timing.now(), str(error)))
        return self._timing.slow * (0.75 + self._timing.spread() / 2)

    def _read_scope(self, number: int) -> None:
        self._scope, self._reader.version = number, ""
        self._reader.namespace = self.subject.scopes[number]

    def _absent(self, error: NotFoundError) -> float:
        self._reader.version, self._synced, self._requested_at = "", False, None
        self.store.replace({})
        self.store.publish(Feed(FeedState.ABSENT, self._timing.now(), str(error)))
        self._missing()
        return self._timing.slow * (0.75 + self._timing.spread() / 2)

    def _after_expiry(self) -> float:
        """Return the wait before the next list: 0 at first, longer for a server that always answers 410."""
        now = self._timing.now()
        self._expiries = self._expiries + 1 if now - self._expired_at < 60.0 else 0
        self._expired_at = now
        return self._timing.backoff(self._expiries - 1) if self._expiries else 0.0

    def _failed(self, error: KymatuiError) -> float:
        """Reconnect silently after one broken connection; publish repeated failures as stale or failed."""
        self._attempt += 1
        if self._synced and self._attempt == 1 and isinstance(error, UnreachableError):
            return self._timing.spread() * 0.2
        wait = self._timing.backoff(self._attempt - 1)
        if isinstance(error, ThrottledError):
            # One answer of a gateway must not silence a watch for the hours that it names.
            wait = max(wait, min(error.retry_after, self._timing.slow))
        if self._synced:
            self.store.publish(Feed.of_error(FeedState.STALE, self._reader.heard, error))
        else:
            until = self._retried_until(error, wait)
            self.store.publish(Feed.of_error(FeedState.FAILED, self.store.feed.since, error, until))
        return wait

    def _retried_until(self, error: KymatuiError, wait: float) -> float:
        """Return until when the failed list may still come, 0 if the next request is too late or cannot help."""
        assert self._requested_at is not None
        until = self._requested_at + self._timing.grace
        may_pass = isinstance(error, UnreachableError) or is_busy(error)
        return until if may_pass and self._timing.now() + wait < until else 0.0
