"""Whether a lifecycle-manager manages a cluster, by its Lease and Deployment, or by its mark on the runtime's Kyma."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator
from typing import Final

from kymatui.domain.kubernetes.json_reader import JsonReader
from kymatui.domain.kubernetes.object_meta import OPERATOR, parse_time, read_ref
from kymatui.domain.kubernetes.refs import GroupVersionKind, ObjectRef
from kymatui.domain.kyma.controller_flags import read_controller_flags
from kymatui.domain.remote.kyma_sync import ANNOTATION_OWNED_BY
from kymatui.engine.cluster.ports import Cluster
from kymatui.engine.jobs.lease import LEASE
from kymatui.errors import ForbiddenError, RefusedError

ELECTION: Final = "893110f7.kyma-project.io"
"""The name of the Lease for which lifecycle-manager's replicas compete."""
KYMA: Final = GroupVersionKind(OPERATOR, "v1beta2", "Kyma")
_DEPLOYMENT: Final = GroupVersionKind("apps", "v1", "Deployment")
_CLOCKS_DIFFER: Final = 60.0  # seconds that the clocks of two machines may differ


def require_no_lifecycle_manager(home: Cluster, namespaces: Iterable[str], now: float, cancel: threading.Event) -> None:
    """Raise RefusedError if a lifecycle-manager works in one of the namespaces; `now` is in Unix seconds.

    A list or Lease that may not be read proves nothing.
    """
    signs = [sign for namespace in dict.fromkeys(namespaces) for sign in _signs(home, namespace, now, cancel)]
    if signs:
        raise RefusedError(
            f"lifecycle-manager manages {home.name}: {'; '.join(signs)}",
            hint="scale its Deployment to 0 first; two controllers would undo each other's changes",
        )


def require_own_kymas(home: Cluster, namespace: str, cancel: threading.Event) -> None:
    """Raise RefusedError if a control plane manages a Kyma of a cluster that is to be its own runtime."""
    if home.kind(KYMA) is None:
        return
    for raw in home.list(KYMA, namespace, cancel=cancel):
        if owner := JsonReader(raw).child("metadata").labels("annotations").get(ANNOTATION_OWNED_BY):
            raise RefusedError(
                f"{read_ref(raw)} in {home.name} is managed by the Kyma {owner} of a control plane",
                hint="run the operator there, without --single-cluster",
            )


def _signs(home: Cluster, namespace: str, now: float, cancel: threading.Event) -> Iterator[str]:
    try:
        lease = home.get(ObjectRef(LEASE, namespace, ELECTION), cancel=cancel)
    except ForbiddenError:
        lease = None
    spec = JsonReader(lease or {}).child("spec")
    holder, renewed = spec.text("holderIdentity"), parse_time(spec.text("renewTime"))
    if holder and renewed is not None and now - renewed <= spec.integer("leaseDurationSeconds") + _CLOCKS_DIFFER:
        yield f"{holder} holds the Lease {namespace}/{ELECTION}"
    try:
        deployments = home.list(_DEPLOYMENT, namespace, cancel=cancel)
    except ForbiddenError:
        return
    for raw in deployments:
        replicas = (raw.get("spec") or {}).get("replicas", 1)
        if replicas != 0 and (flags := read_controller_flags(raw)) is not None:
            yield f"Deployment {namespace}/{flags.deployment.name} runs it"
