"""Heartbeats: detect a server that stopped answering, which an open, silent watch does not show.

A connection to a process that hangs, or to a machine behind a network that drops packets, stays open for minutes. So
after some seconds without a byte from the server, the heartbeat requests `/readyz`. Every answer below 500 counts as
alive: a proxy answers 502 to 504 for a server that is down, and a server that lost its storage answers 500. The watches
of such a server stay open and send bookmarks: so it is asked now and then while it sends, and once it failed, only its
own answer ends the silence.
"""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable

from msgspec import Struct

from kymatui.adapters.kube.transport.transport import Request, Transport
from kymatui.errors import ClusterError, KymatuiError, as_kymatui_error

_PATH = "/readyz"
_FAILING = 500  # below this status the server works, whatever it says about the path


class HeartbeatTiming(Struct, frozen=True):
    """Times in seconds. Silence is reported after `quiet` plus two times `timeout`, within 20 seconds.

    quiet      without a byte from the server before a request is sent
    ready      between two requests to a server that sends
    timeout   to wait for the answer
    again      until the next request after no answer
    slow       the same where no credential is available: plugins may open a browser
    """

    quiet: float = 9.0
    ready: float = 30.0
    timeout: float = 4.0
    again: float = 2.0
    slow: float = 60.0


class Silence(Struct, frozen=True):
    """A server that does not answer, or is not ready; `since` is the time of its last byte, in Unix seconds."""

    since: float
    message: str


class Heartbeat:
    """Sends heartbeats to one silent server, in a thread that runs while there are listeners.

    Threads may share it.
    """

    def __init__(self, transport: Transport) -> None:
        self._transport = transport
        self._lock = threading.Lock()
        self._listeners: tuple[Callable[[], None], ...] = ()
        self._stopped = threading.Event()
        self._silence: Silence | None = None

    @property
    def silence(self) -> Silence | None:
        """Return since when and why the server does not answer; None while it does."""
        return self._silence

    def listen(self, changed: Callable[[], None], pulse: HeartbeatTiming | None = None) -> None:
        """Call `changed` from the heartbeat's thread whenever the server stops or starts to answer.

        The first listener starts the thread with its pulse.
        """
        with self._lock:
            first = not self._listeners
            self._listeners = (*self._listeners, changed)
            if first:
                self._stopped = threading.Event()
                timing = pulse or HeartbeatTiming()
                run = threading.Thread(target=self._run, args=(timing, self._stopped), name="heartbeat", daemon=True)
                run.start()

    def forget(self, changed: Callable[[], None]) -> None:
        """Remove a listener; the last one ends the thread. Returns at once."""
        with self._lock:
            self._listeners = tuple(listener for listener in self._listeners if listener != changed)
            if not self._listeners:
                self._stopped.set()

    def _run(self, pulse: HeartbeatTiming, stopped: threading.Event) -> None:
        asked = time.monotonic()
        while not stopped.is_set():
            heard, now = self._transport.heard, time.monotonic()
            wait = min(pulse.quiet - (now - heard), pulse.ready - (now - asked))
            if heard and (wait <= 0 or self._silence is not None):
                wait = self._ask_twice(pulse, stopped)
                asked = time.monotonic()
            stopped.wait(max(wait, 0.01) if heard else pulse.again)

    def _ask_twice(self, pulse: HeartbeatTiming, stopped: threading.Event) -> float:
        """Send up to two requests, since a server may be restarting, and return the seconds to wait."""
        heard, error = self._transport.heard, None
        for _ in range(2 if self._silence is None else 1):
            began = time.monotonic()
            error = self._ask(pulse, stopped)
            sends = self._transport.heard != heard and not _has_failed(error) and self._silence is None
            if error is None or sends:
                self._publish(None)
                return pulse.quiet
            if stopped.wait(max(0.0, began + pulse.timeout - time.monotonic())):
                return 0.0
        self._publish(Silence(time.time() - (time.monotonic() - heard), str(error)))
        return pulse.again if isinstance(error, ClusterError) else pulse.slow

    def _ask(self, pulse: HeartbeatTiming, stopped: threading.Event) -> KymatuiError | None:
        """Send one request and return the reason for no answer, None if the server answered."""
        try:
            self._transport.send(Request("GET", _PATH, accept="*/*", timeout=(pulse.timeout, pulse.timeout)), stopped)
        except ClusterError as error:
            return error if _has_failed(error) or not error.status else None
        except Exception as error:  # noqa: BLE001 (a dead thread would leave a silent server "live")
            return as_kymatui_error(error)
        return None

    def _publish(self, silence: Silence | None) -> None:
        if (silence is None) is (self._silence is None):
            return
        self._silence = silence
        for changed in self._listeners:
            with contextlib.suppress(KymatuiError):  # a listener's error must not end the heartbeat
                changed()


def _has_failed(error: KymatuiError | None) -> bool:
    """Return whether the server answered that it is not ready; another error is no answer."""
    return isinstance(error, ClusterError) and error.status >= _FAILING
