"""The events of what somebody looks at: one list and watch a namespace, for as long as it is asked for."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from kymatui.domain.refs import ObjectRef
from kymatui.domain.snapshots import Object

if TYPE_CHECKING:
    from kymatui.wiring.feeds import Feeds

NAMESPACES = 6
"""How many namespaces are followed at a time; whoever asks for more gets the first ones."""
KEPT = 1000
"""How many events of a namespace are kept, the newest; a namespace in trouble holds tens of thousands."""
_CLUSTER_SCOPED = "default"  # where the events of objects without a namespace are


class EventFollower:
    """What is followed is replaced as a whole by the next call; nothing is asked for by itself."""

    def __init__(self, feeds: Feeds) -> None:
        self._feeds = feeds
        self._names: tuple[str, ...] = ()

    def follow(self, refs: Iterable[ObjectRef]) -> None:
        """Follows the events in the namespaces of these objects and in no other; of none with no objects."""
        from kymatui.adapters.kube.projections import Event
        from kymatui.adapters.kube.resources import Resource

        places = tuple(dict.fromkeys(ref.namespace or _CLUSTER_SCOPED for ref in refs))[:NAMESPACES]
        # The group that every API server serves, in its one version: discovery has nothing to add.
        resource = Resource("", "v1", "Event", "events", True, ("get", "list", "watch"))
        names = tuple(map(feed_name, places))
        for name in self._names:
            if name not in names:
                self._feeds.drop(name)
        self._names = names
        for place, name in zip(places, names, strict=True):
            self._feeds.follow(name, resource, only=place, decode=Event, newest=KEPT)

    def objects(self) -> tuple[Object, ...]:
        """All events that are known now, in no order."""
        return tuple(item for name in self._names for item in self._feeds.objects(name))


def feed_name(namespace: str) -> str:
    return f"events in {namespace}"
