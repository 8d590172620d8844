"""Kinds that are followed only where somebody looks: a list and a watch a namespace, for as long as it is asked for."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from kymatui.domain.refs import ObjectRef
from kymatui.domain.snapshots import Object, place_feed

if TYPE_CHECKING:
    from kymatui.adapters.kube.resources import Resource
    from kymatui.wiring.feeds import Feeds

NAMESPACES = 6
"""How many namespaces are followed at a time; whoever asks for more gets the first ones."""
CLUSTER_SCOPED = "default"  # where the events of objects without a namespace are


@dataclass(frozen=True, slots=True)
class Followed:
    """A kind, how its objects are decoded, and how many of a namespace are kept, the newest (0: all)."""

    resource: Resource
    decode: Any = None
    newest: int = 0


class NamespaceFollower:
    """What is followed is replaced as a whole by the next call; nothing is asked for by itself."""

    def __init__(self, feeds: Feeds) -> None:
        self._feeds = feeds
        self._names: tuple[str, ...] = ()

    def kinds(self) -> Sequence[Followed]:
        """What is followed in each namespace; asked for when it is wanted, as it needs the client."""
        raise AssertionError(f"{type(self).__name__} follows nothing")

    def follow(self, refs: Iterable[ObjectRef]) -> None:
        """Follows the kinds in the namespaces of these objects and in no other; in none with no objects."""
        places = tuple(dict.fromkeys(ref.namespace or CLUSTER_SCOPED for ref in refs))[:NAMESPACES]
        kinds = self.kinds() if places else ()
        wanted = {place_feed(kind.resource.plural, place): (kind, place) for place in places for kind in kinds}
        for name in self._names:
            if name not in wanted:
                self._feeds.drop(name)
        self._names = tuple(wanted)
        for name, (kind, place) in wanted.items():
            self._feeds.follow(name, kind.resource, only=place, decode=kind.decode, newest=kind.newest)

    def objects(self) -> tuple[Object, ...]:
        """All that are known now, in no order."""
        return tuple(item for name in self._names for item in self._feeds.objects(name))
