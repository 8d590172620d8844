"""The events of what somebody looks at."""

from __future__ import annotations

from collections.abc import Iterator

from kymatui.adapters.kube.objects.api_resource import ApiResource
from kymatui.adapters.kube.watch.projections import EventFields
from kymatui.domain.kubernetes.refs import ObjectRef
from kymatui.domain.snapshot.snapshots import EVENTS, namespaced_feed
from kymatui.sessions.feeds.namespace_feeds import FollowedKind, NamespaceFollower, namespaces

__all__ = ["KEPT", "EventFollower", "feed_name"]

KEPT = 1000
"""How many events of a namespace are kept, the newest; a namespace in trouble holds tens of thousands."""


class EventFollower(NamespaceFollower):
    """Events of core/v1."""

    def followed_kinds(self, refs: tuple[ObjectRef, ...]) -> Iterator[FollowedKind]:
        """Yield the Event feeds of core/v1, which every API server serves; needs no discovery."""
        resource = ApiResource("", "v1", "Event", "events", True, ("get", "list", "watch"))
        for namespace in namespaces(refs):
            yield FollowedKind(resource, namespace, EventFields, KEPT)


def feed_name(namespace: str) -> str:
    return namespaced_feed(EVENTS, namespace)
