"""The permissions that a module gets: roles that it installs or binds."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

from msgspec import Struct

from kymatui.domain.kubernetes.privileges import find_privileges
from kymatui.engine.cluster.ports import Object

_RBAC: Final = "rbac.authorization.k8s.io"


class Grant(Struct, frozen=True):
    """One binding: role ("ClusterRole manager"), subjects, and namespace ("" for the whole cluster).

    `rules` are those of the role, empty if the bundle does not have it. `warnings` describe dangerous permissions.
    """

    role: str
    subjects: tuple[str, ...]
    namespace: str = ""
    rules: tuple[Mapping[str, Any], ...] = ()
    warnings: tuple[str, ...] = ()

    @property
    def cluster_wide(self) -> bool:
        return not self.namespace


def list_grants(objects: Iterable[Object]) -> tuple[Grant, ...]:
    """Return the grants of the bindings among the objects, cluster-wide ones first."""
    rbac = [body for body in objects if str(body.get("apiVersion") or "").startswith(f"{_RBAC}/")]
    roles = {
        _role_key(body): tuple(body.get("rules") or ()) for body in rbac if body["kind"] in ("Role", "ClusterRole")
    }
    found = [_grant(body, roles) for body in rbac if body["kind"] in ("RoleBinding", "ClusterRoleBinding")]
    return tuple(sorted(found, key=lambda grant: (not grant.cluster_wide, grant.role, grant.namespace)))


def _role_key(body: Object) -> tuple[str, str, str]:
    metadata = body["metadata"]
    namespace = metadata.get("namespace", "") if body["kind"] == "Role" else ""
    return body["kind"], namespace, metadata["name"]


def _grant(binding: Object, roles: Mapping[tuple[str, str, str], tuple[Mapping[str, Any], ...]]) -> Grant:
    wide = binding["kind"] == "ClusterRoleBinding"
    namespace = "" if wide else str(binding["metadata"].get("namespace") or "")
    ref: Mapping[str, Any] = binding.get("roleRef") or {}
    kind, name = str(ref.get("kind") or ""), str(ref.get("name") or "")
    rules = roles.get((kind, namespace if kind == "Role" else "", name), ())
    subjects = tuple(_subject(one) for one in binding.get("subjects") or ())
    return Grant(
        f"{kind} {name}",
        subjects,
        namespace,
        rules,
        tuple(power.message for power in find_privileges(kind, name, rules)),
    )


def _subject(subject: Mapping[str, Any]) -> str:
    namespace = f"{subject['namespace']}/" if subject.get("namespace") else ""
    return f"{subject.get('kind', '')} {namespace}{subject.get('name', '')}"
