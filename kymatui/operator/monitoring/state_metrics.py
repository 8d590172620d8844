"""The controller that keeps the state metrics: one Kyma, or the mandatory modules, after each change."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Sequence
from typing import Final

from kymatui.domain.kubernetes.object_meta import LABEL_KYMA_NAME, LABEL_MANDATORY, LABEL_MODULE_NAME, OPERATOR
from kymatui.domain.kubernetes.refs import GroupVersionKind, ObjectRef
from kymatui.domain.kyma.kymas import Kyma, read_kyma
from kymatui.domain.kyma.manifests import Manifest, read_manifest
from kymatui.domain.kyma.states import State
from kymatui.domain.kyma.template_index import ReleaseMeta, read_release_meta
from kymatui.engine.cluster.ports import Cluster
from kymatui.operator.framework.controller import GONE, KindWatch, RequeueIntervals, Wake
from kymatui.operator.monitoring.metric_registry import Labels, MetricRegistry
from kymatui.operator.monitoring.operator_metrics import KYMA_STATE, MANDATORY_MODULES, MANDATORY_STATE, MODULE_STATE

KYMA: Final = GroupVersionKind(OPERATOR, "v1beta2", "Kyma")
MANIFEST: Final = GroupVersionKind(OPERATOR, "v1beta2", "Manifest")
RELEASE_META: Final = GroupVersionKind(OPERATOR, "v1beta2", "ModuleReleaseMeta")
STATES: Final = (State.READY, State.PROCESSING, State.ERROR, State.DELETING, State.WARNING)
MODULE_STATES: Final = (*STATES, State.UNMANAGED)
_DOMAIN: Final = "skr-domain"
_INSTANCE: Final = "kyma-project.io/instance-id"
_SHORTEST_DOMAIN: Final = 3  # parts: the shoot's name and a domain of two


class StateMetrics:
    """Implements `OperatorController`; writes nothing to any cluster.

    As in lifecycle-manager, a Kyma without the annotation `skr-domain` or the label `kyma-project.io/instance-id`
    has no series.
    """

    name = "state-metrics"
    workers = 1
    resync = 600.0
    intervals = RequeueIntervals()

    def __init__(self, home: Cluster, namespace: str, registry: MetricRegistry) -> None:
        self._home = home
        self._namespace = namespace
        self._registry = registry
        self._mandatory = ObjectRef(RELEASE_META, namespace, "")

    def watches(self) -> Sequence[KindWatch]:
        return (
            KindWatch(KYMA, namespace=self._namespace, listed=True),
            KindWatch(RELEASE_META, self._all_mandatory, self._namespace, required=False),
            KindWatch(
                MANIFEST, namespace=self._namespace, required=False, label=LABEL_MANDATORY, owner=self._if_mandatory
            ),
        )

    def begin(self, wake: Wake) -> None:
        wake(self._mandatory)

    def end(self) -> None:
        """Remove all series: the next leader has them from now on."""
        for metric in (KYMA_STATE, MODULE_STATE, MANDATORY_MODULES, MANDATORY_STATE):
            self._registry.replace(metric, {})

    def leave(self, ref: ObjectRef) -> None:
        """Remove the series, which another replica has from now on."""
        if ref == self._mandatory:
            self._registry.replace(MANDATORY_MODULES, {})
            self._registry.replace(MANDATORY_STATE, {})
        else:
            self._registry.replace(KYMA_STATE, {}, kyma_name=ref.name)
            self._registry.replace(MODULE_STATE, {}, kyma_name=ref.name)

    def _all_mandatory(self, ref: ObjectRef) -> Iterable[ObjectRef]:
        return (self._mandatory,)

    def _if_mandatory(self, manifest: ObjectRef, label: str) -> Iterable[ObjectRef]:
        return (self._mandatory,) if label == "true" else ()

    def reconcile(self, ref: ObjectRef, cancel: threading.Event) -> float | None:
        if ref == self._mandatory:
            self._count_mandatory(cancel)
            return None
        raw = self._home.get(ref, cancel=cancel)
        if raw is None:
            self.leave(ref)
            return GONE
        kyma = read_kyma(raw)
        marks = series_marks(kyma) if isinstance(kyma, Kyma) else None
        own: dict[Labels, float] = {}
        modules: dict[Labels, float] = {}
        if isinstance(kyma, Kyma) and marks is not None:
            own = {(ref.name, state, *marks): float(state == kyma.state) for state in STATES}
            modules = {
                (module.name, ref.name, state, *marks): float(state == module.state)
                for module in kyma.reports
                for state in MODULE_STATES
            }
        self._registry.replace(KYMA_STATE, own, kyma_name=ref.name)
        self._registry.replace(MODULE_STATE, modules, kyma_name=ref.name)
        return None

    def _count_mandatory(self, cancel: threading.Event) -> None:
        metas = [read_release_meta(raw) for raw in self._home.list(RELEASE_META, self._namespace, cancel=cancel)]
        count = sum(isinstance(item, ReleaseMeta) and item.mandatory_version is not None for item in metas)
        self._registry.set(MANDATORY_MODULES, count)
        labels = f"{LABEL_MANDATORY}=true"
        objects = self._home.list(MANIFEST, self._namespace, labels=labels, cancel=cancel)
        manifests = [item for raw in objects if isinstance(item := read_manifest(raw), Manifest)]
        series: dict[Labels, float] = {
            (*_owner(item), state): float(state == item.state) for item in manifests for state in STATES
        }
        self._registry.replace(MANDATORY_STATE, series)


def _owner(manifest: Manifest) -> tuple[str, str]:
    """Return module and Kyma of a Manifest."""
    labels = manifest.meta.labels
    return labels.get(LABEL_MODULE_NAME, ""), labels.get(LABEL_KYMA_NAME, "")


def series_marks(kyma: Kyma) -> tuple[str, str] | None:
    """Return the labels shoot and instance_id, None if one is unknown."""
    shoot, instance = shoot_name(kyma), kyma.meta.labels.get(_INSTANCE, "")
    return (shoot, instance) if shoot and instance else None


def shoot_name(kyma: Kyma) -> str:
    """Return the first part of the runtime's domain, "" if the annotation is absent or too short."""
    parts = kyma.meta.annotations.get(_DOMAIN, "").split(".")
    return parts[0] if len(parts) >= _SHORTEST_DOMAIN else ""
