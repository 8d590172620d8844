"""The sample world on another cluster: what kymatui reads of it, copied from a sandbox as it stands."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, Final

from kymatui.adapters.kube.api.client import Client
from kymatui.adapters.kube.objects.api_resource import ApiResource
from kymatui.domain.kubernetes.refs import GroupVersionKind
from kymatui.errors import KymatuiError, NotFoundError
from kymatui.sessions.cluster.cluster_access import open_cluster
from kymatui.sessions.cluster.session_options import SessionOptions
from tests import kube_writes

KYMA: Final = GroupVersionKind("operator.kyma-project.io", "v1beta2", "Kyma")
_FIRST: Final = (
    GroupVersionKind("", "v1", "Namespace"),
    GroupVersionKind("apiextensions.k8s.io", "v1", "CustomResourceDefinition"),
)
_PLAIN: Final = (GroupVersionKind("apps", "v1", "Deployment"),)
_LOOSE: Final = {"manager": "sample-world", "validation": "Ignore"}
_OF_THE_SERVER: Final = ("resourceVersion", "uid", "managedFields", "creationTimestamp", "generation")
_HELD_BACK: Final = ("ownerReferences", "finalizers", "deletionTimestamp", "deletionGracePeriodSeconds")


def copy_world(source: Path, target: Path) -> tuple[int, int]:
    """Copy CRDs, namespaces, Deployments and all Kyma objects; return how many were made and how many refused."""
    origin, copy = (open_cluster(SessionOptions(kubeconfig=str(path))).client for path in (source, target))
    created = refused = 0
    for gvk in _FIRST:
        more = _copy(origin, copy, origin.resource(gvk))
        created, refused = created + more[0], refused + more[1]
    definitions = copy.resource(_FIRST[-1])
    await_established(lambda: [body for page in copy.pages(definitions) for body in page.items])
    copy.discovery.invalidate()
    listable = [kind for kind in origin.discovery.resources() if "list" in kind.verbs and "create" in kind.verbs]
    for resource in listable:
        if resource.gvk in _PLAIN or resource.group.endswith("kyma-project.io"):
            more = _copy(origin, copy, resource)
            created, refused = created + more[0], refused + more[1]
    return created, refused


def await_established(read: Callable[[], Iterable[Mapping[str, Any]]], limit: float = 60.0) -> None:
    """Return once the server has established all CRDs, which a real one does a moment after it has stored them."""
    end = time.monotonic() + limit
    while waiting := [crd["metadata"]["name"] for crd in read() if not _is_established(crd)]:
        if time.monotonic() > end:
            raise TimeoutError(f"not established after {limit:g} s: {', '.join(waiting)}")
        time.sleep(0.1)


def _is_established(crd: Mapping[str, Any]) -> bool:
    conditions = (crd.get("status") or {}).get("conditions") or ()
    return any(condition["type"] == "Established" and condition["status"] == "True" for condition in conditions)


def has_kymas(kubeconfig: Path) -> bool:
    """Return whether a cluster has Kymas; not so if it does not serve them."""
    client = open_cluster(SessionOptions(kubeconfig=str(kubeconfig))).client
    try:
        return any(page.items for page in client.pages(client.resource(KYMA), limit=1))
    except NotFoundError:
        return False


def _copy(origin: Client, target: Client, resource: ApiResource) -> tuple[int, int]:
    def copy(body: dict[str, Any]) -> bool:
        plain = _plain(body, resource)
        try:
            new = kube_writes.create(target, resource, plain, plain["metadata"].get("namespace", ""), **_LOOSE)
            if "status" in plain and resource.gvk not in _FIRST:
                kube_writes.update(target, resource, {**new, "status": plain["status"]}, subresource="status", **_LOOSE)
        except KymatuiError:
            return False
        return True

    with ThreadPoolExecutor(8) as pool:
        done = Counter(copied for page in origin.pages(resource) for copied in pool.map(copy, page.items))
    return done[True], done[False]


def _plain(body: dict[str, Any], resource: ApiResource) -> dict[str, Any]:
    """Return the object as somebody would have written it, with its status."""
    left_out = {*_OF_THE_SERVER, *_HELD_BACK}
    metadata = {key: value for key, value in body["metadata"].items() if key not in left_out}
    kept = {key: value for key, value in body.items() if key != "metadata"}
    return {"apiVersion": f"{resource.group}/{resource.version}".strip("/"), "kind": resource.kind, **kept} | {
        "metadata": metadata
    }
