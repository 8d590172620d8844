"""The transport: the only place that sends requests to an API server, behind the read-only gate.

With `read_only`, only reads and reviews of the user's own permissions are sent (see `read_only_gate`). Everything
else, dry runs included, raises ReadOnlyError before a socket is opened. `counts` counts the sent requests by verb;
audits show it as proof.
"""

from __future__ import annotations

import math
import re
import threading
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from email.utils import parsedate_to_datetime
from functools import lru_cache, partial
from typing import TYPE_CHECKING, TypeVar
from urllib.parse import unquote, urlencode

from msgspec import Struct, field

from kymatui import __version__
from kymatui.adapters.http.deadlines import Deadline, answered_within, run_abandonable
from kymatui.adapters.http.response_body import (
    ANSWER_SECONDS,
    FIRST_AGAIN_SECONDS,
    FIRST_ANSWER_SECONDS,
    LARGEST_ANSWER,
    LARGEST_ERROR,
    MIB,
    OWN_SLOTS,
    RUNTIME_SLOTS,
    TURN_SECONDS,
    BodyError,
    DecodeSlot,
    OversizedError,
    format_size,
    iter_chunks,
    needs_slot,
    require_light,
)
from kymatui.adapters.kube.auth.connection import Connection
from kymatui.adapters.kube.auth.connection_pool import ConnectionPool, open_pool
from kymatui.adapters.kube.auth.credentials import Credential, token_expiry
from kymatui.adapters.kube.auth.endpoint import ClientCertificate
from kymatui.adapters.kube.transport import status_errors
from kymatui.adapters.kube.transport.request_guard import RequestGuard, send_guarded
from kymatui.adapters.kube.transport.streams import AnswerStream, ApiReply
from kymatui.domain.kubernetes.backoff import JITTER_RANDOM
from kymatui.engine.cluster.request_scope import current_scope
from kymatui.errors import CancelledError, ClusterError, ReadOnlyError, UnauthorizedError, UnreachableError
from kymatui.patterns import deferred

if TYPE_CHECKING:
    from urllib3 import BaseHTTPResponse


T = TypeVar("T")
JSON = "application/json"
_RESETS = 2  # retries of a read whose connection broke
_THROTTLES = 4  # retries of a request that the server put off with a 429
_LONGEST_WAIT = 10.0  # seconds; with a longer Retry-After, the error is reported at once instead
_AGENT = f"kymatui/{__version__}"
_OWN_HEADERS = frozenset({"accept", "user-agent", "accept-encoding", "content-type"})


class Request(Struct, frozen=True):
    """One request; `timeout` is (connect, silence) in seconds, `lasts` the limit of the whole answer.

    `path` is percent-encoded already.
    """

    method: str
    path: str
    query: Sequence[tuple[str, str]] = ()
    body: bytes | None = None
    accept: str = JSON
    content_type: str = JSON
    timeout: tuple[float, float] = (5.0, 15.0)
    lasts: float = ANSWER_SECONDS

    @property
    def target(self) -> str:
        return self.path + ("?" + _encoded(tuple(self.query)) if self.query else "")


@lru_cache(maxsize=256)  # repeated requests differ only in the path
def _encoded(query: tuple[tuple[str, str], ...]) -> str:
    return urlencode(query)


class Answer(Struct, frozen=True):
    """A complete answer with a status below 300; `request` and `server` name its origin for messages."""

    status: int
    body: bytes
    headers: Mapping[str, str] = field(default_factory=dict)
    request: str = ""
    server: str = ""


