"""Whether a namespace that a person named is there."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING

from kymatui.domain.kubernetes.refs import GroupVersionKind
from kymatui.errors import ClusterError, NotFoundError, UnknownNameError

if TYPE_CHECKING:
    from kymatui.adapters.kube.api.client import Client

_NAMESPACE = GroupVersionKind("", "v1", "Namespace")


def require_namespace(client: Client, name: str) -> None:
    """Raise UnknownNameError where there is none; nothing is known where namespaces may not be read."""
    from kymatui.adapters.kube.watch.projections import MetadataOnly

    try:
        resource = client.discovery.find(_NAMESPACE)
    except ClusterError:
        return
    if resource is None:
        return
    try:
        client.get(resource, name, decode=MetadataOnly)
    except NotFoundError:
        known: list[str] = []
        with contextlib.suppress(ClusterError):
            known = [str(item["metadata"]["name"]) for item in client.list(resource, decode=MetadataOnly).items]
        where = f"in {client.transport.connection.name}"
        hint = "`kubectl get namespaces` lists them"
        raise UnknownNameError.near("namespace", name, known, where=where, hint=hint) from None
    except ClusterError:
        return
