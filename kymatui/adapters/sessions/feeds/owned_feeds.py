"""What a module installed, and what controllers made of it: followed while somebody looks at its tree."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from kymatui.adapters.kube.objects.api_resource import ApiResource
from kymatui.adapters.kube.watch.projections import MetadataOnly, StatusOnly, Workload
from kymatui.adapters.sessions.feeds.namespace_feeds import FollowedKind, NamespaceFollower, namespaces
from kymatui.domain.kubernetes.refs import GroupVersionKind, ObjectRef

if TYPE_CHECKING:
    from kymatui.adapters.kube.api.discovery import Discovery
    from kymatui.adapters.sessions.feeds.feeds import Feeds

KEPT = 2000
"""How many objects of a kind and namespace are kept, the newest."""
KINDS = 40
"""How many kinds of an inventory are followed, each in each of its namespaces."""
_PODS = "apps", "batch"
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


class OwnedFollower(NamespaceFollower):
    """Secrets and the like are followed by their metadata alone."""

    def __init__(self, feeds: Feeds, discovery: Discovery) -> None:
        super().__init__(feeds)
        self._discovery = discovery

    def followed_kinds(self, refs: tuple[ObjectRef, ...]) -> Iterator[FollowedKind]:
        workloads = [ref for ref in refs if ref.kind.group in _PODS or (ref.kind.group, ref.kind.kind) == _POD]
        yield from self._made(namespaces(workloads, ""))
        asked = dict.fromkeys((ref.kind, ref.namespace) for ref in refs)
        for kind, namespace in list(asked)[:KINDS]:
            yield from self._installed(kind, namespace)

    def _made(self, places: tuple[str, ...]) -> Iterator[FollowedKind]:
        """Yield groups that every API server serves, each in its one version: discovery has nothing to add."""
        verbs = ("get", "list", "watch")
        for place in filter(None, places):
            yield FollowedKind(
                ApiResource("apps", "v1", "ReplicaSet", "replicasets", True, verbs), place, Workload, KEPT
            )
            yield FollowedKind(ApiResource("", "v1", "Pod", "pods", True, verbs), place, StatusOnly, KEPT)
            yield FollowedKind(ApiResource("batch", "v1", "Job", "jobs", True, verbs), place, StatusOnly, KEPT)

    def _installed(self, kind: GroupVersionKind, namespace: str) -> Iterator[FollowedKind]:
        """Yield a kind of the inventory, unless all of it is watched anyway or the cluster does not serve it."""
        resource = self._discovery.find_kind(kind.group, kind.kind, (kind.version,))
        if resource is None or "watch" not in resource.verbs or resource.name in self._feeds.states():
            return
        if (kind.group, kind.kind) in (("apps", "ReplicaSet"), ("", "Pod"), ("batch", "Job")):
            return
        inert = kind.group in _INERT and (kind.group, kind.kind) not in _WHOLE
        where = namespace if resource.namespaced else ""
        if resource.namespaced == bool(namespace):
            yield FollowedKind(resource, where, MetadataOnly if inert else None, KEPT, metadata_only=inert)
