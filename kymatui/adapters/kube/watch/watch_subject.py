"""What a watch follows, and its clocks."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from typing import Any, Final

from msgspec import Struct, field

from kymatui.adapters.kube.objects.api_resource import ApiResource
from kymatui.adapters.kube.transport.heartbeat import HeartbeatTiming
from kymatui.domain.kubernetes.backoff import JITTER_RANDOM, Backoff
from kymatui.structs import compare_by

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
