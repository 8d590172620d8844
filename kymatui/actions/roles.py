"""The Role that allows what a user may not do, for an administrator to apply: on screens and command line."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Protocol

from kymatui.domain.rights import GrantedRequest, RequiredPermission, Subject, role_manifests
from kymatui.engine.cluster.yaml_output import dump_yaml
from kymatui.errors import NotFoundError

if TYPE_CHECKING:
    from kymatui.engine.cluster.ports import Cluster


class KnownUser(Protocol):
    def user(self) -> str: ...


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


def granted_requests(
    cluster: Cluster, permissions: Iterable[RequiredPermission], plurals: Mapping[tuple[str, str], str]
) -> Iterator[ScopedRequest]:
    """Yield the namespace and the request of each permission.

    The plural of a kind that the cluster does not serve is that of its CRD in `plurals`, else it is guessed.
    """
    for needed in permissions:
        kind, served = needed.kind, cluster.kind(needed.kind)
        plural = served.resource if served is not None else plurals.get((kind.group, kind.kind), "")
        request = GrantedRequest(kind.group, plural or f"{kind.kind.lower()}s", needed.verb, needed.name)
        yield needed.namespace, request


def user_of(cluster: KnownUser, otherwise: str = "USER") -> str:
    """Return the name of the user as the server has it; `otherwise` before Kubernetes 1.28, which does not say it."""
    try:
        return cluster.user()
    except NotFoundError:
        return otherwise


def role_text(cluster: Cluster, permissions: Iterable[RequiredPermission], purpose: str) -> str:
    """Return YAML of the Roles that grant permissions for a purpose, as "delete keda"; ask the server for the user."""
    user = user_of(cluster)
    requests = by_namespace(granted_requests(cluster, permissions, {}))
    manifests = role_manifests(role_name(f"kymatui {purpose}"), requests, Subject(user))
    return "---\n".join((f"# Lets {user} {purpose}.\n", *map(dump_yaml, manifests)))
