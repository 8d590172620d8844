"""What a module installed, and what controllers made of it: followed while somebody looks at its tree."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from kymatui.adapters.kube.objects.api_resource import ApiResource
from kymatui.adapters.kube.watch.projections import MetadataOnly, StatusOnly, Workload
from kymatui.domain.kubernetes.refs import GroupVersionKind, ObjectRef
from kymatui.domain.modules.readiness import unready_managers
from kymatui.domain.snapshot.read_cache import ReadCache
from kymatui.errors import KymatuiError
from kymatui.sessions.feeds.namespace_feeds import NAMESPACES, FollowedKind, NamespaceFollower, namespaces
from kymatui.sessions.feeds.watched_kinds import KYMA_KINDS, WATCHED_KINDS, WORKLOADS

if TYPE_CHECKING:
    from kymatui.adapters.kube.api.discovery import Discovery
    from kymatui.sessions.feeds.feeds import Feeds

KEPT = 2000
"""How many objects of a kind and namespace are kept, the newest."""
KINDS = 40
"""How many kinds of an inventory are followed, each in each of its namespaces."""
_PODS = "apps", "batch"
_VERBS = ("get", "list", "watch")
_POD = "", "Pod"
_WHOLE = frozenset({("", "Service"), ("", "PersistentVolumeClaim"), ("", "Namespace"), ("", "Pod")})
# Groups whose objects do nothing by themselves: that they are there is all there is to say, and Secrets stay unread.
_INERT = frozenset(
    {
        "",
        "rbac.authorization.k8s.io",
        "admissionregistration.k8s.io",
        "networking.k8s.io",
        "policy",
        "scheduling.k8s.io",
        "coordination.k8s.io",
        "storage.k8s.io",
        "autoscaling",
    }
)


_SELECTED = frozenset(fixed.feed for fixed in WATCHED_KINDS if fixed.labels)
"""Feeds of kinds of which only some objects are watched."""


class OwnedFollower(NamespaceFollower):
    """Secrets and the like are followed by their metadata alone."""

    def __init__(self, feeds: Feeds, discovery: Discovery) -> None:
        super().__init__(feeds)
        self._discovery = discovery
        self._refs: tuple[ObjectRef, ...] = ()
        self._pods_in: tuple[str, ...] = ()
        self._cache = ReadCache()

    def follow(self, refs: Iterable[ObjectRef]) -> None:
        self._refs = tuple(refs)
        super().follow(self._refs)

    def follow_failing(self) -> None:
        """Follow the Pods where a manager is not ready, too; once followed they stay, as it may fail again."""
        templates = self._feeds.objects(KYMA_KINDS[1].feed)
        workloads = tuple(item for fixed in WORKLOADS for item in self._feeds.objects(fixed.feed))
        unready = self._cache.recall(
            "unready", (workloads, templates), lambda: unready_managers(workloads, templates, time.time())
        )
        places = tuple(dict.fromkeys((*self._pods_in, *(ref.namespace for ref in unready))))
        if places != self._pods_in:
            self._pods_in = places
            with contextlib.suppress(KymatuiError):  # without discovery what was followed stays
                super().follow(self._refs)

    def followed_kinds(self, refs: tuple[ObjectRef, ...]) -> Iterator[FollowedKind]:
        workloads = [ref for ref in refs if ref.kind.group in _PODS or (ref.kind.group, ref.kind.kind) == _POD]
        yield from self._made(namespaces(workloads, ""))
        asked = dict.fromkeys((ref.kind, ref.namespace) for ref in refs)
        for kind, namespace in list(asked)[:KINDS]:
            yield from self._installed(kind, namespace)
        for place in self._pods_in[:NAMESPACES]:
            yield _pods(place)

    def _made(self, places: tuple[str, ...]) -> Iterator[FollowedKind]:
        """Yield groups that every API server serves, each in its one version: discovery has nothing to add."""
        for place in filter(None, places):
            yield FollowedKind(
                ApiResource("apps", "v1", "ReplicaSet", "replicasets", True, _VERBS), place, Workload, KEPT
            )
            yield _pods(place)
            yield FollowedKind(ApiResource("batch", "v1", "Job", "jobs", True, _VERBS), place, StatusOnly, KEPT)

    def _installed(self, kind: GroupVersionKind, namespace: str) -> Iterator[FollowedKind]:
        """Yield a kind of the inventory, unless all of it is watched anyway or the cluster does not serve it."""
        resource = self._discovery.find_kind(kind.group, kind.kind, (kind.version,))
        if resource is None or "watch" not in resource.verbs:
            return
        if resource.name in self._feeds.states() and resource.name not in _SELECTED:
            return
        if (kind.group, kind.kind) in (("apps", "ReplicaSet"), ("", "Pod"), ("batch", "Job")):
            return
        inert = kind.group in _INERT and (kind.group, kind.kind) not in _WHOLE
        where = namespace if resource.namespaced else ""
        if resource.namespaced == bool(namespace):
            yield FollowedKind(resource, where, MetadataOnly if inert else None, KEPT, metadata_only=inert)


def _pods(namespace: str) -> FollowedKind:
    return FollowedKind(ApiResource("", "v1", "Pod", "pods", True, _VERBS), namespace, StatusOnly, KEPT)
