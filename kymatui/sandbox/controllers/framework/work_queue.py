"""The work queue of all controllers: every (controller, key) once, for some milliseconds at a time.

Requests have priority, as if controllers were separate processes: while clients send requests, controllers wait, but
never for long. Meanwhile several changes of one object need only one reconciliation.

A failed key is retried after a growing pause, as with client-go's rate limiter; a conflict on the resourceVersion is
no failure and is retried at once.
"""

from __future__ import annotations

import logging
import time
from collections import OrderedDict
from collections.abc import Callable, Iterable
from typing import Protocol

from kymatui.sandbox.apimachinery.clock import SandboxClock, Timer
from kymatui.sandbox.apimachinery.local_client import LocalClient
from kymatui.sandbox.apimachinery.object_store import Key, StoreChange
from kymatui.sandbox.apimachinery.statuses import StatusError
from kymatui.sandbox.controllers.framework.store_reader import StoreReader

log = logging.getLogger(__name__)

TURN_SECONDS = 0.008
GIVE_WAY_SECONDS = 0.005
GIVE_WAY_TIMES = 10
FIRST_PAUSE, LONGEST_PAUSE = 0.05, 60.0


class Controller(Protocol):
    """One controller. `watch` subscribes and enqueues existing objects; `reconcile` performs one step."""

    name: str

    def watch(self, queue: ControllerQueue) -> None: ...

    def reconcile(self, key: Key) -> float | None:
        """Move the object one step to its desired state; return the seconds until the next call, or None."""
        ...


class ControllerLoop:
    """Runs the controllers' work on the clock's thread."""

    def __init__(self, clock: SandboxClock, is_busy: Callable[[], bool] = lambda: False) -> None:
        """Create a loop; `is_busy` returns whether requests arrived since its last call."""
        self._clock = clock
        self._is_busy = is_busy
        self._gave_way = 0
        self._waiting: OrderedDict[tuple[str, Key], Controller] = OrderedDict()
        self._later: dict[tuple[str, Key], tuple[float, Timer]] = {}
        self._failures: dict[tuple[str, Key], int] = {}
        self._turn: Timer | None = None
        self._stopped = False

    def add(self, controller: Controller, key: Key, after: float = 0.0) -> None:
        """Schedule `reconcile(key)`, now or after some seconds; the earliest of several times wins."""
        if self._stopped:
            return
        item = (controller.name, key)
        if after <= 0:
            self._waiting[item] = controller
            self._schedule()
            return
        due = self._clock.now() + after
        planned = self._later.get(item)
        if planned is not None:
            if planned[0] <= due:
                return
            planned[1].cancel()

        def arrive() -> None:
            self._later.pop(item, None)
            self.add(controller, key)

        self._later[item] = (due, self._clock.call_later(after, arrive))

    def stop(self) -> None:
        self._stopped = True
        self._waiting.clear()
        for _, timer in self._later.values():
            timer.cancel()
        self._later.clear()

    @property
    def idle(self) -> bool:
        """Return whether nothing is due now; timers may be pending."""
        return not self._waiting

    def _schedule(self) -> None:
        if self._turn is None:
            self._turn = self._clock.call_later(0, self._run)

    def _run(self) -> None:
        self._turn = None
        if self._gave_way < GIVE_WAY_TIMES and self._is_busy():
            self._gave_way += 1
            self._turn = self._clock.call_later(GIVE_WAY_SECONDS, self._run)
            return
        self._gave_way = 0
        end = time.monotonic() + TURN_SECONDS
        while self._waiting and not self._stopped:
            item, controller = self._waiting.popitem(last=False)
            self._reconcile(item, controller)
            if time.monotonic() > end:
                break
        if self._waiting:
            self._schedule()

    def _reconcile(self, item: tuple[str, Key], controller: Controller) -> None:
        try:
            again = controller.reconcile(item[1])
        except StatusError as error:
            self._retry(item, controller, error)
        except Exception as error:  # a defect of one controller must not stop the others
            log.warning("%s failed on %s", controller.name, item[1], exc_info=True)
            self._retry(item, controller, error)
        else:
            self._failures.pop(item, None)
            if again is not None:
                self.add(controller, item[1], max(again, 0.001))

    def _retry(self, item: tuple[str, Key], controller: Controller, error: Exception) -> None:
        failures = self._failures.get(item, 0)
        self._failures[item] = failures + 1
        log.debug("%s on %s: %s", controller.name, item[1], error)
        self.add(controller, item[1], min(FIRST_PAUSE * 2**failures, LONGEST_PAUSE))


class ControllerQueue:
    """The queue of one controller's `watch`; its subscriptions end with the controllers."""

    def __init__(
        self, loop: ControllerLoop, controller: Controller, client: LocalClient, observer: StoreReader
    ) -> None:
        self._loop = loop
        self._controller = controller
        self._client = client
        self._observer = observer
        self._stops: list[Callable[[], None]] = []

    def add(self, key: Key, after: float = 0.0) -> None:
        self._loop.add(self._controller, key, after)

    def follow(self, resource: str) -> None:
        """Enqueue the key of each existing and each changed object of a resource."""
        self.on_change(resource, lambda change: self.add(change.current.key))
        for key in self._observer.keys(resource):
            self.add(key)

    def follow_owner(self, resource: str, kind: str) -> None:
        """Enqueue the owning controller (of a kind) of each changed object of a resource."""

        def changed(change: StoreChange) -> None:
            for stored in (change.current, change.previous):
                if stored is not None and b'"controller":true' in stored.data:
                    for key in _owner_keys(stored.body(), kind, stored.namespace):
                        self.add(key)

        self.on_change(resource, changed)

    def on_change(self, resource: str, callback: Callable[[StoreChange], None]) -> None:
        self._stops.append(self._client.subscribe(resource, callback))

    def stop(self) -> None:
        for stop in self._stops:
            stop()
        self._stops.clear()


def _owner_keys(obj: dict[str, object], kind: str, namespace: str) -> Iterable[Key]:
    metadata = obj["metadata"]
    assert isinstance(metadata, dict)
    for reference in metadata.get("ownerReferences") or []:
        if reference.get("controller") and reference.get("kind") == kind:
            yield namespace, reference["name"]
