"""What stands before the requests to one server: its rate, and a circuit breaker where there is one."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Protocol

from kymatui.adapters.kube.transport.status_errors import SentRequest, error_of_response
from kymatui.adapters.kube.transport.streams import ApiReply
from kymatui.engine.cluster.request_scope import RequestRate, TokenBucket, current_scope
from kymatui.errors import CancelledError, ClusterError, ServerError, UnreachableError

_FAILED, _BAD_GATEWAY, _GATEWAY_TIMEOUT = 500, 502, 504  # HTTP statuses of a server that does not work


class RequestGuard(Protocol):
    """Hears of each attempt to send a request. Threads share it."""

    def admit(self, server: str, cancel: threading.Event | None) -> None:
        """Wait until the request may be sent. Raises instead of sending; then no report follows."""

    def answered(self) -> None:
        """Do nothing: this guard remembers nothing."""

    def failed(self, error: ClusterError, seconds: float) -> None:
        """Do nothing: this guard remembers nothing."""

    def abandoned(self) -> None:
        """Do nothing: this guard remembers nothing."""


class RateGuard:
    """Implements `RequestGuard` with a rate alone."""

    def __init__(self, rate: RequestRate) -> None:
        self._bucket = TokenBucket(rate)

    def admit(self, server: str, cancel: threading.Event | None) -> None:
        """Wait for a token. Raises CancelledError."""
        seconds = self._bucket.take()
        if seconds <= 0.0:
            return
        if cancel is None:
            time.sleep(seconds)
        elif cancel.wait(seconds):
            raise CancelledError("stopped")

    def answered(self) -> None:
        """Do nothing: this guard remembers nothing."""

    def failed(self, error: ClusterError, seconds: float) -> None:
        """Do nothing: this guard remembers nothing."""

    def abandoned(self) -> None:
        """Do nothing: this guard remembers nothing."""


def send_guarded(
    guard: RequestGuard, asked: SentRequest, cancel: threading.Event | None, send: Callable[[], ApiReply]
) -> ApiReply:
    """Send once if the guard admits it, and report to the guard how that ended."""
    guard.admit(asked.server, cancel)
    began = time.monotonic()
    try:
        reply = send()
    except ClusterError as error:
        guard.failed(error, time.monotonic() - began)
        raise
    except BaseException:
        guard.abandoned()
        raise
    response = reply.response
    if response.status >= _FAILED:
        response_error = error_of_response(asked, response.status, response.headers, reply.body)
        guard.failed(response_error, time.monotonic() - began)
    else:
        guard.answered()
    return reply


def require_time(server: str) -> None:
    """Raise UnreachableError once the reconciliation that sends the request has taken its time."""
    if current_scope().is_over:
        raise UnreachableError(
            f"{server} is too slow: the reconciliation did not finish in time", hint="it continues with the next one"
        )


def is_silence(error: ClusterError) -> bool:
    """Return whether the server itself gave no answer: no connection, a timeout, a gateway's error.

    A 503 with a Status object is about one group of its APIs, or is passing.
    """
    gateway = isinstance(error, ServerError) and _BAD_GATEWAY <= error.status <= _GATEWAY_TIMEOUT
    return (gateway and not error.body) or isinstance(error, UnreachableError)
