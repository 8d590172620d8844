"""One list or one stream of events of a kind, read into a store.

Where the server supports it, list and watch are one request (`sendInitialEvents`); else pages and a watch from the
list's resource version.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from typing import Any, Final

import msgspec
from msgspec import Struct, field

from kymatui.adapters.http.response_body import MOST_OBJECTS
from kymatui.adapters.kube.api.client import Client
from kymatui.adapters.kube.objects.api_resource import ApiResource
from kymatui.adapters.kube.objects.decoder import PAGE, BudgetClaim, Decoder, event_decoder
from kymatui.adapters.kube.transport import status_errors
from kymatui.adapters.kube.transport.heartbeat import HeartbeatTiming
from kymatui.adapters.kube.transport.streams import AnswerStream
from kymatui.adapters.kube.transport.transport import JSON, Request
from kymatui.adapters.kube.watch.watch_cache import Key, Object, Store, key_of
from kymatui.domain.kubernetes.backoff import JITTER_RANDOM, Backoff
from kymatui.domain.kubernetes.json_reader import mapping_at
from kymatui.domain.kubernetes.object_meta import resource_version_of
from kymatui.errors import (
    CancelledError,
    InvalidError,
    KymatuiError,
    OversizedAnswerError,
    ServerError,
    UnreachableError,
)
from kymatui.structs import compare_by

PARTIAL_LIST = "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io,application/json"
PARTIAL = "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io,application/json"
_INITIAL_END = "k8s.io/initial-events-end"
LIST_SILENCE: Final = 30.0
"""Seconds for the server to send headers, and between two parts of a list; a list fails after it."""


class WatchReader:
    """Reads lists and events of a kind into a store, and remembers up to which version.

    `version` is the resource version up to which the store is complete, "" before the first list; `heard` is when the
    server last sent something, in seconds of the Unix clock; `namespace` is the namespace to read, "" for all.
    `on_live` is called when the store is complete. `stopped` ends every read; with `abandonable`, pages are requested
    in threads of their own, which end at once.
    """

    def __init__(
        self,
        client: Client,
        subject: WatchSubject,
        store: Store,
        timing: WatchTiming,
        stopped: threading.Event,
        on_live: Callable[[], None],
        *,
        abandonable: bool,
    ) -> None:
        self.subject = subject
        self.store = store
        self.version = ""
        self.heard = 0.0
        self.namespace = ""
        self._client = client
        self._timing = timing
        self._stopped = stopped
        self._on_live = on_live
        self._abandonable = abandonable
        self._decoder = Decoder(subject.decode)
        self._lock = threading.Lock()
        self._stream: AnswerStream | None = None
        self._pages = False

    def close(self) -> None:
        """Close the stream that is being read."""
        with self._lock:
            stream = self._stream
        if stream is not None:
            stream.close()

    def resume(self) -> None:
        """Follow from the known version; without one, list first. Return when the server ends the stream."""
        if self.version:
            self._follow(initial=False)
        elif self._client.streams_lists and not self._pages:
            self._stream_list()
        else:
            self.read_list()
            self._follow(initial=False)

    def read_list(self) -> None:
        """List page by page, and replace what the store has."""
        objects: dict[Key, Object] = {}
        claim = BudgetClaim(self._client.ledger)
        version = ""
        accept = PARTIAL_LIST if self.subject.metadata_only else JSON
        pages = self._client.pages(
            self.subject.resource,
            self.namespace,
            labels=self.subject.labels,
            fields=self.subject.fields,
            decode=self.subject.decode,
            accept=accept,
            strict=False,  # the catalog shows malformed objects as problems, beside the good ones
            # An abandonable request needs its own thread; this thread may itself be abandoned.
            cancel=self._stopped if self._abandonable else None,
        )
        for page in pages:
            if self._stopped.is_set():
                raise CancelledError("stopped between two pages")
            part = {key_of(item): self._kept(item) for item in page.items}
            claim.add(sum(map(self.store.weigh, part.values())))
            objects.update(part)
            self.store.arrive(part)
            version = page.resource_version
        self.version = version
        claim.release()
        self._take(objects)

    def _stream_list(self) -> None:
        """List and follow in one request, or in two if the server or its storage cannot stream lists."""
        try:
            self._follow(initial=True)
        except (InvalidError, ServerError):
            if self.version:  # the list was complete: something else failed
                raise
            # The server is too old, its feature gate is off, or its etcd cannot report progress; other kinds need not
            # try.
            self._client.streams_lists = False
            self.read_list()
            self._follow(initial=False)

    def _follow(self, *, initial: bool) -> None:
        seconds = int(self._timing.lasts * (1 + self._timing.spread() / 4))
        stream = self._client.transport.stream(self._request(seconds, initial=initial), self._stopped)
        with self._lock:
            self._stream = stream
        try:
            if self._stopped.is_set():
                return
            if not initial:
                self._announce()
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
            query.append(("resourceVersion", self.version))
        selectors = (("labelSelector", self.subject.labels), ("fieldSelector", self.subject.fields))
        query += [(name, text) for name, text in selectors if text]
        accept = PARTIAL if self.subject.metadata_only else JSON
        path = self.subject.resource.path(self.namespace)
        return Request("GET", path, query, accept=accept, timeout=(5.0, LIST_SILENCE), lasts=seconds + 60.0)

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
                self.heard = self._timing.now()
                event = _decoded(events, line)
                if event.type == "ERROR":
                    raise self._stream_error(bytes(event.object))
                item = self._decoder.object(event.object)
                if event.type == "BOOKMARK":
                    self.version = resource_version_of(item)
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
                    self.version = resource_version_of(item) or self.version
                    self._apply(event.type, item)
        except UnreachableError:
            if incoming is not None:
                self._pages = True  # a proxy does not mark the end of a streamed list
            raise
        if incoming is not None and not self._stopped.is_set():
            self.version, self._pages = "", True
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

    def _stream_error(self, body: bytes) -> KymatuiError:
        document = status_errors.status_object(body) or {}
        code = document.get("code")
        path = self.subject.resource.path(self.namespace)
        asked = status_errors.SentRequest("WATCH", path, self._client.transport.connection.endpoint.server)
        return status_errors.error_of_status(asked, code if isinstance(code, int) else 500, document)

    def _take(self, objects: dict[Key, Object]) -> None:
        self.store.replace(objects)
        self._announce()

    def _announce(self) -> None:
        self.heard = self._timing.now()
        self._on_live()


def _decoded(events: Any, line: bytes) -> Any:

    try:
        return events.decode(line)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise ServerError(f"the watch sent an invalid event: {error}") from error


def _ends_list(item: Object) -> bool:
    return mapping_at(item, "metadata", "annotations").get(_INITIAL_END) == "true"


# What a watch follows, and its clocks.


_BACKOFF: Final = Backoff(0.5, 30.0, 0.5, 1.0)


class WatchTiming(Struct, frozen=True):
    """The clocks of watches, replaceable in tests.

    `wait(event, seconds)` returns whether the event was set.
    """

    now: Callable[[], float] = time.time
    wait: Callable[[threading.Event, float], bool] = threading.Event.wait
    spread: Callable[[], float] = JITTER_RANDOM.random
    slow: float = 180.0  # between two attempts after a refusal
    lasts: float = 240.0  # of one watch request at the least, plus up to a quarter
    poll: float = 30.0  # between two lists where watching is not allowed
    grace: float = 8.0  # from the first request for a list on, in which a failure may pass; less than campaigns wait
    pulse: HeartbeatTiming = field(default_factory=HeartbeatTiming)

    def backoff(self, attempt: int) -> float:
        """Return the seconds until the next attempt after so many failed ones."""
        return _BACKOFF.delay(attempt, self.spread)


UNATTENDED: Final = WatchTiming(lasts=48.0)
"""For operators: a connection that died silently is noticed within 75 s."""


class WatchSubject(Struct, frozen=True):
    """The objects to watch: in all namespaces, or if forbidden, in the first allowed of `namespaces`.

    With `only`, just that namespace; `labels` and `fields` are selectors.
    """

    resource: ApiResource
    namespaces: tuple[str, ...] = ()
    decode: Any = None
    metadata_only: bool = False
    only: str = ""
    labels: str = ""
    fields: str = ""

    __eq__, __hash__ = compare_by("resource", "namespaces", "metadata_only", "only", "labels", "fields")

    @property
    def scopes(self) -> Sequence[str]:
        if self.only:
            return (self.only,)
        return ("", *self.namespaces) if self.resource.namespaced else ("",)
