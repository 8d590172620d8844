"""Kinds that are followed only where somebody looks: a list and a watch a namespace, for as long as it is asked for."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from kymatui.domain.kubernetes.refs import ObjectRef
from kymatui.domain.snapshot.snapshots import FeedState, NamespacedKind, Object, namespaced_feed

if TYPE_CHECKING:
    from kymatui.adapters.kube.objects.api_resource import ApiResource
    from kymatui.sessions.feeds.feeds import Feeds

NAMESPACES = 6
"""How many namespaces are followed at a time; whoever asks for more gets the first ones."""
CLUSTER_SCOPED = "default"  # where the events of objects without a namespace are


class FollowedKind(Struct, frozen=True):
    """A kind in one namespace ("" for one that has none), how its objects are decoded, and how many are kept.

    Of `newest` objects only the last so many (0: all); `metadata_only` asks the server for no more than that.
    """

    resource: ApiResource
    namespace: str
    decode: Any = None
    newest: int = 0
    metadata_only: bool = False

    @property
    def feed(self) -> str:
        return namespaced_feed(self.resource.plural, self.namespace or "the cluster")

    @property
    def place(self) -> NamespacedKind:
        return self.resource.group, self.resource.kind, self.namespace


class NamespaceFollower:
    """What is followed is replaced as a whole by the next call; nothing is asked for by itself."""

    def __init__(self, feeds: Feeds) -> None:
        self._feeds = feeds
        self._followed: Mapping[str, FollowedKind] = {}

    def followed_kinds(self, refs: tuple[ObjectRef, ...]) -> Iterator[FollowedKind]:
        """Yield the kinds to follow for these objects."""
        raise AssertionError(f"{type(self).__name__} follows nothing")

    def follow(self, refs: Iterable[ObjectRef]) -> None:
        """Follow exactly the kinds that these objects need; none without objects."""
        targets = {followed.feed: followed for followed in self.followed_kinds(tuple(refs))}
        for name in self._followed:
            if name not in targets:
                self._feeds.drop(name)
        self._followed = targets
        for name, followed in targets.items():
            self._feeds.follow(
                name,
                followed.resource,
                only=followed.namespace,
                decode=followed.decode,
                newest=followed.newest,
                metadata_only=followed.metadata_only,
            )

    def objects(self) -> tuple[Object, ...]:
        """Return all objects known now, in no order."""
        return tuple(item for name in self._followed for item in self._feeds.objects(name))

    def places(self) -> frozenset[NamespacedKind]:
        """Return the kinds and namespaces that are listed completely: a missing object does not exist."""
        states = self._feeds.states()
        return frozenset(
            followed.place
            for name, followed in self._followed.items()
            if name in states and states[name].state in (FeedState.LIVE, FeedState.STALE)
        )


def namespaces(refs: Iterable[ObjectRef], cluster_scoped: str = CLUSTER_SCOPED) -> tuple[str, ...]:
    """Return the first few namespaces of objects; `cluster_scoped` for objects without one."""
    return tuple(dict.fromkeys(ref.namespace or cluster_scoped for ref in refs))[:NAMESPACES]
