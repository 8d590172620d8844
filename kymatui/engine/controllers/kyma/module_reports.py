"""The modules of a Kyma in one reconciliation: their Manifests, and their entries in the Kyma's status."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from typing import Any, Final

from kymatui.domain.kubernetes.json_reader import JsonReader
from kymatui.domain.kubernetes.object_meta import OPERATOR
from kymatui.domain.kubernetes.refs import GroupVersionKind, ObjectRef
from kymatui.domain.kyma.kymas import Kyma
from kymatui.domain.modules.module_outcomes import Outcome, accepted_status, refused_status
from kymatui.engine.controllers.kyma.kyma_context import KymaContext
from kymatui.engine.controllers.kyma.kyma_status import KymaStatusDraft
from kymatui.engine.controllers.kyma.manifest_writes import ManifestWrites
from kymatui.engine.controllers.kyma.module_planning import ModulePlanner, PlannedModule
from kymatui.errors import CancelledError, KymatuiError

_CLUSTER_SCOPED: Final = f"{OPERATOR}/is-cluster-scoped"


class ModuleReports:
    """The reconciler of Kymas' modules on the control plane."""

    def __init__(self, context: KymaContext) -> None:
        self._context = context
        self._planner = ModulePlanner(context)

    def reconcile(self, kyma: Kyma, status: KymaStatusDraft, cancel: threading.Event) -> None:
        """Write all Manifests, then the status in memory, then delete the Manifests of modules that are disabled.

        Raises the first error of a Manifest after all were tried; the status in memory is then unchanged.
        """
        writes = ManifestWrites(self._context.home, cancel, self._context.is_unseen)
        planned = self._planner.plan(kyma, cancel)
        live: dict[str, Mapping[str, Any] | None] = {}
        failed: list[KymatuiError] = []
        for one in planned:
            try:
                live[one.item.name] = writes.write(kyma, one)
            except CancelledError:
                raise
            except KymatuiError as error:
                failed.append(error)
        if failed:
            raise failed[0]
        for one in planned:
            status.put_module(_entry(one, live[one.item.name], status.module(one.item.name)))
        for ref in self._follow_removed(kyma, status, cancel):
            writes.delete(ref)

    def _follow_removed(self, kyma: Kyma, status: KymaStatusDraft, cancel: threading.Event) -> list[ObjectRef]:
        """Take the state of disabled modules from their Manifests, drop those without one; return the Manifests."""
        gone, left = [], []
        for entry in status.modules:
            name = str(entry.get("name", ""))
            if kyma.request(name) is not None:
                continue
            ref = _manifest_of(entry)
            raw = self._context.home.get(ref, cancel=cancel) if ref is not None else None
            if ref is None or raw is None:
                gone.append(name)
                continue
            entry["state"] = JsonReader(raw).child("status").text("state")
            left.append(ref)
        status.drop_modules(gone)
        return left


def _entry(
    planned: PlannedModule, live: Mapping[str, Any] | None, current: Mapping[str, Any] | None
) -> Mapping[str, Any]:
    if planned.outcome is not Outcome.ACCEPTED or planned.body is None or planned.template is None:
        return refused_status(
            planned.outcome,
            planned.item.name,
            planned.message,
            current,
            channel=planned.channel,
            component=planned.component,
        )
    state = JsonReader(live or {}).child("status").text("state")
    scoped = planned.template.meta.annotations.get(_CLUSTER_SCOPED) == "true"
    return accepted_status(planned.item, planned.body, planned.template.raw, state=state, cluster_scoped=scoped)


def _manifest_of(entry: Mapping[str, Any]) -> ObjectRef | None:
    reader = JsonReader(entry)
    if not reader.has("manifest"):
        return None
    tracked = reader.child("manifest")
    metadata = tracked.child("metadata")
    kind = GroupVersionKind.of(tracked.text("apiVersion"), tracked.text("kind"))
    return ObjectRef(kind, metadata.text("namespace"), metadata.text("name"))
