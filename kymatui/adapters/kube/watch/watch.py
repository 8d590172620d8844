"""Watches: one thread per kind that lists, then watches forever, and publishes the state of its feed.

Where the server supports it, list and watch are one request (`sendInitialEvents`); else pages and a watch from the
list's resource version. A watch that ends resumes where it stopped; 410 lists again; other errors back off from 0.5
to 30 seconds. A forbidden list is retried every few minutes, first in all namespaces, then in some. With `turns`, it
only lists: every watch needs its own connection, while lists of many kinds share a few.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from kymatui.adapters.http.size_limits import MOST_OBJECTS
from kymatui.adapters.kube.api.client import Client
from kymatui.adapters.kube.objects.api_resource import ApiResource
from kymatui.adapters.kube.objects.chunked_list import PAGE
from kymatui.adapters.kube.objects.decoder import Decoder, event_decoder
from kymatui.adapters.kube.objects.memory_budget import BudgetClaim
from kymatui.adapters.kube.transport import status_errors
from kymatui.adapters.kube.transport.heartbeat import HeartbeatTiming
from kymatui.adapters.kube.transport.streams import AnswerStream
from kymatui.adapters.kube.transport.transport import JSON, Request
from kymatui.adapters.kube.watch.watch_cache import Key, Object, Store, key_of
from kymatui.domain.kubernetes.jitter import JITTER_RANDOM
from kymatui.domain.snapshot.snapshots import Feed, FeedState
from kymatui.errors import (
    CancelledError,
    ExpiredError,
    ForbiddenError,
    InvalidError,
    KymatuiError,
    NotFoundError,
    OversizedAnswerError,
    ServerError,
    ThrottledError,
    UnreachableError,
)

PARTIAL_LIST = "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io,application/json"
PARTIAL = "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io,application/json"
_INITIAL_END = "k8s.io/initial-events-end"
_BRIEF = 5.0  # a shorter watch does not prove that the server serves it
_TURN = 1.0  # seconds a list waits for its turn: a slow answer must not hold up other kinds
_HEADERS = 30.0  # seconds for the server to send headers, and between two parts of a list


@dataclass(frozen=True, slots=True)
class WatchTiming:
    """The clocks of watches, replaceable in tests.

    `wait(event, seconds)` returns whether the event was set.
    """

    now: Callable[[], float] = time.time
    wait: Callable[[threading.Event, float], bool] = threading.Event.wait
    spread: Callable[[], float] = JITTER_RANDOM.random
    slow: float = 180.0  # between two attempts after a refusal
    poll: float = 30.0  # between two lists where watching is not allowed
    pulse: HeartbeatTiming = field(default_factory=HeartbeatTiming)

    def backoff(self, attempt: int) -> float:
        """Return 0.5, 1, 2 … 30 seconds, reduced by up to half so that clients do not return together."""
        longest: float = min(30.0, 0.5 * 2.0 ** min(attempt, 10))
        return longest * (0.5 + self.spread() / 2)


@dataclass(frozen=True, slots=True)
class WatchSubject:
    """The objects to watch: in all namespaces, or if forbidden, in the first allowed of `namespaces`.

    With `only`, just that namespace; `labels` and `fields` are selectors.
    """

    resource: ApiResource
    namespaces: tuple[str, ...] = ()
    decode: Any = field(default=None, compare=False)
    metadata_only: bool = False
    only: str = ""
    labels: str = ""
    fields: str = ""

    @property
    def scopes(self) -> Sequence[str]:
        if self.only:
            return (self.only,)
        return ("", *self.namespaces) if self.resource.namespaced else ("",)


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
        turns: threading.Semaphore | None = None,
    ) -> None:
        self.subject = subject
        self.store = store
        self._client = client
        self._timing = timing or WatchTiming()
        self._missing = missing
        self._turns = turns
        self._decoder = Decoder(subject.decode)
        self._stopped = threading.Event()
        self._woken = threading.Event()
        self._lock = threading.Lock()
        self._stream: AnswerStream | None = None
        self._scope = 0
        self._version = ""
        self._attempt = 0
        self._synced = False
        self._heard = 0.0
        self._pages = False
        self._expiries = 0
        self._expired_at = float("-inf")
        self._thread = threading.Thread(target=self._run, name=f"watch-{subject.resource.name}", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def retry(self) -> None:
        """Request now instead of after the current wait."""
        self._woken.set()

    def stop(self) -> None:
        """End the thread; returns at once."""
        self._stopped.set()
        self._woken.set()
        with self._lock:
            stream = self._stream
        if stream is not None:
            stream.close()

    def join(self, timeout: float) -> None:
        if self._thread.is_alive():
            self._thread.join(timeout)

    # the thread

    def _run(self) -> None:
        while not self._stopped.is_set():
            try:
                wait = self._turn()
            except CancelledError:
                return
            except ExpiredError:
                self._version, wait = "", self._after_expiry()
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
        if self._turns is not None:
            return self._list_once(self._turns)
        if not self.subject.resource.can("watch") and self.subject.resource.verbs:
            return self._poll()
        began = self._timing.now()
        try:
            if self._version:
                self._follow(initial=False)
            elif self._client.streams_lists and not self._pages:
                self._stream_list()
            else:
                self._list()
                self._follow(initial=False)
        except ForbiddenError:
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

    @property
    def _namespace(self) -> str:
        return self.subject.scopes[self._scope]

    def _list(self) -> None:
        found: dict[Key, Object] = {}
        claim = BudgetClaim(self._client.ledger)
        version = ""
        accept = PARTIAL_LIST if self.subject.metadata_only else JSON
        pages = self._client.pages(
            self.subject.resource,
            self._namespace,
            labels=self.subject.labels,
            fields=self.subject.fields,
            decode=self.subject.decode,
            accept=accept,
            strict=False,  # the catalog shows malformed objects as problems, beside the good ones
            # An abandonable request needs its own thread; this thread may itself be abandoned.
            cancel=self._stopped if self._turns is None else None,
        )
        for page in pages:
            if self._stopped.is_set():
                raise CancelledError("stopped between two pages")
            part = {key_of(item): self._kept(item) for item in page.items}
            claim.add(sum(map(self.store.weigh, part.values())))
            found.update(part)
            self.store.arrive(part)
            version = page.resource_version
        self._version = version
        claim.release()
        self._take(found)

    def _list_once(self, turns: threading.Semaphore) -> float:
        mine = turns.acquire(timeout=_TURN)
        try:
            self._list()
        finally:
            if mine:
                turns.release()
        self._attempt = 0
        return threading.TIMEOUT_MAX

    def _poll(self) -> float:
        self._list()
        return self._polled()

    def _polled(self) -> float:
        self._version, self._attempt = "", 0
        message = f"may not be watched; listed again every {self._timing.poll:.0f} s"
        self.store.publish(Feed(FeedState.LIVE, self._timing.now(), self._where(message)))
        return self._timing.poll

    def _may_list(self) -> bool:
        """List after a forbidden watch, since the `list` permission may exist without `watch`."""
        try:
            self._list()
        except ForbiddenError:
            return False
        return True

    # one list and watch

    def _stream_list(self) -> None:
        """List and follow in one request, or in two if the server or its storage cannot stream lists."""
        try:
            self._follow(initial=True)
        except (InvalidError, ServerError):
            if self._version:  # the list was complete: something else failed
                raise
            # The server is too old, its feature gate is off, or its etcd cannot report progress; other kinds need not
            # try.
            self._client.streams_lists = False
            self._list()
            self._follow(initial=False)

    def _follow(self, *, initial: bool) -> None:
        seconds = int(240 + self._timing.spread() * 60)
        stream = self._client.transport.stream(self._request(seconds, initial=initial), self._stopped)
        with self._lock:
            self._stream = stream
        try:
            if self._stopped.is_set():
                return
            if not initial:
                self._live()
                stream.patience(seconds + 15.0)
            self._read(stream, seconds, initial=initial)
        finally:
            with self._lock:
                self._stream = None
            stream.close()

    def _request(self, seconds: int, *, initial: bool) -> Request:
        query = [("watch", "true"), ("allowWatchBookmarks", "true"), ("timeoutSeconds", str(seconds))]
        if initial:
            query += [("sendInitialEvents", "true"), ("resourceVersionMatch", "NotOlderThan")]
        else:
            query.append(("resourceVersion", self._version))
        selectors = (("labelSelector", self.subject.labels), ("fieldSelector", self.subject.fields))
        query += [(name, text) for name, text in selectors if text]
        accept = PARTIAL if self.subject.metadata_only else JSON
        path = self.subject.resource.path(self._namespace)
        return Request("GET", path, query, accept=accept, timeout=(5.0, _HEADERS), lasts=seconds + 60.0)

    def _read(self, stream: AnswerStream, seconds: int, *, initial: bool) -> None:
        """Read events; those of the initial list are collected until the list is complete."""
        events = event_decoder()
        claim = BudgetClaim(self._client.ledger)
        incoming: dict[Key, Object] | None = {} if initial else None
        part: dict[Key, Object] = {}
        try:
            for line in stream.lines():
                if self._stopped.is_set():
                    return
                if not line.strip():
                    continue
                self._heard = self._timing.now()
                event = _decoded(events, line)
                if event.type == "ERROR":
                    raise self._told(bytes(event.object))
                item = self._decoder.object(event.object)
                if event.type == "BOOKMARK":
                    self._version = _version(item)
                    if incoming is not None and _ends_list(item):
                        claim.release()
                        self._take(incoming)
                        incoming = None
                        stream.patience(seconds + 15.0)
                elif incoming is not None:
                    incoming[key_of(item)] = part[key_of(item)] = kept = self._kept(item)
                    claim.add(self.store.weigh(kept))
                    self._require_bounded(incoming)
                    part = self._passed_on(part)
                else:
                    self._version = _version(item) or self._version
                    self._apply(event.type, item)
        except UnreachableError:
            if incoming is not None:
                self._pages = True  # a proxy does not mark the end of a streamed list
            raise
        if incoming is not None and not self._stopped.is_set():
            self._version, self._pages = "", True
            raise UnreachableError(f"the list of {self.subject.resource.name} ended before it was complete")

    def _require_bounded(self, incoming: dict[Key, Object]) -> None:
        if len(incoming) > MOST_OBJECTS:
            name = self.subject.resource.name
            raise OversizedAnswerError(f"the list of {name} has more than {MOST_OBJECTS:,} objects")

    def _passed_on(self, part: dict[Key, Object]) -> dict[Key, Object]:
        """Pass a full page of a streamed list to the store and return what remains for the next page."""
        if len(part) < PAGE:
            return part
        self.store.arrive(part)
        return {}

    def _apply(self, kind: str, item: Object) -> None:
        if kind == "DELETED":
            self.store.drop(key_of(item))
        elif kind in ("ADDED", "MODIFIED"):
            self.store.put(key_of(item), self._kept(item))

    def _kept(self, item: Object) -> Any:
        """Restore the kind of an object read as metadata, since the server labels it PartialObjectMetadata."""
        if self.subject.metadata_only:
            kind = self.subject.resource.gvk
            item = {**item, "apiVersion": kind.api_version, "kind": kind.kind}
        return self.store.keep(item)

    def _told(self, body: bytes) -> KymatuiError:
        document = status_errors.status_object(body) or {}
        code = document.get("code")
        path = self.subject.resource.path(self._namespace)
        asked = status_errors.SentRequest("WATCH", path, self._client.transport.connection.endpoint.server)
        return status_errors.error_of_status(asked, code if isinstance(code, int) else 500, document)

    # feed states

    def _take(self, found: dict[Key, Object]) -> None:
        self.store.replace(found)
        self._live()

    def _live(self) -> None:
        self._synced = True
        self._heard = self._timing.now()
        if self.store.feed.state is not FeedState.LIVE:
            self.store.publish(Feed(FeedState.LIVE, self._heard, self._where("")))

    def _where(self, message: str) -> str:
        place = f"only the namespace {self._namespace} may be read" if self._namespace and not self.subject.only else ""
        return "; ".join(text for text in (place, message) if text)

    def _forbidden(self, error: ForbiddenError) -> float:
        if self._scope + 1 < len(self.subject.scopes):
            self._scope += 1
            self._version = ""
            return 0.0
        self._scope, self._version, self._synced = 0, "", False
        self.store.replace({})
        self.store.publish(Feed(FeedState.FORBIDDEN, self._timing.now(), str(error)))
        return self._timing.slow * (0.75 + self._timing.spread() / 2)

    def _absent(self, error: NotFoundError) -> float:
        self._version, self._synced = "", False
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
        if self._synced:
            self.store.publish(Feed(FeedState.STALE, self._heard, str(error)))
        else:
            self.store.publish(Feed(FeedState.FAILED, self.store.feed.since, str(error)))
        wait = self._timing.backoff(self._attempt - 1)
        return max(wait, error.retry_after) if isinstance(error, ThrottledError) else wait


def _decoded(events: Any, line: bytes) -> Any:
    import msgspec

    try:
        return events.decode(line)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise ServerError(f"the watch sent an invalid event: {error}") from error


def _version(item: Object) -> str:
    metadata = item.get("metadata")
    return str(metadata.get("resourceVersion") or "") if isinstance(metadata, dict) else ""


def _ends_list(item: Object) -> bool:
    metadata = item.get("metadata")
    annotations = metadata.get("annotations") if isinstance(metadata, dict) else None
    return isinstance(annotations, dict) and annotations.get(_INITIAL_END) == "true"
