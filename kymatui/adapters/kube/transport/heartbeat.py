"""Whether a server that sends nothing still answers: a watch that is open and silent is no proof.

A connection to a process that hangs, or to a machine behind a network that drops packets, stays open for minutes. So
after some seconds without a byte from the server it is asked for `/readyz`. Every answer below 500 is one: a proxy
answers 502 to 504 in the place of a server that does not, and a server that has lost its storage answers 500.
"""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from kymatui.adapters.kube.transport.transport import Request
from kymatui.errors import ClusterError, KymatuiError

if TYPE_CHECKING:
    from kymatui.adapters.kube.transport.transport import Transport

_PATH = "/readyz"
_FAILING = 500


@dataclass(frozen=True, slots=True)
class HeartbeatTiming:
    """Seconds; a server that stops answering is reported after `quiet` and twice `patience`, so within 20.

    quiet      without a byte from the server before it is asked
    patience   for its answer
    again      until a server that did not answer is asked again
    slow       the same where there is no credential to ask with: plugins may open a browser
    """

    quiet: float = 9.0
    patience: float = 4.0
    again: float = 2.0
    slow: float = 60.0


@dataclass(frozen=True, slots=True)
class Silence:
    """The server does not answer; `since` is the time of its last byte, in seconds of the Unix clock."""

    since: float
    message: str


class Heartbeat:
    """Asks one silent server, in a thread that runs while there are listeners. May be shared by threads."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport
        self._lock = threading.Lock()
        self._listeners: tuple[Callable[[], None], ...] = ()
        self._stopped = threading.Event()
        self._silence: Silence | None = None

    @property
    def silence(self) -> Silence | None:
        """Since when the server does not answer, and why; None while it does."""
        return self._silence

    def listen(self, changed: Callable[[], None], pulse: HeartbeatTiming) -> None:
        """Call `changed` from the heartbeat's thread when the server stops or starts answering, until `forget`.

        The first listener starts the thread with its pulse.
        """
        with self._lock:
            first = not self._listeners
            self._listeners = (*self._listeners, changed)
            if first:
                self._stopped = threading.Event()
                run = threading.Thread(target=self._run, args=(pulse, self._stopped), name="heartbeat", daemon=True)
                run.start()

    def forget(self, changed: Callable[[], None]) -> None:
        """End the thread with the last listener; returns at once."""
        with self._lock:
            self._listeners = tuple(one for one in self._listeners if one != changed)
            if not self._listeners:
                self._stopped.set()

    def _run(self, pulse: HeartbeatTiming, stopped: threading.Event) -> None:
        while not stopped.is_set():
            heard = self._transport.heard
            left = pulse.quiet - (time.monotonic() - heard)
            if heard and left <= 0:
                left = self._ask_twice(pulse, stopped)
            elif self._silence is not None:
                self._publish(None)
            stopped.wait(max(left, 0.01) if heard else pulse.again)

    def _ask_twice(self, pulse: HeartbeatTiming, stopped: threading.Event) -> float:
        """Ask again before reporting silence, since a server may be restarting; return when to ask next."""
        heard, error = self._transport.heard, None
        for _ in range(2 if self._silence is None else 1):
            began = time.monotonic()
            error = self._ask(pulse, stopped)
            if error is None or self._transport.heard != heard:
                self._publish(None)
                return pulse.quiet
            if stopped.wait(max(0.0, began + pulse.patience - time.monotonic())):
                return 0.0
        self._publish(Silence(time.time() - (time.monotonic() - heard), str(error)))
        return pulse.again if isinstance(error, ClusterError) else pulse.slow

    def _ask(self, pulse: HeartbeatTiming, stopped: threading.Event) -> KymatuiError | None:
        """Return why there is no answer."""
        try:
            self._transport.send(Request("GET", _PATH, accept="*/*", timeout=(pulse.patience, pulse.patience)), stopped)
        except ClusterError as error:
            return error if error.status >= _FAILING or not error.status else None
        except KymatuiError as error:
            return error
        return None

    def _publish(self, silence: Silence | None) -> None:
        if (silence is None) is (self._silence is None):
            return
        self._silence = silence
        for changed in self._listeners:
            with contextlib.suppress(KymatuiError):
                changed()
