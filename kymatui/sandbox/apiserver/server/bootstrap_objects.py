"""Bootstrap objects of a cluster: namespaces, the `kubernetes` service, default roles."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from kymatui.sandbox.apimachinery.local_client import LocalClient

RBAC = "rbac.authorization.k8s.io"
_LABEL = {"kubernetes.io/bootstrapping": "rbac-defaults"}
_ANNOTATION = {"rbac.authorization.kubernetes.io/autoupdate": "true"}
NAMESPACES = ("default", "kube-system", "kube-public", "kube-node-lease")

Rule = dict[str, Any]
_READ = ["get", "list", "watch"]
_WRITE = ["create", "delete", "deletecollection", "patch", "update"]
_CORE = [
    "configmaps",
    "endpoints",
    "persistentvolumeclaims",
    "persistentvolumeclaims/status",
    "pods",
    "replicationcontrollers",
    "replicationcontrollers/scale",
    "serviceaccounts",
    "services",
    "services/status",
]
_CORE_READ = [
    "bindings",
    "events",
    "limitranges",
    "namespaces",
    "namespaces/status",
    "pods/log",
    "pods/status",
    "replicationcontrollers/status",
    "resourcequotas",
    "resourcequotas/status",
]
_APPS = [
    "controllerrevisions",
    "daemonsets",
    "daemonsets/status",
    "deployments",
    "deployments/scale",
    "deployments/status",
    "replicasets",
    "replicasets/scale",
    "replicasets/status",
    "statefulsets",
    "statefulsets/scale",
    "statefulsets/status",
]
_OTHERS: dict[str, list[str]] = {
    "autoscaling": ["horizontalpodautoscalers", "horizontalpodautoscalers/status"],
    "batch": ["cronjobs", "cronjobs/status", "jobs", "jobs/status"],
    "policy": ["poddisruptionbudgets", "poddisruptionbudgets/status"],
    "networking.k8s.io": ["ingresses", "ingresses/status", "networkpolicies"],
}
_WRITABLE = {
    "apps": [name for name in _APPS if not name.endswith("/status") and name != "controllerrevisions"],
    **{group: [name for name in names if "/" not in name] for group, names in _OTHERS.items()},
}


def _rule(groups: list[str], resources: list[str], verbs: list[str]) -> Rule:
    return {"apiGroups": groups, "resources": resources, "verbs": verbs}


def _paths(urls: list[str]) -> Rule:
    return {"nonResourceURLs": urls, "verbs": ["get"]}


_DISCOVERY = [
    "/api",
    "/api/*",
    "/apis",
    "/apis/*",
    "/healthz",
    "/livez",
    "/openapi",
    "/openapi/*",
    "/readyz",
    "/version",
    "/version/",
]
_PUBLIC = ["/healthz", "/livez", "/readyz", "/version", "/version/"]
_SELF = [
    _rule(["authorization.k8s.io"], ["selfsubjectaccessreviews", "selfsubjectrulesreviews"], ["create"]),
    _rule(["authentication.k8s.io"], ["selfsubjectreviews"], ["create"]),
]
_VIEW = [
    _rule([""], [*_CORE, *_CORE_READ], _READ),
    _rule(["discovery.k8s.io"], ["endpointslices"], _READ),
    _rule(["apps"], _APPS, _READ),
    *(_rule([group], names, _READ) for group, names in _OTHERS.items()),
]
_EDIT = [
    _rule([""], ["pods/attach", "pods/exec", "pods/portforward", "pods/proxy", "secrets", "services/proxy"], _READ),
    _rule([""], ["serviceaccounts"], ["impersonate"]),
    _rule([""], ["pods", "pods/attach", "pods/exec", "pods/portforward", "pods/proxy"], _WRITE),
    _rule([""], ["pods/eviction"], ["create"]),
    _rule(
        [""],
        [
            "configmaps",
            "events",
            "persistentvolumeclaims",
            "replicationcontrollers",
            "replicationcontrollers/scale",
            "secrets",
            "serviceaccounts",
            "services",
            "services/proxy",
        ],
        _WRITE,
    ),
    _rule([""], ["serviceaccounts/token"], ["create"]),
    *(_rule([group], names, _WRITE) for group, names in _WRITABLE.items()),
    _rule(["coordination.k8s.io"], ["leases"], [*_READ, *_WRITE]),
]
_ADMIN = [
    _rule(["authorization.k8s.io"], ["localsubjectaccessreviews"], ["create"]),
    _rule([RBAC], ["rolebindings", "roles"], [*_READ, *_WRITE]),
]


def _role(name: str, rules: list[Rule], labels: dict[str, str] | None = None) -> dict[str, Any]:
    metadata = {"name": name, "labels": {**_LABEL, **(labels or {})}, "annotations": dict(_ANNOTATION)}
    return {"metadata": metadata, "rules": rules}


def _aggregated(name: str, target: str, rules: list[Rule], labels: dict[str, str] | None = None) -> dict[str, Any]:
    key = f"rbac.authorization.k8s.io/aggregate-to-{target}"
    selector = {"clusterRoleSelectors": [{"matchLabels": {key: "true"}}]}
    return {**_role(name, rules, labels), "aggregationRule": selector}


def _to(target: str) -> dict[str, str]:
    return {f"rbac.authorization.k8s.io/aggregate-to-{target}": "true"}


def cluster_roles() -> Iterator[dict[str, Any]]:
    """Yield the default ClusterRoles that clients use."""
    everything = {"nonResourceURLs": ["*"], "verbs": ["*"]}
    yield _role("cluster-admin", [_rule(["*"], ["*"], ["*"]), everything])
    yield _role("system:discovery", [_paths(_DISCOVERY)])
    yield _role("system:public-info-viewer", [_paths(_PUBLIC)])
    yield _role("system:basic-user", _SELF)
    keys = [
        "/.well-known/openid-configuration",
        "/.well-known/openid-configuration/",
        "/openid/v1/jwks",
        "/openid/v1/jwks/",
    ]
    yield _role("system:service-account-issuer-discovery", [_paths(keys)])
    yield _role("system:aggregate-to-view", _VIEW, _to("view"))
    yield _role("system:aggregate-to-edit", _EDIT, _to("edit"))
    yield _role("system:aggregate-to-admin", _ADMIN, _to("admin"))
    yield _aggregated("view", "view", _VIEW, _to("edit"))
    yield _aggregated("edit", "edit", [*_EDIT, *_VIEW], _to("admin"))
    yield _aggregated("admin", "admin", [*_ADMIN, *_EDIT, *_VIEW])


def cluster_role_bindings() -> Iterator[dict[str, Any]]:
    """Yield the default ClusterRoleBindings that clients use."""
    everyone = ["system:authenticated"]
    for name, groups in (
        ("cluster-admin", ["system:masters"]),
        ("system:discovery", everyone),
        ("system:basic-user", everyone),
        ("system:public-info-viewer", [*everyone, "system:unauthenticated"]),
        ("system:service-account-issuer-discovery", ["system:serviceaccounts"]),
    ):
        yield {
            "metadata": {"name": name, "labels": dict(_LABEL), "annotations": dict(_ANNOTATION)},
            "roleRef": {"apiGroup": RBAC, "kind": "ClusterRole", "name": name},
            "subjects": [{"apiGroup": RBAC, "kind": "Group", "name": group} for group in groups],
        }


def populate(client: LocalClient, port: int) -> None:
    """Create the bootstrap objects in an empty cluster, as the API server itself does."""
    client = client.named("kube-apiserver")
    for name in NAMESPACES:
        client.create("namespaces", {"metadata": {"name": name}})
    for role in cluster_roles():
        client.create(f"clusterroles.{RBAC}", role)
    for binding in cluster_role_bindings():
        client.create(f"clusterrolebindings.{RBAC}", binding)
    for name, value in (("system-cluster-critical", 2_000_000_000), ("system-node-critical", 2_000_001_000)):
        client.create(
            "priorityclasses.scheduling.k8s.io",
            {"metadata": {"name": name}, "value": value, "preemptionPolicy": "PreemptLowerPriority"},
        )
    labels = {"component": "apiserver", "provider": "kubernetes"}
    client.create(
        "services",
        {
            "metadata": {"name": "kubernetes", "namespace": "default", "labels": labels},
            "spec": {"ports": [{"name": "https", "port": 443, "protocol": "TCP", "targetPort": port}]},
        },
    )
