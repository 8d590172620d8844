"""The one place where requests leave, and the gate before it.

With `read_only` nothing but reading and the reviews of one's own rights gets out (see `gate`); everything else, dry
runs too, raises ReadOnlyError before a socket is touched. `counts` says what left, by verb: the proof that audits show.
"""

from __future__ import annotations

import contextlib
import random
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TYPE_CHECKING
from urllib.parse import urlencode

from kymatui import __version__
from kymatui.adapters.kube import failures
from kymatui.adapters.kube.abandoning import run_abandonable
from kymatui.adapters.kube.connections import Connection
from kymatui.adapters.kube.credentials import Certificate, Credential, token_expiry
from kymatui.adapters.kube.gate import only_reads
from kymatui.errors import CancelledError, ClusterError, ReadOnlyError, UnauthorizedError, UnreachableError

if TYPE_CHECKING:
    from urllib3 import BaseHTTPResponse

    from kymatui.adapters.kube.pools import Pool

JSON = "application/json"
_RESETS = 2  # how often a read that broke off is asked again
_THROTTLES = 4
_LONGEST_WAIT = 10.0
_AGENT = f"kymatui/{__version__}"
_OWN_HEADERS = frozenset({"accept", "user-agent", "accept-encoding", "content-type"})


@dataclass(frozen=True, slots=True)
class Request:
    """One request. `timeout` is (connect, read) in seconds; `path` is encoded already."""

    method: str
    path: str
    query: Sequence[tuple[str, str]] = ()
    body: bytes | None = None
    accept: str = JSON
    content_type: str = JSON
    timeout: tuple[float, float] = (5.0, 30.0)

    @property
    def target(self) -> str:
        return self.path + ("?" + _encoded(tuple(self.query)) if self.query else "")


@lru_cache(maxsize=256)  # what is asked again and again differs in the path
def _encoded(query: tuple[tuple[str, str], ...]) -> str:
    return urlencode(query)


@dataclass(frozen=True, slots=True)
class Answer:
    """A body that was read whole; `status` is below 300."""

    status: int
    body: bytes
    headers: Mapping[str, str] = field(default_factory=dict)


class Stream:
    """A body that arrives bit by bit; `close` may be called from another thread and ends the reading."""

    def __init__(
        self, response: BaseHTTPResponse, asked: failures.Asked, patience: str, heard: Callable[[], None] = lambda: None
    ) -> None:
        self._response = response
        self._heard = heard
        self._asked = asked
        self._patience = patience
        self._closed = threading.Event()

    def lines(self) -> Iterator[bytes]:
        """Line by line without the newline; ends when the server ends it or `close` was called.

        Raises UnreachableError where the connection breaks or nothing comes for longer than the read timeout.
        """
        import urllib3.exceptions as http

        pending: list[bytes] = []
        try:
            for chunk in self._response.stream(65536, decode_content=True):
                self._heard()
                *whole, rest = chunk.split(b"\n")
                if whole:
                    yield b"".join((*pending, whole[0]))
                    yield from whole[1:]
                    pending = []
                if rest:
                    pending.append(rest)
        except (http.HTTPError, OSError, ValueError, AttributeError) as error:
            # ValueError and AttributeError are what a response raises that another thread closes under it
            if self._closed.is_set():
                return
            raise failures.unreachable(self._asked, error, self._patience) from error
        if pending and not self._closed.is_set():
            yield b"".join(pending)

    def patience(self, seconds: float) -> None:
        """How long the server may be silent from now on."""
        sock = getattr(self._response.connection, "sock", None)
        if sock is not None:
            with contextlib.suppress(OSError):  # another thread closed it: whoever reads will notice
                sock.settimeout(seconds)
        self._patience = f"{seconds:.0f} s"

    def close(self) -> None:
        """Shuts the socket, so that a thread that waits in `lines` comes back at once."""
        self._closed.set()
        with contextlib.suppress(ValueError, RuntimeError, OSError, AttributeError):
            self._response.shutdown()
        with contextlib.suppress(ValueError, RuntimeError, OSError, AttributeError):  # the reader may close it, too
            if not self._response.closed:
                self._response.close()


