"""The Manifests of a Kyma: created, updated and deleted as the plan of its modules says."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import Any, NoReturn

from kymatui.domain.kubernetes.object_meta import LABEL_MANDATORY, read_ref
from kymatui.domain.kubernetes.refs import ObjectRef
from kymatui.domain.kyma.kymas import Kyma
from kymatui.domain.kyma.manifests import ImageSpec, Manifest, read_manifest
from kymatui.domain.modules.module_outcomes import Outcome
from kymatui.domain.plans.kyma_manifest import needs_mandatory_update, needs_update
from kymatui.engine.cluster.concurrency import attempt
from kymatui.engine.cluster.ports import OPERATOR_CREATOR, OPERATOR_FIELD_MANAGER, Cluster, PatchKind
from kymatui.engine.dryrun.field_takeover import apply_owned
from kymatui.errors import KymatuiError, NotFoundError
from kymatui.operator.kymas.kyma_context import never_certain
from kymatui.operator.kymas.module_planning import PlannedModule
from kymatui.operator.manifests.manifest_marks import LAYER_TYPES, REQUIRED_FINALIZERS, SYNCED_LAYER


class ModuleNotRemovedError(KymatuiError):
    """A module that the Kyma may not have any more is being uninstalled."""


class ManifestWrites:
    """The writes of one reconciliation on the control plane."""

    def __init__(
        self,
        home: Cluster,
        cancel: threading.Event,
        is_unseen: Callable[[ObjectRef], bool] = never_certain,
        *,
        marks: bool = False,
    ) -> None:
        """Give new Manifests what their controller writes first (`marks`): if it is in this process, and has access."""
        self._home = home
        self._marks = marks
        self._cancel = cancel
        self._is_unseen = is_unseen

    def write(self, kyma: Kyma, planned: PlannedModule) -> Mapping[str, Any] | None:
        """Write or delete a module's Manifest; return the live one, None without one.

        Raises ModuleNotRemovedError until the Manifest of a forbidden module is gone.
        """
        if planned.body is None:
            return None
        ref = read_ref(planned.body)
        report = kyma.report(planned.item.name)
        is_new = report is None and self._is_unseen(ref)
        raw = None if is_new else self._home.get(ref, cancel=self._cancel)
        live = read_manifest(raw) if raw is not None else None
        live = live if isinstance(live, Manifest) else None
        if planned.outcome is Outcome.UNINSTALL:
            if raw is not None:
                self._uninstall(ref)
            return None
        template = planned.template.meta.generation if planned.template is not None else 0
        reported = report.template.generation if report is not None and report.template is not None else None
        if planned.mandatory or not needs_update(
            planned.body, live, planned.item, reported_generation=reported, template_generation=template
        ):
            return raw
        if planned.item.enabled:
            return self._apply(planned.body, raw)
        return self._replace_spec(planned.body, raw)

    def write_mandatory(self, body: Mapping[str, Any]) -> None:
        """Create or restore the Manifest of a mandatory module."""
        raw = self._home.get(read_ref(body), cancel=self._cancel)
        live = read_manifest(raw) if raw is not None else None
        if needs_mandatory_update(body, live if isinstance(live, Manifest) else None):
            self._apply(body, raw)

    def _apply(self, body: Mapping[str, Any], raw: Mapping[str, Any] | None) -> Mapping[str, Any]:
        """Apply a Manifest; `raw` is the live one.

        An apply deletes the fields of the last one that it does not name: each of them names the marks of the live one.
        As with lifecycle-manager, a new one is another manager's, so that its fields stay if a later template lacks
        them: without its default CR, a Manifest could not be deleted.
        """
        marked = body if raw is None and not self._marks else with_marks(body, raw)
        manager = OPERATOR_CREATOR if raw is None else OPERATOR_FIELD_MANAGER
        applied = apply_owned(self._home, marked, self._cancel, manager)
        if _is_marked_mandatory(body) or not _is_marked_mandatory(applied):
            return applied
        # lifecycle-manager leaves it, so that the module would go from all runtimes with its ModuleReleaseMeta
        patch = {"metadata": {"labels": {LABEL_MANDATORY: None}}}
        return self._home.patch(
            read_ref(body), patch, PatchKind.MERGE, manager=OPERATOR_FIELD_MANAGER, cancel=self._cancel
        )

    def _replace_spec(self, body: Mapping[str, Any], raw: Mapping[str, Any] | None) -> Mapping[str, Any] | None:
        """Give the Manifest of a module that is being removed the new spec, so that a repair can unblock it."""
        if raw is None:
            return None
        with contextlib.suppress(NotFoundError):  # the removal has ended meanwhile
            replaced = {**raw, "spec": body["spec"]}
            return self._home.update(replaced, manager=OPERATOR_FIELD_MANAGER, cancel=self._cancel)
        return None

    def _uninstall(self, ref: ObjectRef) -> NoReturn:
        self.delete(ref)
        raise ModuleNotRemovedError(f"waiting for the deletion of {ref}")

    def delete(self, ref: ObjectRef) -> None:
        with contextlib.suppress(NotFoundError):
            self._home.delete(ref, cancel=self._cancel)

    def delete_all(self, refs: Iterable[ObjectRef]) -> list[KymatuiError]:
        """Delete each Manifest regardless of the others' errors, and return these."""
        failed: list[KymatuiError] = []
        for ref in refs:
            attempt(partial(self.delete, ref), failed)
        return failed


def _is_marked_mandatory(manifest: Mapping[str, Any]) -> bool:
    return LABEL_MANDATORY in (manifest["metadata"].get("labels") or {})


def with_marks(body: Mapping[str, Any], live: Mapping[str, Any] | None) -> dict[str, Any]:
    """Return a Manifest with finalizers and the annotation of its layer: those of the live one, or all of a new one."""
    metadata = dict(body["metadata"])
    finalizers, layer = [*REQUIRED_FINALIZERS], _layer(body)
    if live is not None:
        marked = live.get("metadata") or {}
        finalizers = [name for name in finalizers if name in (marked.get("finalizers") or ())]
        layer = str((marked.get("annotations") or {}).get(SYNCED_LAYER) or "")
    if finalizers:
        metadata["finalizers"] = finalizers
    if layer:
        metadata["annotations"] = {**(metadata.get("annotations") or {}), SYNCED_LAYER: layer}
    return {**body, "metadata": metadata}


def _layer(body: Mapping[str, Any]) -> str:
    """Return the digest of a Manifest's layer, "" for another source."""
    manifest = read_manifest(body)
    source = manifest.installs[0].source if isinstance(manifest, Manifest) and manifest.installs else None
    return source.ref if isinstance(source, ImageSpec) and source.type in LAYER_TYPES else ""


def add_finalizer(home: Cluster, raw: Mapping[str, Any], name: str, cancel: threading.Event) -> None:
    """Add a finalizer to an object unless it has it. Raises ConflictError if the object changed meanwhile."""
    known = list((raw.get("metadata") or {}).get("finalizers") or [])
    if name not in known:
        set_finalizers(home, raw, [*known, name], cancel)


def set_finalizers(home: Cluster, raw: Mapping[str, Any], names: list[str], cancel: threading.Event) -> None:
    """Replace the finalizers of an object. Raises ConflictError if it changed meanwhile."""
    metadata = {"finalizers": names, "resourceVersion": raw["metadata"].get("resourceVersion")}
    patch = {"metadata": metadata}
    with contextlib.suppress(NotFoundError):  # an object that is gone has no finalizers left
        home.patch(read_ref(raw), patch, PatchKind.MERGE, manager=OPERATOR_FIELD_MANAGER, cancel=cancel)