class Transport:
    """Sends requests to one cluster; threads may share it."""

    def __init__(
        self,
        connection: Connection,
        *,
        read_only: bool = False,
        sleep: Callable[[float], None] = time.sleep,
        guard: RequestGuard | None = None,
    ) -> None:
        self.connection = connection
        self.guard = guard
        self.read_only = read_only
        self.counts: Counter[str] = Counter()
        self.writes = 0  # requests that could have changed something
        self.heard = 0.0
        """When the server last answered or sent something, by the monotonic clock; 0 before it did."""
        self.used = 0.0
        """When a request was last sent, by the monotonic clock."""
        self._dated = ("", 0.0)  # the Date of the last answer, and when it came, by the monotonic clock
        self._asked_first = 0.0
        self._longest = connection.request_timeout or math.inf  # of everything but streams, which wait for changes
        self._sleep = sleep
        self._lock = threading.Lock()
        self._heavy = threading.BoundedSemaphore(1)
        self._pool: ConnectionPool | None = None
        self._pool_certificate: ClientCertificate | None = None

    @property
    def traffic(self) -> tuple[int, int]:
        """Return the number of read requests sent, and of requests that can write."""
        return self.counts.total() - self.writes, self.writes

    def send(self, request: Request, cancel: threading.Event | None = None) -> Answer:
        """Send a request and return the whole answer. Raise CancelledError once `cancel` is set.

        Repeats a read whose connection broke, and any request answered with 429 and a wait of at most ten seconds.
        """
        return self.read(request, lambda answer: answer, cancel)

    def read(self, request: Request, decode: Callable[[Answer], T], cancel: threading.Event | None = None) -> T:
        """Send a request and return the result of `decode`; errors as in `send`.

        Large answers are decoded one at a time, to limit memory.
        """
        self.permit(request)
        with self._turn() as slot:
            reply, asked = self._patiently(request, cancel, slot, stream=False)
            kind = reply.response.headers.get("Content-Type", "")
            if "html" in kind and "html" not in request.accept:
                raise status_errors.not_kubernetes(asked, reply.response.status, reply.response.headers)
            return decode(Answer(reply.response.status, reply.body, reply.response.headers, str(asked), asked.server))

    def stream(self, request: Request, cancel: threading.Event | None = None) -> AnswerStream:
        """Send a request and return the answer as a stream; errors as in `send`."""
        self.permit(request)
        slot = self._turn()
        reply, asked = self._patiently(request, cancel, slot, stream=True)
        reply.deadline.extend(request.lasts)
        return AnswerStream(reply, asked, f"{request.timeout[1]:.0f} s", slot, self._hear)

    def permit(self, request: Request) -> None:
        """Raise ReadOnlyError if the transport is read-only and the request could change something."""
        if not self.read_only:
            return
        if not is_read_only_request(request.method, request.path):
            raise ReadOnlyError(
                f"{request.method} {request.path} would write, but access is read-only; nothing was sent",
                hint="start without --read-only and KYMATUI_READ_ONLY to write",
            )

    def server_time(self) -> float:
        """Return the time by the server's clock, in seconds of the Unix clock; by the own one before an answer."""
        text, came = self._dated
        try:
            return parsedate_to_datetime(text).timestamp() + time.monotonic() - came
        except (ValueError, TypeError, OverflowError):  # no date, or none that is one
            return time.time()

    def close(self) -> None:
        """Close idle connections. The openers of streams close those."""
        with self._lock:
            if self._pool is not None:
                self._pool.close()
            self._pool = None

    def close_idle(self, seconds: float) -> None:
        """Close idle connections if no request was sent for so long."""
        if self._pool is not None and time.monotonic() - self.used >= seconds:
            self.close()

    # between the gate and the socket

    def _turn(self) -> DecodeSlot:
        return DecodeSlot(self._heavy, RUNTIME_SLOTS if self.connection.from_secret else OWN_SLOTS)

    def _patiently(
        self, request: Request, cancel: threading.Event | None, slot: DecodeSlot, *, stream: bool
    ) -> tuple[ApiReply, status_errors.SentRequest]:
        resets = throttles = 0
        renewed = False
        credential = self.connection.credentials.present()
        while True:
            _stop_if(cancel)
            asked = self._sent_request(request, credential)
            try:
                send = partial(self._once, request, credential, asked, cancel, slot, stream=stream)
                reply = send_guarded(self.guard, asked, cancel, send) if self.guard is not None else send()
                response = reply.response
                if response.status < 300:
                    return reply, asked
                failure = status_errors.error_of_response(asked, response.status, response.headers, reply.body)
            except UnreachableError as error:
                resets += 1
                again = (
                    _broke_off(error) and request.method in ("GET", "HEAD") and not stream
                )  # watches reconnect by themselves
                if not again or resets > _RESETS:
                    raise
                self._pause(0.1 * resets, cancel)
                continue
            if isinstance(failure, UnauthorizedError) and not renewed:
                fresh = self.connection.credentials.renewed(credential)
                if fresh is not None:
                    credential, renewed = fresh, True
                    continue
            wait = _put_off(failure, request)
            throttles += 1
            if wait is None or throttles > _THROTTLES:
                try:
                    raise failure
                finally:
                    # Without this, frame, error and traceback reference each other and keep the caller's objects
                    # alive.
                    del failure
            self._pause(wait, cancel)

    def _once(
        self,
        request: Request,
        credential: Credential,
        asked: status_errors.SentRequest,
        cancel: threading.Event | None,
        slot: DecodeSlot,
        *,
        stream: bool,
    ) -> ApiReply:
        import urllib3

        pool = self._pool_for(credential.certificate)
        self.counts[request.method] += 1
        writes = not is_read_only_request(request.method, request.path)
        self.writes += writes
        self.used = began = time.monotonic()
        # A Lease has its own lock, and is released after the term has ended.
        term = current_scope().term if writes and "/leases" not in request.path else None

        def exchange() -> ApiReply:
            with term.writing() if term is not None else nullcontext(math.inf) as remaining:
                return ask(math.inf if stream else min(self._longest, remaining))

        def ask(longest: float) -> ApiReply:
            timeout = self._timeout(request, began, longest)
            with answered_within(ANSWER_SECONDS if stream else min(request.lasts, longest)) as deadline:
                response = pool.request(
                    request.method,
                    request.target,
                    request.body,
                    self._headers(request, credential, stream=stream),
                    timeout,
                )
                if stream and response.status < 300:
                    return ApiReply(response, deadline)
                return ApiReply(response, deadline, _body(response, deadline, slot))

        try:
            # an abandoned stream would keep its connection until the server ends it
            reply = run_abandonable(exchange, cancel, _close_stream) if cancel is not None else exchange()
        except BodyError as error:
            raise status_errors.unreadable(asked, error) from error
        except (urllib3.exceptions.HTTPError, OSError) as error:
            # Connecting and answering have separate limits; report the real duration.
            raise status_errors.unreachable(asked, error, _seconds(time.monotonic() - began), pool.proxy) from error
        except ValueError:  # its text may quote a header, such as one with a token
            raise status_errors.malformed(asked) from None
        if reply.response.status < 500:  # a 5xx may come from a proxy in front of a silent server
            self._hear()
            self._dated = reply.response.headers.get("Date", ""), self.heard
        return reply

    def _timeout(self, request: Request, now: float, longest: float) -> tuple[float, float]:
        """Return the timeout of a request, which is shorter until the server has answered once."""
        connect, silence = (min(limit, longest) for limit in request.timeout)
        if self.heard:
            return connect, silence
        self._asked_first = self._asked_first or now
        remaining = FIRST_ANSWER_SECONDS - (now - self._asked_first)
        return connect, min(silence, max(remaining, FIRST_AGAIN_SECONDS))

    def _hear(self) -> None:
        self.heard = time.monotonic()

    def _headers(self, request: Request, credential: Credential, *, stream: bool) -> Mapping[str, str]:
        import urllib3

        endpoint = self.connection.endpoint
        headers = {"Accept": request.accept, "User-Agent": _AGENT}
        if endpoint.compress and not endpoint.is_local and not stream:
            headers["Accept-Encoding"] = "gzip"
        if request.body is not None:
            headers["Content-Type"] = request.content_type
        names = {name.lower() for name, _ in credential.headers}
        if len(names) == len(credential.headers) and names.isdisjoint(_OWN_HEADERS):
            return {**headers, **dict(credential.headers)}
        several = urllib3.HTTPHeaderDict(headers)  # such as impersonated groups
        for name, value in credential.headers:
            several.add(name, value)
        return several

    def _pool_for(self, certificate: ClientCertificate | None) -> ConnectionPool:
        with self._lock:
            if self._pool is None or certificate != self._pool_certificate:
                self._pool = open_pool(self.connection.endpoint, certificate)
                self._pool_certificate = certificate
            return self._pool

    def _sent_request(self, request: Request, credential: Credential) -> status_errors.SentRequest:
        connection = self.connection
        return status_errors.SentRequest(
            request.method,
            request.path,
            connection.endpoint.server,
            connection.context,
            connection.user,
            connection.credentials.kind,
            token_expiry(credential),
            from_secret=connection.from_secret,
        )

    def _pause(self, seconds: float, cancel: threading.Event | None) -> None:
        seconds *= 1 + JITTER_RANDOM.random() / 4
        if cancel is None:
            self._sleep(seconds)
        elif cancel.wait(seconds):
            raise CancelledError("stopped")


