"""Whether a lifecycle-manager manages a cluster: by its Lease and Deployment, what it writes, or its mark on a Kyma."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Final, ParamSpec, TypeVar

from kymatui.domain.kubernetes.json_reader import JsonReader
from kymatui.domain.kubernetes.object_meta import OPERATOR, format_time, last_writes, read_ref
from kymatui.domain.kubernetes.refs import DEPLOYMENT, GroupVersionKind, ObjectRef
from kymatui.domain.kyma.controller_flags import read_controller_flags
from kymatui.domain.kyma.kyma_keeper import CLOCKS_DIFFER, ELECTION, RECENT_WRITE, is_lifecycle_manager, read_lease
from kymatui.domain.kyma.problems import Actor
from kymatui.domain.remote.kyma_sync import ANNOTATION_OWNED_BY
from kymatui.engine.cluster.ports import Cluster
from kymatui.engine.jobs.lease import LEASE
from kymatui.errors import ForbiddenError, RefusedError
from kymatui.moments import format_duration

P = ParamSpec("P")
T = TypeVar("T")
KYMA: Final = GroupVersionKind(OPERATOR, "v1beta2", "Kyma")
_MANIFEST: Final = GroupVersionKind(OPERATOR, "v1beta2", "Manifest")


def require_no_lifecycle_manager(home: Cluster, namespaces: Iterable[str], now: float, cancel: threading.Event) -> None:
    """Raise RefusedError if a lifecycle-manager works in one of the namespaces; `now` is in Unix seconds.

    One that runs outside of the cluster is known by what it writes. A list or Lease that may not be read proves
    nothing.
    """
    names = tuple(dict.fromkeys(namespaces))
    held = {name: _allowed(home.get, ObjectRef(LEASE, name, ELECTION), cancel=cancel) for name in names}
    leases = {name: read_lease(raw, now, lambda _: False, Actor.KLM) for name, raw in held.items()}
    listed = [raw for name in names for raw in _allowed(home.list, DEPLOYMENT, name, cancel=cancel) or ()]
    deployments = [raw for raw in listed if read_controller_flags(raw) is not None]
    running = [raw for raw in deployments if (raw.get("spec") or {}).get("replicas", 1) != 0]
    signs = [f"{lease.holder} holds the Lease {name}/{ELECTION}" for name, lease in leases.items() if lease.works]
    signs += [f"Deployment {read_ref(raw).path} runs it" for raw in running]
    hint = "scale its Deployment to 0 first"
    if not signs and not deployments:  # what is written after the last renewal is not of the Lease's holder
        ended = max((now - lease.age for lease in leases.values() if lease.age is not None), default=0.0)
        signs = list(_writes(home, names, max(ended + CLOCKS_DIFFER, now - RECENT_WRITE), cancel))
        hint = f"stop it where it runs, and try again {format_duration(RECENT_WRITE)} after its last write"
    if signs:
        message = f"lifecycle-manager manages {home.name}: {'; '.join(signs)}"
        raise RefusedError(message, hint=f"{hint}; two controllers would undo each other's changes")


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


def _allowed(read: Callable[P, T], *args: P.args, **options: P.kwargs) -> T | None:
    """Return what may be read, None for what may not."""
    try:
        return read(*args, **options)
    except ForbiddenError:
        return None


def _writes(home: Cluster, namespaces: Sequence[str], since: float, cancel: threading.Event) -> Iterator[str]:
    """Yield lifecycle-manager's last write after a time: of a Kyma, or of a Manifest where there is no Kyma."""
    for kind in (kind for kind in (KYMA, _MANIFEST) if home.kind(kind) is not None):
        lists = [_allowed(home.list, kind, name, with_managed_fields=True, cancel=cancel) for name in namespaces]
        raws = [raw for objects in lists for raw in objects or ()]
        writes = [(at or 0.0, name, raw) for raw in raws for name, at in last_writes(raw) if is_lifecycle_manager(name)]
        at, manager, written = max(writes, key=lambda write: write[0], default=(0.0, "", None))
        if at > since:
            yield f"no Deployment here runs it, and {manager} wrote {read_ref(written)} at {format_time(at)}"
        if raws:
            return
