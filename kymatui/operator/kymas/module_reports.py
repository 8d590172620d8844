"""The modules of a Kyma in one reconciliation: their Manifests, and their entries in the Kyma's status."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from typing import Any, Final

from msgspec.structs import replace

from kymatui.domain.kubernetes.json_reader import JsonReader
from kymatui.domain.kubernetes.object_meta import OPERATOR
from kymatui.domain.kubernetes.refs import GroupVersionKind, ObjectRef
from kymatui.domain.kyma.kymas import Kyma
from kymatui.domain.kyma.states import State
from kymatui.domain.modules.module_outcomes import Outcome, accepted_status, manifest_entry, refused_status
from kymatui.errors import CancelledError, ConflictError, KymatuiError
from kymatui.operator.kymas.kyma_context import KymaContext, installed_manifest
from kymatui.operator.kymas.kyma_status import KymaStatusDraft
from kymatui.operator.kymas.manifest_writes import ManifestWrites, ModuleNotRemovedError
from kymatui.operator.kymas.module_planning import ModulePlanner, PlannedModule

_CLUSTER_SCOPED: Final = f"{OPERATOR}/is-cluster-scoped"


class ModuleReports:
    """The reconciler of Kymas' modules on the control plane."""

    def __init__(self, context: KymaContext) -> None:
        self._context = context
        self._planner = ModulePlanner(context)

    def reconcile(self, kyma: Kyma, status: KymaStatusDraft, cancel: threading.Event) -> list[KymatuiError]:
        """Write all Manifests, then the status in memory, then delete the Manifests of modules that are disabled.

        Return the errors of single Manifests, which keep no other module from its turn. Unlike lifecycle-manager,
        report each in the entry of its module. Raises the errors of the catalog.
        """
        context = self._context
        writes = ManifestWrites(context.home, cancel, context.is_unseen, marks=context.marks)
        failed: list[KymatuiError] = []
        for module in self._planner.plan(kyma, cancel):
            current = status.module(module.item.name)
            status.installed[module.item.name] = module.installed
            try:
                status.put_module(_entry(module, writes.write(kyma, module), current))
            except CancelledError:
                raise
            except KymatuiError as error:
                failed.append(error)
                if not isinstance(error, ConflictError):  # another client's write, and no state of the module
                    status.put_module(_failed_entry(module, error, current))
        removed, unread = self._follow_removed(kyma, status, cancel)
        return [*failed, *unread, *writes.delete_all(removed)]

    def follow(self, kyma: Kyma, status: KymaStatusDraft, cancel: threading.Event) -> None:
        """Take the states that Manifests have reached since they were written, so that one status has both.

        Only for modules that are on their way; the state of one that cannot be read stays for the next reconciliation.
        """
        for entry in status.modules:
            ref = _manifest_of(entry)
            moving = entry.get("state") in ("", State.PROCESSING) and "message" not in entry
            if ref is None or not moving or kyma.request(str(entry.get("name", ""))) is None:
                continue
            try:
                raw = self._context.home.get(ref, cancel=cancel)
            except CancelledError:
                raise
            except KymatuiError:
                continue
            if raw is not None:
                entry["state"] = JsonReader(raw).child("status").text("state")

    def _follow_removed(
        self, kyma: Kyma, status: KymaStatusDraft, cancel: threading.Event
    ) -> tuple[list[ObjectRef], list[KymatuiError]]:
        """Take the state of disabled modules from their Manifests, drop those without one; return the Manifests."""
        gone, remaining, failed = list[str](), list[ObjectRef](), list[KymatuiError]()
        home = self._context.home
        for entry in status.modules:
            name = str(entry.get("name", ""))
            if kyma.request(name) is not None:
                continue
            try:
                if "manifest" not in entry and (installed := installed_manifest(home, kyma, name, cancel)) is not None:
                    status.installed[name] = installed.version
                    entry |= manifest_entry(installed)
                ref = _manifest_of(entry)
                raw = home.get(ref, cancel=cancel) if ref is not None else None
            except CancelledError:
                raise
            except KymatuiError as error:
                failed.append(error)
                continue
            if ref is None or raw is None:
                gone.append(name)
                continue
            entry["state"] = JsonReader(raw).child("status").text("state")
            remaining.append(ref)
        status.drop_modules(gone)
        return remaining, failed


def _entry(
    planned: PlannedModule, live: Mapping[str, Any] | None, current: Mapping[str, Any] | None
) -> Mapping[str, Any]:
    if planned.outcome is not Outcome.ACCEPTED or planned.body is None or planned.template is None:
        if current is not None and not planned.item.enabled:
            return {key: value for key, value in current.items() if key != "message"}  # of a version that goes
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


def _failed_entry(planned: PlannedModule, error: KymatuiError, current: Mapping[str, Any] | None) -> Mapping[str, Any]:
    """Return the entry so far with the error of the module's Manifest.

    A new entry names the Manifest, which may have been created despite the error. It has the version, or else the next
    attempt would wait for a maintenance window, but no template: an older version is no downgrade of one that failed.
    """
    entry = current
    if entry is None:
        entry = _entry(replace(planned, outcome=Outcome.ACCEPTED), None, None)
        entry = {key: value for key, value in entry.items() if key not in ("template", "resource")}
    state = State.DELETING if isinstance(error, ModuleNotRemovedError) else State.ERROR
    return {**entry, "state": state.value, "message": str(error)}


def _manifest_of(entry: Mapping[str, Any]) -> ObjectRef | None:
    reader = JsonReader(entry)
    if not reader.has("manifest"):
        return None
    tracked = reader.child("manifest")
    metadata = tracked.child("metadata")
    kind = GroupVersionKind.of(tracked.text("apiVersion"), tracked.text("kind"))
    return ObjectRef(kind, metadata.text("namespace"), metadata.text("name"))
