"""The Watchers of a control plane with everything that carries their events, and the runtime's end of it."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any, Final

from kymatui.adapters.kube.watch.kube_cluster import KubeCluster
from kymatui.domain.kubernetes.object_meta import OPERATOR
from kymatui.domain.kubernetes.refs import DEPLOYMENT, SECRET, GroupVersionKind, ObjectRef
from kymatui.domain.kyma.kymas import KYMA_NAMESPACE
from kymatui.domain.remote.watcher_chains import ControlPlaneObjects, RuntimeObjects
from kymatui.domain.remote.watcher_routes import TLS_SECRET, WEBHOOK
from kymatui.domain.snapshot.snapshots import Object
from kymatui.errors import ClusterError, NotFoundError
from kymatui.sessions.feeds.feeds import WatchedKind

_ISTIO: Final = "networking.istio.io"
_WATCHER = WatchedKind("watchers", OPERATOR, "Watcher", ("v1beta2", "v1beta1"))
_GATEWAY = WatchedKind("gateways", _ISTIO, "Gateway", ("v1", "v1beta1", "v1alpha3"))
_VIRTUAL = WatchedKind("virtualservices", _ISTIO, "VirtualService", ("v1", "v1beta1", "v1alpha3"))
_SERVICE = WatchedKind("services", "", "Service", ("v1",))
_HOOKS: Final = GroupVersionKind("admissionregistration.k8s.io", "v1", "ValidatingWebhookConfiguration")
_METADATA: Final = "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io"


def read_control_side(home: KubeCluster) -> ControlPlaneObjects:
    """Read the control plane's objects. Raise NotFoundError if its Watchers are unknown."""
    watchers = _listed(home, _WATCHER)
    if isinstance(watchers, str):
        raise NotFoundError(f"the Watchers of {home.name!r} are unknown: {watchers}", status=404)
    listed, why = {}, {}
    for fixed in (_GATEWAY, _VIRTUAL, _SERVICE):
        objects = _listed(home, fixed)
        listed[fixed.kind] = None if isinstance(objects, str) else objects
        if isinstance(objects, str):
            why[fixed.kind] = objects
    return ControlPlaneObjects(watchers, listed["Gateway"], listed["VirtualService"], listed["Service"], why)


def _listed(home: KubeCluster, fixed: WatchedKind) -> list[Object] | str:
    """Return the objects, or the reason why they are unknown."""
    try:
        for version in fixed.versions:
            kind = GroupVersionKind(fixed.group, version, fixed.kind)
            if home.kind(kind) is not None:
                return [*home.list(kind, with_managed_fields=True)]
    except ClusterError as error:
        return str(error)
    return f"the cluster does not serve {fixed.kind} of {fixed.group}"


def read_runtime_side(cluster: KubeCluster, cancel: threading.Event | None = None) -> RuntimeObjects:
    """Read the runtime's objects; only metadata of the Secret. Raise CancelledError."""
    why: dict[str, str] = {}

    def read_or_note(what: str, read: Callable[[], Any]) -> Any:
        try:
            return read()
        except NotFoundError:
            return None
        except ClusterError as error:  # one unreadable object does not hide the others
            why[what] = str(error)
            return None

    def metadata() -> Any:
        client = cluster.client
        return client.get(client.resource(SECRET), TLS_SECRET, KYMA_NAMESPACE, accept=_METADATA, cancel=cancel)

    return RuntimeObjects(
        configuration=read_or_note("webhook", lambda: cluster.get(ObjectRef(_HOOKS, "", WEBHOOK), cancel=cancel)),
        deployment=read_or_note(
            "Deployment", lambda: cluster.get(ObjectRef(DEPLOYMENT, KYMA_NAMESPACE, WEBHOOK), cancel=cancel)
        ),
        secret=read_or_note("Secret", metadata) is not None,
        why=why,
    )
