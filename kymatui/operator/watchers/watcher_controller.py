"""The controller of Watchers: a VirtualService for each, from the Gateways that it selects."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from kymatui.domain.kubernetes.object_meta import OPERATOR, find_condition, format_time
from kymatui.domain.kubernetes.refs import GroupVersionKind, ObjectRef
from kymatui.domain.kyma.states import State
from kymatui.domain.kyma.watchers import Watcher, read_watcher
from kymatui.domain.remote.watcher_routes import ISTIO, InvalidRoute, route_spec, select_gateways
from kymatui.engine.cluster.ports import OPERATOR_FIELD_MANAGER, Clock, Cluster, Object, PatchKind
from kymatui.errors import ClusterError, ConflictError, NotFoundError, RefusedError
from kymatui.operator.framework.controller import GONE, KindWatch, PlainController, RequeueIntervals

WATCHER: Final = GroupVersionKind(OPERATOR, "v1beta2", "Watcher")
VIRTUAL_SERVICE: Final = GroupVersionKind(ISTIO, "v1beta1", "VirtualService")
GATEWAY: Final = GroupVersionKind(ISTIO, "v1beta1", "Gateway")
FINALIZER: Final = f"{OPERATOR}/watcher"
CONDITION: Final = "VirtualService"
_RESYNC: Final = 600.0  # seconds; changes of Watchers, VirtualServices and Gateways are watched
_MESSAGES: Final = {"True": "VirtualService is configured", "False": "VirtualService is not configured"}


class WatcherController(PlainController):
    """Implements `OperatorController` for Watchers and Gateways of a namespace.

    As lifecycle-manager does, it overwrites the spec of an existing VirtualService of the Watcher's name, and leaves
    the last VirtualService in place while no Gateway matches.
    """

    name = "watcher"
    workers = 1
    resync = _RESYNC

    def __init__(self, home: Cluster, clock: Clock, namespace: str, intervals: RequeueIntervals) -> None:
        self._home = home
        self._clock = clock
        self._namespace = namespace
        self.intervals = intervals

    def watches(self) -> Sequence[KindWatch]:
        return (
            KindWatch(WATCHER, namespace=self._namespace, listed=True, edits=True),
            KindWatch(VIRTUAL_SERVICE, _same_name, self._namespace, required=False),
            KindWatch(GATEWAY, self._all_watchers, self._namespace, required=False),
        )

    def _all_watchers(self, gateway: ObjectRef) -> Iterable[ObjectRef]:
        for raw in self._home.list(WATCHER, self._namespace):
            yield ObjectRef(WATCHER, str(raw["metadata"].get("namespace") or ""), str(raw["metadata"]["name"]))

    def reconcile(self, ref: ObjectRef, cancel: threading.Event) -> float | None:
        raw = self._home.get(ref, cancel=cancel)
        if raw is None:
            return GONE
        watcher = read_watcher(raw)
        if not isinstance(watcher, Watcher):
            raise RefusedError(f"{ref} is skipped: {watcher.reason}")
        watcher_pass = _WatcherPass(self._home, self._clock, ref, watcher, cancel)
        if watcher.meta.deleting:
            watcher_pass.delete()
            return None
        state = watcher_pass.route(self._home.list(GATEWAY, self._namespace, cancel=cancel))
        return self.intervals.of(state)


def _same_name(ref: ObjectRef) -> Iterable[ObjectRef]:
    return (ObjectRef(WATCHER, ref.namespace, ref.name),)


class _WatcherPass:
    """One reconciliation of a Watcher."""

    def __init__(self, home: Cluster, clock: Clock, ref: ObjectRef, watcher: Watcher, cancel: threading.Event) -> None:
        self._home, self._clock = home, clock
        self._ref, self._watcher = ref, watcher
        self._cancel = cancel
        self._service = ObjectRef(VIRTUAL_SERVICE, ref.namespace, ref.name)
        self._version = watcher.raw["metadata"].get("resourceVersion")

    def delete(self) -> None:
        """Delete the VirtualService, then release the Watcher."""
        if FINALIZER not in self._watcher.meta.finalizers:
            return
        self._report(State.DELETING)
        try:
            with contextlib.suppress(NotFoundError):  # already deleted, by a user or an earlier try
                self._home.delete(self._service, cancel=self._cancel)
        except ClusterError:
            self._report(State.ERROR)
            raise
        with contextlib.suppress(NotFoundError):
            self._set_finalizers([name for name in self._watcher.meta.finalizers if name != FINALIZER])

    def route(self, gateways: Sequence[Object]) -> State:
        """Create or update the VirtualService; return the reported state."""
        if FINALIZER not in self._watcher.meta.finalizers:
            self._set_finalizers([*self._watcher.meta.finalizers, FINALIZER])
        chosen = select_gateways(self._watcher, gateways)
        spec = chosen if isinstance(chosen, InvalidRoute) else route_spec(self._watcher, chosen)
        if isinstance(spec, InvalidRoute):
            self._report(State.ERROR)
            return State.ERROR
        try:
            self._write(spec)
        except ConflictError:
            raise  # another client changed it meanwhile: the retry reads it again
        except ClusterError:
            self._report(State.ERROR)
            raise
        self._report(State.READY)
        return State.READY

    def _write(self, spec: Mapping[str, Any]) -> None:
        live = self._home.get(self._service, cancel=self._cancel)
        if live is None:
            self._home.create(self._new_service(spec), manager=OPERATOR_FIELD_MANAGER, cancel=self._cancel)
        elif live.get("spec") != spec:
            self._home.update({**live, "spec": spec}, manager=OPERATOR_FIELD_MANAGER, cancel=self._cancel)

    def _new_service(self, spec: Mapping[str, Any]) -> Object:
        owner = {
            "apiVersion": WATCHER.api_version,
            "kind": WATCHER.kind,
            "name": self._ref.name,
            "uid": self._watcher.meta.uid,
        }
        metadata = {"name": self._ref.name, "namespace": self._ref.namespace, "ownerReferences": [owner]}
        kind = VIRTUAL_SERVICE
        return {"apiVersion": kind.api_version, "kind": kind.kind, "metadata": metadata, "spec": dict(spec)}

    def _set_finalizers(self, names: Sequence[str]) -> None:
        self._patch({"metadata": {"finalizers": list(names), "resourceVersion": self._version}})

    def _patch(self, patch: Mapping[str, Any], subresource: str = "") -> None:
        patched = self._home.patch(
            self._ref,
            patch,
            PatchKind.MERGE,
            manager=OPERATOR_FIELD_MANAGER,
            subresource=subresource,
            cancel=self._cancel,
        )
        self._version = patched["metadata"].get("resourceVersion")

    def _report(self, state: State) -> None:
        """Write state and condition unless the status has both."""
        known = find_condition(self._watcher.conditions, CONDITION)
        status = {State.READY: "True", State.ERROR: "False"}.get(state, known.status if known else "Unknown")
        unchanged = known is not None and known.status == status
        observed = (self._watcher.raw.get("status") or {}).get("observedGeneration")
        if unchanged and self._watcher.state == state and observed == self._watcher.meta.generation:
            return
        now = format_time(self._clock.now())
        since = next(
            (
                raw_condition["lastTransitionTime"]
                for raw_condition in self._raw_conditions()
                if unchanged and raw_condition["type"] == CONDITION
            ),
            now,
        )
        condition = {
            "type": CONDITION,
            "status": status,
            "reason": "Ready",  # the only reason that the CRD's users know
            "message": _MESSAGES.get(status, _MESSAGES["False"]),
            "lastTransitionTime": since,
        }
        body = {"state": state, "conditions": [condition], "observedGeneration": self._watcher.meta.generation}
        self._patch({"status": body}, "status")

    def _raw_conditions(self) -> Sequence[Mapping[str, Any]]:
        conditions: Sequence[Mapping[str, Any]] = (self._watcher.raw.get("status") or {}).get("conditions") or ()
        return conditions
