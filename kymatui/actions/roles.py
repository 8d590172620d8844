"""The Role that allows what a user may not do, for an administrator to apply: on screens and command line."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from kymatui.domain.rights import GrantedRequest, Subject, role_manifests
from kymatui.engine.cluster.request_scope import granted_requests
from kymatui.engine.cluster.yaml_output import dump_yaml
from kymatui.errors import NotFoundError

if TYPE_CHECKING:
    from kymatui.domain.kubernetes.refs import GroupVersionKind
    from kymatui.domain.rights import RequiredPermission
    from kymatui.engine.cluster.ports import Cluster

ScopedRequest = tuple[str, GrantedRequest]
"""A namespace, "" for the whole cluster, and a request."""


def role_name(command: str) -> str:
    """Return the name of the Role for a command: its words, as far as they fit a name."""
    words = "-".join(word for word in command.split() if not word.startswith("-"))
    return "".join(letter if letter.isalnum() or letter in "-." else "-" for letter in words.lower())[:63].strip("-.")


def by_namespace(requests: Iterable[ScopedRequest]) -> dict[str, list[GrantedRequest]]:
    grouped: dict[str, list[GrantedRequest]] = {}
    for namespace, request in requests:
        grouped.setdefault(namespace, []).append(request)
    return grouped


def role_text(cluster: Cluster, permissions: Iterable[RequiredPermission], purpose: str) -> str:
    """Return YAML of the Roles that grant permissions for a purpose, as "delete keda"; ask the server for the user."""

    def plural_of(kind: GroupVersionKind) -> str:
        served = cluster.kind(kind)
        return served.resource if served is not None else ""

    try:
        user = cluster.user()
    except NotFoundError:  # Kubernetes before 1.28
        user = "USER"
    requests = by_namespace(granted_requests(plural_of, permissions, {}))
    manifests = role_manifests(role_name(f"kymatui {purpose}"), requests, Subject(user))
    return "---\n".join((f"# Lets {user} {purpose}.\n", *map(dump_yaml, manifests)))
