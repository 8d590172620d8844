"""The sample world on another cluster: what kymatui reads of it, copied from a sandbox as it stands."""

from __future__ import annotations

from collections import Counter
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
    given, wanted = (open_cluster(SessionOptions(kubeconfig=str(path))).client for path in (source, target))
    made = refused = 0
    for gvk in _FIRST:
        more = _copy(given, wanted, given.resource(gvk))
        made, refused = made + more[0], refused + more[1]
    wanted.discovery.invalidate()
    groups = [one for one in given.discovery.resources() if "list" in one.verbs and "create" in one.verbs]
    for resource in groups:
        if resource.gvk in _PLAIN or resource.group.endswith("kyma-project.io"):
            more = _copy(given, wanted, resource)
            made, refused = made + more[0], refused + more[1]
    return made, refused


def has_kymas(kubeconfig: Path) -> bool:
    """Return whether a cluster has Kymas; not so if it does not serve them."""
    client = open_cluster(SessionOptions(kubeconfig=str(kubeconfig))).client
    try:
        return any(page.items for page in client.pages(client.resource(KYMA), limit=1))
    except NotFoundError:
        return False


def _copy(given: Client, wanted: Client, resource: ApiResource) -> tuple[int, int]:
    def copy(one: dict[str, Any]) -> bool:
        body = _plain(one, resource)
        try:
            new = kube_writes.create(wanted, resource, body, body["metadata"].get("namespace", ""), **_LOOSE)
            if "status" in body and resource.gvk not in _FIRST:
                kube_writes.update(wanted, resource, {**new, "status": body["status"]}, subresource="status", **_LOOSE)
        except KymatuiError:
            return False
        return True

    with ThreadPoolExecutor(8) as pool:
        done = Counter(found for page in given.pages(resource) for found in pool.map(copy, page.items))
    return done[True], done[False]


def _plain(one: dict[str, Any], resource: ApiResource) -> dict[str, Any]:
    """Return the object as somebody would have written it, with its status."""
    left_out = {*_OF_THE_SERVER, *_HELD_BACK}
    metadata = {key: value for key, value in one["metadata"].items() if key not in left_out}
    kept = {key: value for key, value in one.items() if key != "metadata"}
    return {"apiVersion": f"{resource.group}/{resource.version}".strip("/"), "kind": resource.kind, **kept} | {
        "metadata": metadata
    }
