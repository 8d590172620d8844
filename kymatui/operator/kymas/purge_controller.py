"""The purge of runtimes whose Kymas are not deleted in time: finalizers of all custom resources are removed.

As in lifecycle-manager before 1.21: a runtime that is deprovisioned must not wait for module managers that no longer
work. What the finalizers protect outside of the cluster stays behind.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, Final, Self

from msgspec import Struct

from kymatui.domain.kubernetes.json_reader import JsonReader
from kymatui.domain.kubernetes.object_meta import OPERATOR, MalformedObject, read_ref
from kymatui.domain.kubernetes.refs import CRD, GroupVersionKind, ObjectRef
from kymatui.domain.kubernetes.terminal_text import format_count
from kymatui.domain.kyma.kymas import Kyma, read_kyma
from kymatui.domain.plans.backups import summarize_names
from kymatui.engine.cluster.concurrency import WIDTH, attempt, run_for_each
from kymatui.engine.cluster.ports import OPERATOR_FIELD_MANAGER, Cluster, Object, PatchKind
from kymatui.errors import ConflictError, KymatuiError, NotFoundError, UsageError
from kymatui.operator.framework.controller import GONE, KindWatch, PlainController
from kymatui.operator.framework.runtime_cache import is_connection_failure
from kymatui.operator.kymas.kyma_context import KYMA, KymaContext
from kymatui.operator.kymas.manifest_writes import set_finalizers
from kymatui.operator.monitoring.event_correlation import EventType, ObjectEvent
from kymatui.operator.monitoring.metric_registry import Labels, MetricRegistry
from kymatui.operator.monitoring.operator_metrics import PURGE_ERROR, PURGE_REQUESTS, PURGE_TIME
from kymatui.operator.monitoring.state_metrics import series_marks


class CrdPattern(Struct, frozen=True):
    """One pattern, in lower case; the name is "*" for all CRDs of the group."""

    name: str
    group: str

    @classmethod
    def parse(cls, text: str) -> tuple[Self, ...]:
        """Return the patterns of a list that is separated by commas. Raise UsageError."""
        patterns = []
        for part in filter(None, (part.strip().lower() for part in text.split(","))):
            name, _, group = part.partition(".")
            if not name or not group:
                raise UsageError(
                    f'"{part}" names no CRD', hint="e.g. apirules.gateway.kyma-project.io or *.helm.cattle.io"
                )
            patterns.append(cls(name, group))
        return tuple(patterns)

    def matches(self, crd: Mapping[str, Any]) -> bool:
        """Return whether a CRD is meant."""
        spec = JsonReader(crd).child("spec")
        names = spec.child("names")
        if spec.text("group").lower() != self.group:
            return False
        known = (names.text("plural"), names.text("singular"), names.text("kind"))
        return self.name == "*" or self.name in [name.lower() for name in known]


PURGE_FINALIZER: Final = f"{OPERATOR}/purge-finalizer"
"""The finalizer that lifecycle-manager before 1.21 gave each Kyma; a purge removes it."""
CLEANUP_ERROR: Final = "CleanupError"
FINALIZER_ERROR: Final = "PurgeFinalizerRemovalError"
PURGED: Final = "FinalizersPurged"
_AGAIN: Final = 30.0
"""Seconds until the next purge of a runtime whose Kyma still exists: its controllers may set finalizers again."""


class PurgeTerms(Struct, frozen=True):
    """Seconds after a Kyma's deletion timestamp until the purge, and the CRDs whose objects keep their finalizers."""

    grace: float
    exceptions: tuple[CrdPattern, ...] = ()

    def skips(self, crd: Mapping[str, Any]) -> bool:
        """Return whether a CRD's objects are left alone; the Kyma is deleted by its own controller."""
        return crd["metadata"]["name"] == f"kymas.{OPERATOR}" or any(
            pattern.matches(crd) for pattern in self.exceptions
        )


