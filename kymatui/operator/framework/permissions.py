"""The permissions that each controller needs on the control plane, for least RBAC.

On runtimes, the operator has those of the access Secret. On a cluster that is its own runtime, modules decide.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from enum import StrEnum
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from kymatui.domain.kubernetes.object_meta import OPERATOR
from kymatui.domain.remote.watcher_agent import CERT_MANAGER
from kymatui.domain.remote.watcher_routes import ISTIO


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


def merge_permissions(permissions: Iterable[Permission], scope: PermissionScope) -> tuple[Permission, ...]:
    """Return one permission for each group, resource and set of names of a scope, in a fixed order."""
    verbs_by_resource: dict[tuple[str, str, tuple[str, ...]], dict[str, None]] = {}
    for permission in permissions:
        for resource in permission.resources if permission.scope is scope else ():
            verbs_by_resource.setdefault((permission.group, resource, permission.names), {}).update(
                dict.fromkeys(permission.verbs)
            )
    return tuple(
        Permission(group, (resource,), tuple(verb for verb in _VERBS if verb in verbs), scope, names)
        for (group, resource, names), verbs in sorted(verbs_by_resource.items())
    )


_VERBS: Final = ("get", "list", "watch", "create", "update", "patch", "delete", "impersonate")