class Transport:
    """Sends requests to one cluster; may be shared by threads."""

    def __init__(
        self,
        connection: Connection,
        *,
        read_only: bool = False,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self.connection = connection
        self.read_only = read_only
        self.counts: Counter[str] = Counter()
        self.writes = 0  # how many of them could have changed something
        self.heard = 0.0
        """When the server last answered or sent something, by the monotonic clock; 0 before it did."""
        self._sleep = sleep
        self._lock = threading.Lock()
        self._pool: Pool | None = None
        self._pool_certificate: Certificate | None = None

    def send(self, request: Request, cancel: threading.Event | None = None) -> Answer:
        """Sends and reads the answer whole; raises the errors of `kymatui.errors`, CancelledError once `cancel` is set.

        A read that broke off is asked again, and so is what the server put off with 429 for ten seconds at most.
        """
        self.permit(request)
        response, asked = self._patiently(request, cancel, stream=False)
        return self._whole(response, asked, request)

    def stream(self, request: Request, cancel: threading.Event | None = None) -> Stream:
        """Sends and gives the answer as it comes; errors as `send`."""
        self.permit(request)
        response, asked = self._patiently(request, cancel, stream=True)
        return Stream(response, asked, f"{request.timeout[1]:.0f} s", self._hear)

    def permit(self, request: Request) -> None:
        """The gate: raises ReadOnlyError for whatever could change something."""
        if not self.read_only:
            return
        if not only_reads(request.method, request.path):
            raise ReadOnlyError(
                f"{request.method} {request.path} would write, and only reading is allowed; nothing was sent",
                hint="start without --read-only and KYMATUI_READ_ONLY to write",
            )

    def close(self) -> None:
        """Closes idle connections; streams are closed by whoever opened them."""
        with self._lock:
            if self._pool is not None:
                self._pool.clear()
            self._pool = None

    # what happens between the gate and the socket

    def _patiently(
        self, request: Request, cancel: threading.Event | None, *, stream: bool
    ) -> tuple[BaseHTTPResponse, failures.Asked]:
        resets = throttles = 0
        renewed = False
        credential = self.connection.credentials.present()
        while True:
            _stop_if(cancel)
            asked = self._asked(request, credential)
            try:
                response = self._once(request, credential, asked, cancel, stream=stream)
                if response.status < 300:
                    return response, asked
                failure = self._failure(response, asked)
            except UnreachableError as error:
                resets += 1
                again = (
                    _broke_off(error) and request.method in ("GET", "HEAD") and not stream
                )  # watches come back by themselves
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
                    # else frame, error and traceback hold each other, and with them all that any caller was at work on
                    del failure
            self._pause(wait, cancel)

    def _once(
        self,
        request: Request,
        credential: Credential,
        asked: failures.Asked,
        cancel: threading.Event | None,
        *,
        stream: bool,
    ) -> BaseHTTPResponse:
        import urllib3

        pool = self._pool_for(credential.certificate)
        self.counts[request.method] += 1
        self.writes += not only_reads(request.method, request.path)
        began = time.monotonic()

        def exchange() -> BaseHTTPResponse:
            return pool.request(
                request.method,
                request.target,
                request.body,
                self._headers(request, credential, stream=stream),
                request.timeout,
                preload=not stream,
            )

        try:
            response = run_abandonable(exchange, cancel) if cancel is not None else exchange()
        except (urllib3.exceptions.HTTPError, OSError) as error:
            # To connect and to answer have limits of their own: what is said is how long it really took.
            raise failures.unreachable(asked, error, _seconds(time.monotonic() - began)) from error
        if response.status < 500:  # else a proxy may have answered in the place of a server that does not
            self._hear()
        return response

    def _hear(self) -> None:
        self.heard = time.monotonic()

    def _failure(self, response: BaseHTTPResponse, asked: failures.Asked) -> ClusterError:
        import urllib3.exceptions as http

        try:
            body = response.data
        except (http.HTTPError, OSError) as error:
            return failures.unreachable(asked, error, "the time allowed")
        finally:
            response.release_conn()
        return failures.answered(asked, response.status, response.headers, body)

    def _whole(self, response: BaseHTTPResponse, asked: failures.Asked, request: Request) -> Answer:
        kind = response.headers.get("Content-Type", "")
        if "html" in kind and "html" not in request.accept:
            raise failures.not_kubernetes(asked, response.status, response.headers)
        return Answer(response.status, response.data, response.headers)

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
        several = urllib3.HTTPHeaderDict(headers)  # of groups that are impersonated, say
        for name, value in credential.headers:
            several.add(name, value)
        return several

    def _pool_for(self, certificate: Certificate | None) -> Pool:
        from kymatui.adapters.kube.pools import open_pool

        with self._lock:
            if self._pool is None or certificate != self._pool_certificate:
                self._pool = open_pool(self.connection.endpoint, certificate)
                self._pool_certificate = certificate
            return self._pool

    def _asked(self, request: Request, credential: Credential) -> failures.Asked:
        connection = self.connection
        return failures.Asked(
            request.method,
            request.path,
            connection.endpoint.server,
            connection.context,
            connection.user,
            connection.credentials.kind,
            token_expiry(credential),
            given=connection.given,
        )

    def _pause(self, seconds: float, cancel: threading.Event | None) -> None:
        seconds *= 1 + random.random() / 4  # noqa: S311 (spreads clients, guards nothing)
        if cancel is None:
            self._sleep(seconds)
        elif cancel.wait(seconds):
            raise CancelledError("stopped while waiting for the server")


def _seconds(duration: float) -> str:
    return f"{duration:.0f} s" if duration >= 1 else f"{duration:.1f} s"


def _stop_if(cancel: threading.Event | None) -> None:
    if cancel is not None and cancel.is_set():
        raise CancelledError("stopped before the request was sent")


def _broke_off(error: UnreachableError) -> bool:
    """Whether a connection that was there broke: an idle one that the server closed, or a server that restarts."""
    import urllib3.exceptions as http

    return isinstance(error.__cause__, http.ProtocolError)


def _put_off(failure: ClusterError, request: Request) -> float | None:
    """How long to wait before asking again; None where that makes no sense.

    429 says that nothing was done, whatever the verb; but an eviction that a disruption budget holds back is an answer.
    """
    after = failures.retry_after({}, failure.body) or float(getattr(failure, "retry_after", 0.0))
    if failure.status == 429 and not request.path.endswith("/eviction"):
        return after if 0 < after <= _LONGEST_WAIT else None
    return None