class PurgeController(PlainController):
    """Implements `OperatorController` for Kymas that are being deleted."""

    name = "purge"
    workers = 2
    resync = 3600.0

    def __init__(self, context: KymaContext, terms: PurgeTerms, registry: MetricRegistry) -> None:
        self.intervals = context.intervals
        self._context, self._terms, self._registry = context, terms, registry

    def watches(self) -> Sequence[KindWatch]:
        return (KindWatch(KYMA, namespace=self._context.namespace, listed=True, edits=True),)

    def end(self) -> None:
        """Remove all series: the next leader has them from now on."""
        self._context.runtimes.clear()
        self._registry.replace(PURGE_ERROR, {})

    def reconcile(self, ref: ObjectRef, cancel: threading.Event) -> float | None:
        raw = self._context.home.get(ref, cancel=cancel)
        if raw is None:
            self.leave(ref)
            return GONE
        kyma = read_kyma(raw)
        if kyma is None or isinstance(kyma, MalformedObject) or kyma.meta.deleted is None:
            self.leave(ref)
            return None
        seconds = kyma.meta.deleted + self._terms.grace - self._context.clock.now()
        if seconds > 0:
            return seconds + 1.0  # the timestamp has no fractions of seconds
        return self._purge(kyma, raw, cancel)

    def leave(self, ref: ObjectRef) -> None:
        """Drop the access to the runtime, and its errors."""
        self._context.runtimes.forget((ref.namespace, ref.name))
        self._registry.replace(PURGE_ERROR, {}, kyma_name=ref.name)

    def _purge(self, kyma: Kyma, raw: Mapping[str, Any], cancel: threading.Event) -> float | None:
        """Purge the runtime; one without access Secret counts as deleted, so that only the finalizer is removed."""
        runtime = self._context.runtimes.of((kyma.meta.namespace, kyma.meta.name), cancel)
        if runtime is not None:
            self._registry.add(PURGE_REQUESTS, 1)
            began = time.monotonic()
            self._clean(kyma, runtime, cancel)
            self._registry.set(PURGE_TIME, time.monotonic() - began)
        try:
            if PURGE_FINALIZER in kyma.meta.finalizers:
                names = [name for name in kyma.meta.finalizers if name != PURGE_FINALIZER]
                set_finalizers(self._context.home, raw, names, cancel)
        except ConflictError:  # the Kyma changed meanwhile, so its finalizers are read again
            return self._context.intervals.soon
        except KymatuiError:
            self._tell_error(kyma, FINALIZER_ERROR, failed=True)
            raise
        self._tell_error(kyma, FINALIZER_ERROR, failed=False)
        return _AGAIN

    def _clean(self, kyma: Kyma, runtime: Cluster, cancel: threading.Event) -> None:
        """Purge what is possible, and record it. Raises the first error after all objects were tried."""
        cleaned, failed = self._remove_finalizers(runtime, cancel)
        if cleaned:
            words = f"removed the finalizers of {format_count(len(cleaned), 'object')} in the runtime"
            event = ObjectEvent(EventType.WARNING, PURGED, f"{words}: {summarize_names(cleaned)}")
            self._context.events(kyma.raw, event)
        self._tell_error(kyma, CLEANUP_ERROR, failed=bool(failed))
        if any(map(is_connection_failure, failed)):
            self._context.runtimes.forget((kyma.meta.namespace, kyma.meta.name))
        for error in failed:
            raise error

    def _remove_finalizers(
        self, runtime: Cluster, cancel: threading.Event
    ) -> tuple[list[ObjectRef], list[KymatuiError]]:
        """Remove all finalizers of all custom resources but the exceptions'; return the objects, and what failed.

        An object or CRD that fails, such as one with a broken webhook, must not keep the others in the runtime.
        """
        done, failed = list[ObjectRef](), list[KymatuiError]()

        def remove(live: Object) -> bool:
            return bool(attempt(partial(_remove, runtime, live, cancel), failed))

        for crd in attempt(partial(runtime.list, CRD, cancel=cancel), failed) or []:
            if self._terms.skips(crd):
                continue
            objects = attempt(partial(runtime.list, _kind_of(crd), cancel=cancel), failed) or []
            held = [raw for raw in objects if raw["metadata"].get("finalizers")]
            removed = run_for_each(held, remove, cancel, WIDTH)
            done += [read_ref(raw) for raw, was_there in zip(held, removed, strict=True) if was_there]
        return done, failed

    def _tell_error(self, kyma: Kyma, reason: str, *, failed: bool) -> None:
        marks = series_marks(kyma)
        series: dict[Labels, float] = {}
        if failed and marks is not None:
            series[(kyma.meta.name, *marks, reason)] = 1.0
        self._registry.replace(PURGE_ERROR, series, kyma_name=kyma.meta.name, err_reason=reason)


def _kind_of(crd: Mapping[str, Any]) -> GroupVersionKind:
    """Return the kind of a CRD in its storage version, which needs no conversion, or in another one that is served."""
    spec = JsonReader(crd).child("spec")
    served = [served_version for served_version in spec.children("versions") if served_version.flag("served")]
    version = next(
        (served_version for served_version in served if served_version.flag("storage")), served[0] if served else None
    )
    name = version.text("name") if version is not None else ""
    return GroupVersionKind(spec.text("group"), name, spec.child("names").text("kind"))


def _remove(runtime: Cluster, live: Object, cancel: threading.Event) -> bool:
    """Remove the finalizers of one object; return False if it is gone, or another one has its name."""
    patch = {"metadata": {"finalizers": None, "uid": live["metadata"].get("uid")}}
    try:
        runtime.patch(read_ref(live), patch, PatchKind.MERGE, manager=OPERATOR_FIELD_MANAGER, cancel=cancel)
    except (NotFoundError, ConflictError):  # the uid in the patch differs: another object has the name now
        return False
    return True