def _body(response: BaseHTTPResponse, deadline: Deadline, slot: DecodeSlot) -> bytes:
    """Return the body within the limits; close the connection if it was not read to its end."""
    largest = LARGEST_ERROR if response.status >= 300 else LARGEST_ANSWER
    content = bytearray()
    try:
        for piece in iter_chunks(response, deadline):
            content += piece
            if len(content) > largest:
                raise OversizedError(f"is larger than {format_size(largest)}")
            if len(content) > MIB:
                _take(slot, deadline)
        if needs_slot(content):
            require_light(content)
            slot.take_to_decode(ANSWER_SECONDS)
    except BaseException:
        response.close()
        raise
    response.release_conn()
    return bytes(content)


def _take(slot: DecodeSlot, deadline: Deadline) -> None:
    """Take the place to receive. Other servers may wait for it, so this one gets less time from now on."""
    if not slot.is_mine:
        slot.take(ANSWER_SECONDS)
        deadline.extend(TURN_SECONDS)


def _seconds(duration: float) -> str:
    return f"{duration:.0f} s" if duration >= 1 else f"{duration:.1f} s"


def _close_stream(reply: ApiReply) -> None:
    if not reply.body:
        reply.response.close()


def _stop_if(cancel: threading.Event | None) -> None:
    if cancel is not None and cancel.is_set():
        raise CancelledError("stopped before the request was sent")


