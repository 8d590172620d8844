"""What controllers make of the workloads that somebody looks at: ReplicaSets, Pods, Jobs."""

from __future__ import annotations

from collections.abc import Sequence

from kymatui.wiring.namespaced import Followed, NamespaceFollower

KEPT = 2000
"""How many objects of a kind and namespace are kept, the newest."""


class OwnedFollower(NamespaceFollower):
    """Groups that every API server serves, each in its one version: discovery has nothing to add."""

    def kinds(self) -> Sequence[Followed]:
        from kymatui.adapters.kube.projections import Status, Workload
        from kymatui.adapters.kube.resources import Resource

        verbs = ("get", "list", "watch")
        return (
            Followed(Resource("apps", "v1", "ReplicaSet", "replicasets", True, verbs), Workload, KEPT),
            Followed(Resource("", "v1", "Pod", "pods", True, verbs), Status, KEPT),
            Followed(Resource("batch", "v1", "Job", "jobs", True, verbs), Status, KEPT),
        )
