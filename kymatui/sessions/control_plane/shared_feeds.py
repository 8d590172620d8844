"""One listing of a control plane for the sessions with many of its runtimes: each sees what is its own of it."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Final

from kymatui.domain.fleet.fleet_tracker import RuntimeKey
from kymatui.domain.kubernetes.json_reader import JsonReader
from kymatui.domain.kubernetes.object_meta import LABEL_KYMA_NAME
from kymatui.domain.kyma.maintenance_windows import ControllerSettings
from kymatui.domain.snapshot.missing_lists import are_settled
from kymatui.domain.snapshot.snapshots import Feed, FeedState, Object
from kymatui.errors import NotFoundError, UnreachableError
from kymatui.sessions.cluster.catalog_feeds import KeeperLeases
from kymatui.sessions.cluster.cluster_access import open_cluster
from kymatui.sessions.cluster.controller_rules import read_controller_rules
from kymatui.sessions.cluster.session_options import SessionOptions
from kymatui.sessions.feeds.feeds import KYMA_KINDS, Feeds

_KYMAS, _, _METAS, _MANIFESTS = KYMA_KINDS
_NAMED: Final = 40
"""Up to so many runtimes their Manifests are asked for by name; the address of the request would get too long."""
_LOOK: Final = 0.5
"""Seconds between two checks of the lists: one that is requested again may have got its time."""


class ControlPlane:
    """Kymas, catalog and Manifests of a control plane, listed and watched once. Safe to share between threads."""

    def __init__(self, options: SessionOptions, keys: Sequence[RuntimeKey]) -> None:
        self.home = open_cluster(options)
        self._options, self._keys = options, tuple(keys)
        self._changed = threading.Condition()
        self._feeds = Feeds(self.home.client, self._ring)
        self._feeds.expect(fixed.feed for fixed in KYMA_KINDS)
        self._parts: tuple[RuntimeShare, ...] = ()
        self._indices: dict[str, tuple[tuple[Object, ...], Mapping[RuntimeKey, tuple[Object, ...]]]] = {}
        self._rules: dict[str, ControllerSettings] = {}
        self.leases = KeeperLeases()

    def start(self, timeout: float) -> None:
        """List everything; raises what keeps the control plane from being asked, and UnreachableError for too late."""
        names = {namespace for namespace, _ in self._keys}
        only = names.pop() if len(names) == 1 else ""
        kymas = [name for _, name in self._keys]
        chosen = f"{LABEL_KYMA_NAME} in ({','.join(kymas)})" if len(kymas) <= _NAMED else LABEL_KYMA_NAME
        for fixed in KYMA_KINDS:
            resource = self._feeds.find(fixed, "the control plane")
            if resource is None:
                continue
            self._feeds.follow(
                fixed.feed,
                resource,
                only=only,
                labels=chosen if fixed is _MANIFESTS else "",
                fields=f"metadata.name={kymas[0]}" if fixed is _KYMAS and len(kymas) == 1 else "",
            )
        self._wait_listed(timeout)
        if self.states()[_KYMAS.feed].state is FeedState.ABSENT:
            raise NotFoundError(f"cluster {self.home.name!r} does not serve Kymas", status=404)

    def _wait_listed(self, timeout: float) -> None:
        deadline = time.monotonic() + timeout
        with self._changed:
            while not are_settled(self.states(), time.time()):
                seconds = deadline - time.monotonic()
                if seconds <= 0:
                    raise UnreachableError(f"the control plane {self.home.name} was not listed within {timeout:g} s")
                self._changed.wait(min(seconds, _LOOK))

    def part(self, key: RuntimeKey, on_change: Callable[[], None]) -> RuntimeShare:
        """Return the share of one runtime, which reports every change until it is closed."""
        share = RuntimeShare(self, key, on_change)
        with self._changed:
            self._parts = (*self._parts, share)
        return share

    def leave(self, part: RuntimeShare) -> None:
        with self._changed:
            self._parts = tuple(share for share in self._parts if share is not part)

    def rules(self, namespace: str) -> ControllerSettings:
        """Return lifecycle-manager's configuration, read once."""
        known = self._rules.get(namespace)
        if known is None:  # two threads may both read: nobody waits for a server within a lock
            known = self._rules[namespace] = read_controller_rules(self.home, namespace, self._options)[0]
        return known

    def states(self) -> dict[str, Feed]:
        return self._feeds.states()

    def objects(self, feed: str, key: RuntimeKey) -> tuple[Object, ...]:
        """Return one runtime's Kymas and Manifests; the catalog is common to its namespace."""
        objects = self._feeds.objects(feed)
        with self._changed:
            known = self._indices.get(feed)
            if known is None or known[0] is not objects:
                known = self._indices[feed] = (objects, index_objects(feed, objects))
        return known[1].get(key if feed in (_KYMAS.feed, _MANIFESTS.feed) else (key[0], ""), ())

    def retry(self) -> None:
        self._feeds.retry()

    def close(self) -> None:
        self._feeds.close()
        self.home.close()

    def _ring(self) -> None:
        with self._changed:
            self._changed.notify_all()
            parts = self._parts
        for part in parts:
            part.on_change()


class RuntimeShare:
    """One runtime's share; in the place of the `Feeds` of a session of its own."""

    def __init__(self, plane: ControlPlane, key: RuntimeKey, on_change: Callable[[], None]) -> None:
        self.plane, self._key, self.on_change = plane, key, on_change

    def states(self) -> dict[str, Feed]:
        return self.plane.states()

    def objects(self, feed: str) -> tuple[Object, ...]:
        return self.plane.objects(feed, self._key)

    def retry(self) -> None:
        self.plane.retry()

    def close(self, timeout: float = 0.0) -> None:
        del timeout
        self.plane.leave(self)


def index_objects(feed: str, objects: Sequence[Object]) -> Mapping[RuntimeKey, tuple[Object, ...]]:
    """Sort objects by namespace and runtime; what is no text counts as absent."""
    by_runtime: dict[RuntimeKey, list[Object]] = {}
    for raw in objects:
        metadata = JsonReader(JsonReader(raw).mapping("metadata"))
        name = ""
        if feed == _KYMAS.feed:
            name = metadata.text("name")
        elif feed == _MANIFESTS.feed:
            name = metadata.labels("labels").get(LABEL_KYMA_NAME, "")
        by_runtime.setdefault((metadata.text("namespace"), name), []).append(raw)
    return {key: tuple(some) for key, some in by_runtime.items()}