def _broke_off(error: UnreachableError) -> bool:
    """Return whether an established connection broke, such as on a restart of the server."""
    import urllib3.exceptions as http

    return isinstance(error.__cause__, http.ProtocolError)


def _put_off(failure: ClusterError, request: Request) -> float | None:
    """Return the seconds to wait before a retry, None if a retry makes no sense.

    429 means that the server did nothing, for every verb. But 429 to an eviction comes from a disruption budget
    and is a final answer.
    """
    after = status_errors.retry_after({}, failure.body) or float(getattr(failure, "retry_after", 0.0))
    if failure.status == 429 and not request.path.endswith("/eviction"):
        return after if 0 < after <= _LONGEST_WAIT else None
    return None


_READS = ("GET", "HEAD")
_DATA = frozenset({"status", "scale", "log", "ephemeralcontainers", "resize", "approval"})
_REVIEW = deferred(
    r"/apis/authorization\.k8s\.io/v1(?:beta1)?/selfsubject(?:access|rules)reviews"
    r"|/apis/authentication\.k8s\.io/v1(?:alpha1|beta1)?/selfsubjectreviews"
)
# Paths that a server or a proxy could normalise to another path than the one that was checked.
_AMBIGUOUS = deferred(r"//|/\.{1,2}(?:/|$)|[?#\\%\x00-\x20\x7f]")
_ENCODED_SLASH = deferred(r"%2f", re.IGNORECASE)


def is_read_only_request(method: str, path: str) -> bool:
    """Return whether a request with this method and (percent-encoded) path cannot change anything."""
    if method == "POST":
        return _REVIEW.fullmatch(path) is not None
    return method in _READS and _is_read(path)


def _is_read(path: str) -> bool:
    plain = unquote(path)
    if not path.startswith("/") or _AMBIGUOUS.search(plain) or _ENCODED_SLASH.search(path):
        return False
    part = _part(plain.strip("/").split("/"))
    return part is None or part in _DATA


def _part(words: Sequence[str]) -> str | None:
    """Return the subresource that a path names ("log"), with what follows it; None if it names none.

    /api/V/… and /apis/GROUP/V/… continue with RESOURCE/NAME/PART or namespaces/NAMESPACE/RESOURCE/NAME/PART.
    """
    roots = {"api": 2, "apis": 3}
    if words[0] not in roots:
        return None
    rest = words[roots[words[0]] :]
    if rest[:1] == ["namespaces"] and len(rest) > 3:
        rest = rest[2:]
    elif rest[:1] == ["namespaces"]:
        return None  # a namespace, its status, or all objects of a kind in it
    return "/".join(rest[2:]) if len(rest) > 2 else None
