"""One object as the server has it, for a person who asks for exactly that one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from kymatui.adapters.kube.watch.projections import MetadataOnly
from kymatui.domain.kubernetes.refs import GroupVersionKind, ObjectRef
from kymatui.domain.snapshot.snapshots import Object
from kymatui.errors import NotFoundError

if TYPE_CHECKING:
    from kymatui.adapters.kube.api.client import Client

_SECRET: Final = ("", "Secret")
# Without a second choice: a server that cannot leave the data out has to refuse.
_METADATA: Final = "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io"


def read_object(client: Client, ref: ObjectRef) -> Object:
    """Return the whole object, of a Secret its metadata alone; the version is that of `ref`, or one that is served.

    Raises NotFoundError where the object does not exist or its kind is not served, and the errors of the client.
    """
    kind = ref.kind
    resource = client.discovery.find_kind(kind.group, kind.kind, (kind.version,))
    if resource is None:
        name = f"{kind.kind} of {kind.group}" if kind.group else kind.kind
        raise NotFoundError(f"the cluster does not serve {name}", status=404)
    namespace = ref.namespace if resource.namespaced else ""
    if (kind.group, kind.kind) != _SECRET:
        return client.get(resource, ref.name, namespace)
    found: dict[str, Any] = client.get(resource, ref.name, namespace, decode=MetadataOnly, accept=_METADATA)
    served = GroupVersionKind(resource.group, resource.version, resource.kind)
    return {**found, "apiVersion": served.api_version, "kind": served.kind}
