"""The Kyma of a runtime: created from the control plane's, then the source of channel and modules."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from typing import Any, Final

from kymatui.domain.kubernetes.object_meta import LABEL_MANAGED_BY
from kymatui.domain.kubernetes.refs import ObjectRef
from kymatui.domain.kyma.kymas import KYMA_NAME, KYMA_NAMESPACE, NO_CHANNEL, SKIP_WINDOWS, Kyma, read_kyma
from kymatui.domain.kyma.states import State
from kymatui.domain.modules.module_outcomes import runtime_entry, status_changes
from kymatui.domain.remote.kyma_sync import ANNOTATION_OWNED_BY, LABEL_WATCHED_BY
from kymatui.engine.cluster.ports import NAMESPACE, OPERATOR_FIELD_MANAGER, Cluster, Object, PatchKind
from kymatui.errors import ConfigurationError, ConflictError, NotFoundError
from kymatui.operator.framework.applied_copies import AppliedCopies
from kymatui.operator.kymas.kyma_context import KYMA

RUNTIME_KYMA: Final = ObjectRef(KYMA, KYMA_NAMESPACE, KYMA_NAME)
RUNTIME_NAMESPACE: Final = ObjectRef(NAMESPACE, "", KYMA_NAMESPACE)
_RUNTIME_ID: Final = "kyma-project.io/runtime-id"
_COPIED: Final = (_RUNTIME_ID, "kyma-project.io/global-account-id", "kyma-project.io/subaccount-id")
_NAMESPACE_LABELS: Final = {
    LABEL_MANAGED_BY: "kyma",
    "istio-injection": "enabled",
    "namespaces.warden.kyma-project.io/validate": "enabled",
}


class RuntimeKyma:
    """The runtime's Kyma of one control plane's Kyma, in one reconciliation."""

    def __init__(self, runtime: Cluster, cancel: threading.Event, created: Callable[[], None] = lambda: None) -> None:
        """Call `created` after the creation of the runtime's Kyma."""
        self._runtime = runtime
        self._cancel = cancel
        self._created = created

    def ensure_namespace(self, copies: AppliedCopies, within: float) -> None:
        """Create the namespace kyma-system with its labels, or restore them."""
        metadata = {"name": KYMA_NAMESPACE, "labels": dict(_NAMESPACE_LABELS)}
        body = {"apiVersion": "v1", "kind": "Namespace", "metadata": metadata}
        copies.ensure(self._runtime, body, OPERATOR_FIELD_MANAGER, self._cancel, within=within)

    def fetch(self, kyma: Kyma, spec: Callable[[], Mapping[str, Any]]) -> Object:
        """Return the runtime's Kyma; create a missing one with this spec, and the labels and owner of `kyma`.

        As lifecycle-manager leaves it, one that will be refused for its channel has neither.
        """
        live = self._runtime.get(RUNTIME_KYMA, cancel=self._cancel)
        if live is not None:
            return live
        desired = spec()
        marks = {} if str(desired.get("channel") or "").lower() == NO_CHANNEL else _marks(kyma)
        body = {
            "apiVersion": KYMA.api_version,
            "kind": "Kyma",
            "metadata": {"name": KYMA_NAME, "namespace": KYMA_NAMESPACE, **marks},
            "spec": {key: value for key, value in desired.items() if key != SKIP_WINDOWS or value},
        }
        created = self._runtime.create(body, manager=OPERATOR_FIELD_MANAGER, cancel=self._cancel)
        self._created()
        return created

    def mirror_metadata(self, kyma: Kyma, live: Mapping[str, Any]) -> None:
        """Copy labels and owner to the runtime's Kyma; one that is being deleted stays as it is."""
        metadata = live.get("metadata") or {}
        if metadata.get("deletionTimestamp"):
            return
        marks = _marks(kyma)
        if not all(_has(metadata.get(key), marks_of_field) for key, marks_of_field in marks.items()):
            self._patch({"metadata": marks})

    def mirror_status(self, status: Mapping[str, Any], live: Mapping[str, Any]) -> None:
        """Copy the status to the runtime's Kyma; one that is being deleted stays as it is."""
        if (live.get("metadata") or {}).get("deletionTimestamp"):
            return
        modules = [runtime_entry(entry, KYMA_NAMESPACE) for entry in status.get("modules") or []]
        self.write_status(live, {**status, "modules": modules})

    def write_status(self, live: Mapping[str, Any], status: Mapping[str, Any]) -> None:
        """Write the fields of the status that differ."""
        changed = status_changes(live.get("status") or {}, status)
        if changed:
            self._patch({"status": changed}, "status")

    def set_deleting(self, stamp: str) -> bool:
        """Set the state to Deleting; return whether that was still to do."""
        live = self._runtime.get(RUNTIME_KYMA, cancel=self._cancel)
        if live is None or (live.get("status") or {}).get("state") == State.DELETING:
            return False
        operation = {"operation": ".status.State set to Deleting", "lastUpdateTime": stamp}
        self._patch({"status": {"state": State.DELETING.value, "lastOperation": operation}}, "status")
        return True

    def _patch(self, patch: Mapping[str, Any], subresource: str = "") -> None:
        """Patch the Kyma. Raises ConflictError if it was deleted since it was read: the next pass creates it again."""
        try:
            self._runtime.patch(
                RUNTIME_KYMA,
                patch,
                PatchKind.MERGE,
                manager=OPERATOR_FIELD_MANAGER,
                subresource=subresource,
                cancel=self._cancel,
            )
        except NotFoundError as error:
            raise ConflictError(f"{RUNTIME_KYMA} was deleted meanwhile", status=409) from error


def _marks(kyma: Kyma) -> dict[str, dict[str, str]]:
    """Return the labels and the owner that the runtime's Kyma has from the control plane's."""
    labels = {LABEL_WATCHED_BY: "kyma", LABEL_MANAGED_BY: "kyma"}
    labels |= {name: kyma.meta.labels[name] for name in _COPIED if name in kyma.meta.labels}
    return {"labels": labels, "annotations": {ANNOTATION_OWNED_BY: f"{kyma.meta.namespace}/{kyma.meta.name}"}}


def with_runtime_spec(kyma: Kyma, remote: Mapping[str, Any]) -> Kyma:
    """Return the control plane's Kyma with channel and modules of the runtime's. Raises ConfigurationError."""
    spec, theirs = dict(kyma.raw.get("spec") or {}), remote.get("spec") or {}
    spec["channel"], spec["modules"] = theirs.get("channel", ""), theirs.get("modules") or []
    merged = read_kyma({**kyma.raw, "spec": spec})
    if not isinstance(merged, Kyma):
        raise ConfigurationError(f"the runtime's {RUNTIME_KYMA} cannot be read: {merged.reason}")
    return merged


def _has(labels: Any, expected: Mapping[str, str]) -> bool:
    return isinstance(labels, Mapping) and all(labels.get(name) == value for name, value in expected.items())
