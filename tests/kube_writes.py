"""Writes with a client, by resource: `KubeCluster` finds the resource of a kind itself."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from kymatui.adapters.kube.api.client import Client
from kymatui.adapters.kube.objects.api_resource import ApiResource
from kymatui.domain.kubernetes.object_meta import read_ref
from kymatui.domain.kubernetes.refs import ObjectRef
from kymatui.engine.cluster.ports import Object, PatchKind, Write, WriteVerb

Body = Mapping[str, Any]


def create(client: Client, resource: ApiResource, body: Body, namespace: str = "", **options: Any) -> Object:
    return client.write(resource, Write(WriteVerb.CREATE, ObjectRef(resource.gvk, namespace, ""), body, **options))


def update(client: Client, resource: ApiResource, body: Body, **options: Any) -> Object:
    return client.write(resource, Write(WriteVerb.UPDATE, read_ref(body), body, **options))


def patch(
    client: Client,
    resource: ApiResource,
    name: str,
    body: Body | Sequence[Body],
    kind: PatchKind,
    namespace: str = "",
    **options: Any,
) -> Object:
    ref = ObjectRef(resource.gvk, namespace, name)
    return client.write(resource, Write(WriteVerb.PATCH, ref, body, kind, **options))


def apply(client: Client, resource: ApiResource, body: Body, **options: Any) -> Object:
    return client.write(resource, Write(WriteVerb.APPLY, read_ref(body), body, **options))


def delete(client: Client, resource: ApiResource, name: str, namespace: str = "", **options: Any) -> Object:
    return client.write(resource, Write(WriteVerb.DELETE, ObjectRef(resource.gvk, namespace, name), **options))
