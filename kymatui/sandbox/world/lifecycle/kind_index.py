"""Mapping of kinds to resources: a table for built-in kinds, the cluster's CRDs for others."""

from __future__ import annotations

from kymatui.sandbox.apimachinery.object_store import ObjectStore

DEFINITIONS = "customresourcedefinitions.apiextensions.k8s.io"
_BUILTIN: dict[tuple[str, str], str] = {
    ("", kind): plural
    for kind, plural in {
        "Namespace": "namespaces",
        "ConfigMap": "configmaps",
        "Secret": "secrets",
        "ServiceAccount": "serviceaccounts",
        "Service": "services",
        "Endpoints": "endpoints",
        "Pod": "pods",
        "PersistentVolumeClaim": "persistentvolumeclaims",
        "PersistentVolume": "persistentvolumes",
        "Node": "nodes",
        "Event": "events",
        "LimitRange": "limitranges",
        "ResourceQuota": "resourcequotas",
    }.items()
}
_GROUPS: dict[str, dict[str, str]] = {
    "apps": {
        "Deployment": "deployments",
        "StatefulSet": "statefulsets",
        "DaemonSet": "daemonsets",
        "ReplicaSet": "replicasets",
    },
    "batch": {"Job": "jobs", "CronJob": "cronjobs"},
    "rbac.authorization.k8s.io": {
        "Role": "roles",
        "RoleBinding": "rolebindings",
        "ClusterRole": "clusterroles",
        "ClusterRoleBinding": "clusterrolebindings",
    },
    "networking.k8s.io": {"Ingress": "ingresses", "NetworkPolicy": "networkpolicies", "IngressClass": "ingressclasses"},
    "policy": {"PodDisruptionBudget": "poddisruptionbudgets"},
    "autoscaling": {"HorizontalPodAutoscaler": "horizontalpodautoscalers"},
    "coordination.k8s.io": {"Lease": "leases"},
    "scheduling.k8s.io": {"PriorityClass": "priorityclasses"},
    "storage.k8s.io": {"StorageClass": "storageclasses"},
    "discovery.k8s.io": {"EndpointSlice": "endpointslices"},
    "apiextensions.k8s.io": {"CustomResourceDefinition": "customresourcedefinitions"},
    "admissionregistration.k8s.io": {
        "ValidatingWebhookConfiguration": "validatingwebhookconfigurations",
        "MutatingWebhookConfiguration": "mutatingwebhookconfigurations",
        "ValidatingAdmissionPolicy": "validatingadmissionpolicies",
        "ValidatingAdmissionPolicyBinding": "validatingadmissionpolicybindings",
    },
}
_CLUSTER_SCOPED = {
    "Namespace",
    "Node",
    "PersistentVolume",
    "ClusterRole",
    "ClusterRoleBinding",
    "PriorityClass",
    "StorageClass",
    "IngressClass",
    "CustomResourceDefinition",
    "ValidatingWebhookConfiguration",
    "MutatingWebhookConfiguration",
    "ValidatingAdmissionPolicy",
    "ValidatingAdmissionPolicyBinding",
}
_BUILTIN.update({(group, kind): f"{p}.{group}" for group, kinds in _GROUPS.items() for kind, p in kinds.items()})


class KindIndex:
    """Finds the resource of a kind and caches it, since a CRD's names do not change."""

    def __init__(self, store: ObjectStore) -> None:
        self._store = store
        self._found: dict[tuple[str, str], tuple[str, bool]] = {
            key: (resource, key[1] not in _CLUSTER_SCOPED) for key, resource in _BUILTIN.items()
        }

    def find(self, api_version: str, kind: str) -> tuple[str, bool] | None:
        """Return ("deployments.apps", namespaced), or None if no CRD has the kind."""
        group = api_version.rpartition("/")[0]
        entry = self._found.get((group, kind))
        if entry is None:
            self._learn()
            entry = self._found.get((group, kind))
        return entry

    def _learn(self) -> None:
        for stored in self._store.walk(DEFINITIONS):
            spec = stored.body()["spec"]
            key = (spec["group"], spec["names"]["kind"])
            self._found[key] = (stored.name, spec.get("scope") == "Namespaced")
