"""The objects that run the operator in a cluster: account, least RBAC, Deployment, what protects and monitors it."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from enum import StrEnum
from typing import Any, Final

from msgspec import Struct
from msgspec.structs import replace

from kymatui.domain.kubernetes.object_meta import OPERATOR
from kymatui.domain.remote.watcher_agent import CERT_MANAGER, AgentOptions
from kymatui.domain.remote.watcher_routes import ISTIO
from kymatui.domain.rights import RBAC, GrantedRequest, role_rules
from kymatui.engine.deletion.operator_deletion import OPERATOR_RELEASE
from kymatui.operator.framework.controller_group import LEADER_NAMESPACE
from kymatui.operator.manifests.manifest_marks import MANIFEST_ACCOUNT
from kymatui.operator.monitoring.operator_metrics import (
    KYMA_STATE,
    RECONCILE_ERRORS,
    RECONCILE_PANICS,
    RECONCILE_TOTAL,
    WORKQUEUE_DEPTH,
)

MONITORING: Final = "monitoring.coreos.com/v1"
SCRAPE_INTERVAL: Final = "30s"
_ERROR_RATIO: Final = 0.5  # of a controller's reconciliations
_LONG_QUEUE: Final = 100  # objects that wait for a worker


def service_monitor_spec(labels: dict[str, str]) -> dict[str, Any]:
    """Return the spec of a ServiceMonitor for the Service with these labels."""
    return {"selector": {"matchLabels": labels}, "endpoints": [{"port": "metrics", "interval": SCRAPE_INTERVAL}]}


def prometheus_rule_spec(name: str, namespace: str) -> dict[str, Any]:
    """Return the spec of a PrometheusRule; `name` is that of the Service, which Prometheus takes for the job."""
    job = f'job="{name}",namespace="{namespace}"'
    errors = f"sum by (controller) (rate({RECONCILE_ERRORS.name}{{{job}}}[10m]))"
    total = f"sum by (controller) (rate({RECONCILE_TOTAL.name}{{{job}}}[10m]))"
    rules = [
        _alert(
            "KymatuiOperatorDown",
            f"absent(up{{{job}}} == 1)",
            "5m",
            "critical",
            "No Pod of kymatui's operator answers; Kymas and modules are not reconciled.",
        ),
        _alert(
            "KymatuiOperatorKymaError",
            f'max by (kyma_name) ({KYMA_STATE.name}{{{job},state="Error"}}) == 1',
            "15m",
            "warning",
            "Kyma {{ $labels.kyma_name }} has been in state Error for 15 minutes.",
        ),
        _alert(
            "KymatuiOperatorReconcileErrors",
            f"{errors} / {total} > {_ERROR_RATIO}",
            "15m",
            "warning",
            "Most reconciliations of controller {{ $labels.controller }} fail.",
        ),
        _alert(
            "KymatuiOperatorBug",
            f"sum by (controller) (increase({RECONCILE_PANICS.name}{{{job}}}[1h])) > 0",
            "1m",
            "warning",
            "A bug ended reconciliations of controller {{ $labels.controller }}; the log has its traceback.",
        ),
        _alert(
            "KymatuiOperatorQueue",
            f"max by (name) ({WORKQUEUE_DEPTH.name}{{{job}}}) > {_LONG_QUEUE}",
            "15m",
            "warning",
            "{{ $value }} objects wait for controller {{ $labels.name }}.",
        ),
    ]
    return {"groups": [{"name": name, "rules": rules}]}


def _alert(alert: str, expression: str, duration: str, severity: str, summary: str) -> dict[str, Any]:
    return {
        "alert": alert,
        "expr": expression,
        "for": duration,
        "labels": {"severity": severity},
        "annotations": {"summary": summary},
    }


NAMESPACE_NAME: Final = "kubernetes.io/metadata.name"
METRICS_PORT: Final = 8080  # as in deploy/chart
EVENTS_PORT: Final = 8082  # as in deploy/chart
_USER: Final = 65532  # as in deploy/Dockerfile
_LABELS: Final = {"app.kubernetes.io/name": OPERATOR_RELEASE}
Object = dict[str, Any]


class DeploymentOptions(Struct, frozen=True):
    """The options.

    image           reference of kymatui's image
    namespace       the namespace of Kymas and access Secrets, where the operator runs, too
    replicas        one works, the others wait for its Lease
    controllers     names; empty: all
    tenants         further namespaces with Manifests
    account         their ServiceAccount, with whose rights these are installed
    gateways        networks of gateways that forward events; "": no listener
    scrapers        namespaces and networks (CIDR) that may read metrics, besides the node of the Pod
    single_cluster  grant what modules of the operator's own cluster need: everything
    agent           the watcher's agent on runtimes; None: none is installed
    arguments       further arguments of `kymatui operator run`
    monitor         a ServiceMonitor for a Prometheus Operator
    alerts          a PrometheusRule
    """

    image: str
    namespace: str
    replicas: int = 2
    controllers: Sequence[str] = ()
    tenants: Sequence[str] = ()
    account: str = MANIFEST_ACCOUNT
    gateways: str = ""
    scrapers: Sequence[str] = ()
    single_cluster: bool = False
    agent: AgentOptions | None = None
    arguments: Sequence[str] = ()
    monitor: bool = False
    alerts: bool = False

    @property
    def has_listener(self) -> bool:
        return bool(self.gateways)


def operator_objects(options: DeploymentOptions) -> list[Object]:
    """Return the objects in the order in which they are applied. Namespace and CRDs are not among them."""
    return [
        _namespaced("v1", "ServiceAccount", options, {"automountServiceAccountToken": False}),
        *_access(options),
        _service(options),
        _network_policy(options),
        _disruption_budget(options),
        _deployment(options),
        *_monitoring(options),
    ]


def _object(api_version: str, kind: str, name: str, namespace: str, body: Mapping[str, Any]) -> Object:
    metadata: Object = {"name": name, **({"namespace": namespace} if namespace else {}), "labels": dict(_LABELS)}
    return {"apiVersion": api_version, "kind": kind, "metadata": metadata, **body}


def _namespaced(api_version: str, kind: str, options: DeploymentOptions, body: Mapping[str, Any]) -> Object:
    return _object(api_version, kind, OPERATOR_RELEASE, options.namespace, body)


# RBAC


def _access(options: DeploymentOptions) -> Iterator[Object]:
    roles = [
        (OPERATOR_RELEASE, "", PermissionScope.CLUSTER),
        (OPERATOR_RELEASE, options.namespace, PermissionScope.HOME),
        (f"{OPERATOR_RELEASE}-lease", LEADER_NAMESPACE, PermissionScope.LEASE),
        *((OPERATOR_RELEASE, namespace, PermissionScope.TENANT) for namespace in options.tenants),
    ]
    if options.agent is not None:
        roles.append((f"{OPERATOR_RELEASE}-certificates", options.agent.namespace, PermissionScope.CERTIFICATES))
    permissions = _permissions(options)
    for name, namespace, scope in roles:
        requests = [
            request for permission in permissions if permission.scope is scope for request in permission.requests
        ]
        kind = "Role" if namespace else "ClusterRole"
        yield _object(f"{RBAC}/v1", kind, name, namespace, {"rules": role_rules(requests)})
        yield _binding(options, name, namespace, name)
    if options.single_cluster:
        yield _binding(options, f"{OPERATOR_RELEASE}-modules", "", "cluster-admin")


def _permissions(options: DeploymentOptions) -> list[Permission]:
    names = options.controllers or tuple(CONTROLLER_PERMISSIONS)
    permissions = [permission for name in names for permission in CONTROLLER_PERMISSIONS[name]]
    listener = LISTENER_PERMISSIONS if options.has_listener else ()
    agent = AGENT_PERMISSIONS if options.agent is not None else ()
    tenant = tenant_permissions(options.account)
    return [*permissions, *GROUP_PERMISSIONS, *METRICS_PERMISSIONS, *listener, *agent, *tenant]


def _binding(options: DeploymentOptions, name: str, namespace: str, role: str) -> Object:
    kind = "Role" if namespace else "ClusterRole"
    subject = {"kind": "ServiceAccount", "name": OPERATOR_RELEASE, "namespace": options.namespace}
    body = {"roleRef": {"apiGroup": RBAC, "kind": kind, "name": role}, "subjects": [subject]}
    return _object(f"{RBAC}/v1", f"{kind}Binding", name, namespace, body)


# network


def _ports(options: DeploymentOptions) -> dict[str, int]:
    return {"metrics": METRICS_PORT, **({"events": EVENTS_PORT} if options.has_listener else {})}


def _service(options: DeploymentOptions) -> Object:
    ports = [{"name": name, "port": port, "targetPort": name} for name, port in _ports(options).items()]
    return _namespaced("v1", "Service", options, {"spec": {"selector": dict(_LABELS), "ports": ports}})


def _network_policy(options: DeploymentOptions) -> Object:
    """Return the policy: in only to the operator's ports, out only to DNS and TLS ports.

    API servers and registries have addresses that only the cluster's owner knows. Probes need no rule: a Pod's node
    always reaches it.
    """
    ingress: list[Object] = []
    if options.scrapers:  # a rule without sources would let everyone in
        sources = [_source(scraper) for scraper in options.scrapers]
        ingress.append({"from": sources, "ports": [{"protocol": "TCP", "port": METRICS_PORT}]})
    if options.has_listener:
        sources = [{"ipBlock": {"cidr": gateway.strip()}} for gateway in options.gateways.split(",")]
        ingress.append({"from": sources, "ports": [{"protocol": "TCP", "port": EVENTS_PORT}]})
    dns = [{"protocol": protocol, "port": 53} for protocol in ("UDP", "TCP")]
    tls = [{"protocol": "TCP", "port": port} for port in (443, 6443)]
    spec = {
        "podSelector": {"matchLabels": dict(_LABELS)},
        "policyTypes": ["Ingress", "Egress"],
        "ingress": ingress,
        "egress": [{"ports": dns}, {"ports": tls}],
    }
    return _namespaced("networking.k8s.io/v1", "NetworkPolicy", options, {"spec": spec})


def _source(scraper: str) -> Object:
    if "/" in scraper:
        return {"ipBlock": {"cidr": scraper}}
    return {"namespaceSelector": {"matchLabels": {NAMESPACE_NAME: scraper}}}


def _monitoring(options: DeploymentOptions) -> Iterator[Object]:
    if options.monitor:
        yield _namespaced(MONITORING, "ServiceMonitor", options, {"spec": service_monitor_spec(dict(_LABELS))})
    if options.alerts:
        yield _namespaced(
            MONITORING, "PrometheusRule", options, {"spec": prometheus_rule_spec(OPERATOR_RELEASE, options.namespace)}
        )


# the workload


def _disruption_budget(options: DeploymentOptions) -> Object:
    spec = {"maxUnavailable": 1, "selector": {"matchLabels": dict(_LABELS)}}
    return _namespaced("policy/v1", "PodDisruptionBudget", options, {"spec": spec})


def _deployment(options: DeploymentOptions) -> Object:
    spec = {
        "replicas": options.replicas,
        "selector": {"matchLabels": dict(_LABELS)},
        "template": {"metadata": {"labels": dict(_LABELS)}, "spec": _pod(options)},
    }
    return _namespaced("apps/v1", "Deployment", options, {"spec": spec})


def _pod(options: DeploymentOptions) -> Object:
    spread = {
        "maxSkew": 1,
        "topologyKey": "kubernetes.io/hostname",
        "whenUnsatisfiable": "ScheduleAnyway",
        "labelSelector": {"matchLabels": dict(_LABELS)},
    }
    return {
        "serviceAccountName": OPERATOR_RELEASE,
        "automountServiceAccountToken": True,
        "terminationGracePeriodSeconds": 30,
        "securityContext": {
            "runAsNonRoot": True,
            "runAsUser": _USER,
            "runAsGroup": _USER,
            "fsGroup": _USER,
            "seccompProfile": {"type": "RuntimeDefault"},
        },
        "topologySpreadConstraints": [spread],
        "containers": [_container(options)],
        "volumes": [{"name": "work", "emptyDir": {"sizeLimit": "1Gi"}}],
    }


def _container(options: DeploymentOptions) -> Object:
    return {
        "name": "operator",
        "image": options.image,
        "args": operator_arguments(options),
        "env": [{"name": "HOME", "value": "/work"}, {"name": "TMPDIR", "value": "/work"}],
        "ports": [{"name": name, "containerPort": port} for name, port in _ports(options).items()],
        "livenessProbe": _probe("/healthz", 20),
        "readinessProbe": _probe("/readyz", 5),
        "resources": {"requests": {"cpu": "100m", "memory": "256Mi"}, "limits": {"cpu": "2", "memory": "1Gi"}},
        "securityContext": {
            "allowPrivilegeEscalation": False,
            "readOnlyRootFilesystem": True,
            "capabilities": {"drop": ["ALL"]},
        },
        "volumeMounts": [{"name": "work", "mountPath": "/work"}],
    }


def _probe(path: str, seconds: int) -> Object:
    return {"httpGet": {"path": path, "port": "metrics"}, "periodSeconds": seconds, "timeoutSeconds": 5}


def operator_arguments(options: DeploymentOptions) -> list[str]:
    """Return the arguments of the container."""
    arguments = [
        "operator",
        "run",
        f"--namespace={options.namespace}",
        f"--metrics=:{METRICS_PORT}",
        "--log-format=json",
    ]
    if options.controllers:
        arguments.append(f"--controllers={','.join(options.controllers)}")
    if options.tenants:
        arguments += [
            f"--manifest-namespaces={','.join(options.tenants)}",
            f"--manifest-service-account={options.account}",
        ]
    if options.has_listener:
        arguments += [f"--listener=:{EVENTS_PORT}", f"--listener-gateways={options.gateways}"]
    if options.agent is not None:
        arguments += [f"--watcher-image={options.agent.image}", f"--watcher-address={options.agent.address}"]
    if options.single_cluster:
        arguments.append("--single-cluster")
    return [*arguments, *options.arguments]


# The permissions that each controller needs on the control plane, for least RBAC.
#
# On runtimes, the operator has those of the access Secret. On a cluster that is its own runtime, modules decide.


class PermissionScope(StrEnum):
    """Where a permission is needed."""

    CLUSTER = "cluster"
    HOME = "home"  # the namespace of Kymas and access Secrets
    TENANT = "tenant"  # each further namespace with Manifests
    CERTIFICATES = "certificates"  # the namespace of the runtimes' certificates
    LEASE = "lease"  # the namespace of the operator's Lease


class Permission(Struct, frozen=True):
    """Verbs on resources of one API group; `names` restricts them to these objects."""

    group: str
    resources: tuple[str, ...]
    verbs: tuple[str, ...]
    scope: PermissionScope = PermissionScope.CLUSTER
    names: tuple[str, ...] = ()

    @property
    def requests(self) -> Iterator[GrantedRequest]:
        for resource, verb, name in itertools.product(self.resources, self.verbs, self.names or ("",)):
            yield GrantedRequest(self.group, resource, verb, name)


HOME: Final = PermissionScope.HOME
_READ: Final = ("get", "list", "watch")
_FOLLOW: Final = ("list", "watch")
_CATALOG: Final = Permission(OPERATOR, ("modulereleasemetas", "moduletemplates"), _FOLLOW, HOME)
_KYMAS: Final = Permission(OPERATOR, ("kymas",), _READ, HOME)
_SECRETS: Final = Permission("", ("secrets",), ("list",), HOME)
_KYMA_MANIFESTS: Final = Permission(OPERATOR, ("manifests",), (*_READ, "create", "update", "patch", "delete"), HOME)
_OWN_KYMAS: Final = Permission(OPERATOR, ("kymas/finalizers",), ("update",), HOME)
"""What OwnerReferencesPermissionEnforcement asks of the creator of an object that a Kyma owns."""
_CRDS: Final = Permission(
    "apiextensions.k8s.io",
    ("customresourcedefinitions",),
    ("get",),
    names=tuple(f"{plural}.{OPERATOR}" for plural in ("kymas", "modulereleasemetas", "moduletemplates")),
)

_EVENTS: Final = Permission("", ("events",), ("create", "patch"), HOME)

GROUP_PERMISSIONS: Final = (
    Permission(
        "coordination.k8s.io", ("leases",), ("get", "list", "create", "update", "delete"), PermissionScope.LEASE
    ),
    Permission("coordination.k8s.io", ("leases",), ("get",), HOME),
    Permission("apps", ("deployments",), ("list",), HOME),
    _EVENTS,
)
"""The Lease of the operator, what shows whether a lifecycle-manager works there, and Events."""

CONTROLLER_PERMISSIONS: Final[Mapping[str, tuple[Permission, ...]]] = {
    "kyma": (
        _KYMAS,
        Permission(OPERATOR, ("kymas", "kymas/status"), ("patch",), HOME),
        _OWN_KYMAS,
        _CATALOG,
        _CRDS,
        _KYMA_MANIFESTS,
        _SECRETS,
    ),
    "mandatory": (
        _KYMAS,
        _CATALOG,
        Permission(OPERATOR, ("modulereleasemetas",), ("get", "patch"), HOME),
        _OWN_KYMAS,
        Permission(OPERATOR, ("manifests",), ("get", "list", "create", "patch", "delete"), HOME),
    ),
    "manifest": (
        Permission(OPERATOR, ("kymas",), ("get",), HOME),
        Permission(OPERATOR, ("manifests",), (*_READ, "patch", "delete"), HOME),
        Permission(OPERATOR, ("manifests/status",), ("patch",), HOME),
        Permission("", ("secrets",), _FOLLOW, HOME),
    ),
    "watcher": (
        Permission(OPERATOR, ("watchers",), (*_READ, "patch"), HOME),
        Permission(OPERATOR, ("watchers/status",), ("patch",), HOME),
        Permission(OPERATOR, ("watchers/finalizers",), ("update",), HOME),
        Permission(ISTIO, ("virtualservices",), (*_READ, "create", "update", "delete"), HOME),
        Permission(ISTIO, ("gateways",), _FOLLOW, HOME),
    ),
}


def tenant_permissions(account: str) -> tuple[Permission, ...]:
    """Return what a further namespace with Manifests needs: their own fields, and a ServiceAccount for the rest."""
    tenant = PermissionScope.TENANT
    return (
        Permission(OPERATOR, ("manifests",), (*_READ, "patch", "delete"), tenant),
        Permission(OPERATOR, ("manifests/status",), ("patch",), tenant),
        Permission("", ("serviceaccounts",), ("impersonate",), tenant, (account,)),
        replace(_EVENTS, scope=tenant),
    )


METRICS_PERMISSIONS: Final = (_KYMAS, _CATALOG, Permission(OPERATOR, ("manifests",), _FOLLOW, HOME))
LISTENER_PERMISSIONS: Final = (Permission(OPERATOR, ("kymas", "manifests"), ("list",), HOME),)

AGENT_PERMISSIONS: Final = (
    Permission(CERT_MANAGER, ("certificates",), ("get", "create", "patch", "delete"), PermissionScope.CERTIFICATES),
    Permission("", ("secrets",), ("get", "delete"), PermissionScope.CERTIFICATES),
    Permission(OPERATOR, ("watchers",), ("list",), HOME),
)
