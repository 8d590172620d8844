"""The events of what somebody looks at."""

from __future__ import annotations

from collections.abc import Iterator

from kymatui.domain.refs import ObjectRef
from kymatui.domain.snapshots import place_feed
from kymatui.wiring.namespaced import NAMESPACES, Followed, NamespaceFollower, namespaces

__all__ = ["KEPT", "NAMESPACES", "EventFollower", "feed_name"]

KEPT = 1000
"""How many events of a namespace are kept, the newest; a namespace in trouble holds tens of thousands."""


class EventFollower(NamespaceFollower):
    """Events of core/v1."""

    def wanted(self, refs: tuple[ObjectRef, ...]) -> Iterator[Followed]:
        """The group that every API server serves, in its one version: discovery has nothing to add."""
        from kymatui.adapters.kube.projections import Event
        from kymatui.adapters.kube.resources import Resource

        resource = Resource("", "v1", "Event", "events", True, ("get", "list", "watch"))
        for namespace in namespaces(refs):
            yield Followed(resource, namespace, Event, KEPT)


def feed_name(namespace: str) -> str:
    return place_feed("events", namespace)
