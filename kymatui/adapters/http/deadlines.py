"""Deadlines for whole answers: a socket timeout alone starts again with every byte that arrives.

The deadline covers everything from the first byte of the head to the last of the body: interim answers, headers,
chunk sizes, trailers, slow bodies.
"""

from __future__ import annotations

import contextlib
import io
import socket
import threading
import time
from collections.abc import Callable, Iterator
from functools import lru_cache
from http.client import HTTPResponse
from typing import TYPE_CHECKING, Any, TypeVar

from kymatui.engine.cluster.dials import DIALS, DialPhase
from kymatui.errors import CancelledError

if TYPE_CHECKING:
    from urllib3 import HTTPConnectionPool, PoolManager


class Deadline:
    """A moment of the monotonic clock; it may be extended while an answer is read."""

    __slots__ = ("at",)

    def __init__(self, seconds: float) -> None:
        self.at = time.monotonic() + seconds

    @property
    def left(self) -> float:
        return self.at - time.monotonic()

    def require(self) -> None:
        """Raise TimeoutError if the deadline has passed."""
        if self.left <= 0:
            raise TimeoutError("the answer took longer than allowed")

    def extend(self, seconds: float) -> None:
        self.at = time.monotonic() + seconds


_present = threading.local()


@contextlib.contextmanager
def answered_within(seconds: float) -> Iterator[Deadline]:
    """Set the deadline of the requests that this thread sends in the block."""
    former = getattr(_present, "deadline", None)
    _present.deadline = deadline = Deadline(seconds)
    try:
        yield deadline
    finally:
        _present.deadline = former


class _TimedSocket(io.RawIOBase):
    """Reads from a socket until the deadline; the socket's own timeout ends a silence earlier."""

    def __init__(self, raw: io.RawIOBase, sock: socket.socket, deadline: Deadline) -> None:
        self._raw = raw
        self._sock = sock
        self._deadline = deadline

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any, /) -> int | None:
        self._deadline.require()
        silence, remaining = self._sock.gettimeout(), self._deadline.left
        if silence is not None and silence <= remaining:
            return self._raw.readinto(buffer)
        self._sock.settimeout(max(remaining, 0.001))
        try:
            return self._raw.readinto(buffer)
        finally:
            with contextlib.suppress(OSError):  # another thread closed it
                self._sock.settimeout(silence)

    def fileno(self) -> int:
        return self._raw.fileno()

    def close(self) -> None:
        if not self.closed:
            self._raw.close()
        super().close()


class _TimedResponse(HTTPResponse):
    """An answer under the deadline of the requesting thread."""

    def __init__(self, sock: socket.socket, *arguments: Any, **options: Any) -> None:
        super().__init__(sock, *arguments, **options)
        deadline: Deadline | None = getattr(_present, "deadline", None)
        if deadline is not None:
            raw: Any = self.fp.detach()
            self.fp = io.BufferedReader(_TimedSocket(raw, sock, deadline))


class _Dialled:
    """A connection that says how far it is while it is opened, and while a request has no answer."""

    resolves: bool  # False where the proxy looks names up
    host: str
    port: int
    _is_open = False  # to the server, through the proxy if there is one

    def connect(self) -> None:
        with DIALS.entered(self.host) as dial:
            if self.resolves and self.host not in DIALS.resolved:
                dial.phase = DialPhase.RESOLVING
                self._resolve()
                dial.phase = DialPhase.CONNECTING
            try:
                super().connect()  # type: ignore[misc]  # of urllib3's connection, which is the next class
            except OSError as error:
                error.in_handshake = self._is_open  # type: ignore[attr-defined]  # for the message
                raise

    def _new_conn(self) -> Any:
        opened = super()._new_conn()  # type: ignore[misc]
        self._is_open = not getattr(self, "_tunnel_host", None)
        return opened

    def _tunnel(self) -> None:
        super()._tunnel()  # type: ignore[misc]
        self._is_open = True

    def getresponse(self) -> Any:
        with DIALS.entered(getattr(self, "_tunnel_host", None) or self.host, DialPhase.WAITING):
            return super().getresponse()  # type: ignore[misc]  # of urllib3's connection

    def _resolve(self) -> None:
        """Look the name up once in a process: the resolver has the answer when the connection asks for it."""
        from urllib3.exceptions import NameResolutionError

        try:
            socket.getaddrinfo(self.host, self.port, type=socket.SOCK_STREAM)
        except OSError as error:
            raise NameResolutionError(self.host, self, error) from error  # type: ignore[arg-type]
        DIALS.resolved.add(self.host)


def time_answers(manager: PoolManager) -> None:
    """Apply deadlines to all connections of a PoolManager, and note which are being opened."""
    classes = manager.pool_classes_by_scheme
    manager.pool_classes_by_scheme = {scheme: _timed(pool_class) for scheme, pool_class in classes.items()}


@lru_cache(maxsize=16)
def _timed(pool: type[HTTPConnectionPool]) -> type[HTTPConnectionPool]:
    fields = {"response_class": _TimedResponse, "resolves": not pool.__module__.endswith(".socks")}
    connection: Any = type(f"Timed{pool.ConnectionCls.__name__}", (_Dialled, pool.ConnectionCls), fields)
    return type(f"Timed{pool.__name__}", (pool,), {"ConnectionCls": connection})


T = TypeVar("T")
_LOOK = 0.05  # seconds until a cancellation is noticed


def run_abandonable(
    call: Callable[[], T], cancel: threading.Event, drop: Callable[[T], None] = lambda result: None
) -> T:
    """Run `call` in its own thread and return its result. Raise CancelledError once `cancel` is set.

    The abandoned thread ends by its socket timeouts, and its result is given to `drop`.
    """
    done, lock = threading.Event(), threading.Lock()
    is_abandoned = False
    results: list[T] = []
    errors: list[BaseException] = []

    def run() -> None:
        try:
            outcome = call()
            with lock:
                if not is_abandoned:
                    results.append(outcome)
                    return
            drop(outcome)
        except BaseException as error:  # noqa: BLE001 (it is raised again in the thread that waits)
            errors.append(error)
        finally:
            done.set()

    threading.Thread(target=run, name="kube-request", daemon=True).start()
    while not done.wait(_LOOK):
        if not cancel.is_set():
            continue
        with lock:
            is_abandoned = True
        for result in results:  # it came at the last moment
            drop(result)
        raise CancelledError("stopped")
    if errors:
        raise errors.pop()  # pop it: an error and a frame of its own traceback would keep each other alive
    return results[0]
