"""The status of a module's Manifest during one reconciliation, with lifecycle-manager's conditions and operations."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, Final

from kymatui.domain.kubernetes.conditions import LONGEST_MESSAGE
from kymatui.domain.kubernetes.json_reader import JsonReader
from kymatui.domain.kubernetes.object_meta import read_time
from kymatui.domain.kubernetes.refs import ObjectRef
from kymatui.domain.kyma.kymas import Policy
from kymatui.domain.kyma.manifests import Manifest
from kymatui.domain.kyma.states import State
from kymatui.operator.manifests.manifest_status import INSTALLATION, MODULE_CR, RESOURCES

READY: Final = "resources are ready"
WAITING: Final = "waiting for resources to become ready"
CHANGED: Final = "resource syncTarget state diff detected"
WAITING_FOR_CRS: Final = "waiting for module crs deletion"
HELD: Final = 10.0
"""Seconds after which objects of an old version count as held: deletions usually end sooner."""
_TEXTS: Final = {
    RESOURCES: ("ResourcesAvailable", "resources not parsed", "resources are parsed and ready for use"),
    INSTALLATION: ("Ready", "installation is not ready", "installation is ready and resources can be used"),
    MODULE_CR: ("ModuleCRCreated", "module CR has not been created to SKR", "module CR was created"),
}


class ModuleStatus:
    """A status that is changed in memory; `patch` tells what to write, as long as the status differs."""

    def __init__(self, manifest: Manifest, now: float) -> None:
        raw = manifest.raw.get("status")
        status: Mapping[str, Any] = raw if isinstance(raw, Mapping) else {}
        self._generation = manifest.meta.generation
        self._stamp = datetime.fromtimestamp(now, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        self._now = now
        self._before = (manifest.state, manifest.operation)
        self._synced_before = manifest.synced
        self._since = read_time(JsonReader(status).child("lastOperation"), "lastUpdateTime")
        self._conditions: dict[str, dict[str, Any]] = {}
        for one in status.get("conditions") or []:
            if isinstance(one, Mapping) and one.get("type"):
                self._conditions[str(one["type"])] = dict(one)
        self.state = manifest.state
        self.operation = manifest.operation
        self.synced: tuple[ObjectRef, ...] = manifest.synced
        kinds = [RESOURCES, INSTALLATION]
        if manifest.resource and manifest.policy == Policy.CREATE_AND_DELETE:
            kinds.append(MODULE_CR)
        for kind in kinds:
            if kind not in self._conditions:
                self._set(kind, holds=False)

    def set_state(self, state: State, operation: str) -> None:
        self.state, self.operation = state.value, operation[:LONGEST_MESSAGE]

    def wait(self, operation: str) -> None:
        """Set Processing, and Warning once the same operation has lasted for HELD seconds."""
        same = operation[:LONGEST_MESSAGE] == self._before[1]
        held = same and self._since is not None and self._now - self._since >= HELD
        warned = same and self._before[0] == State.WARNING
        self.set_state(State.WARNING if held or warned else State.PROCESSING, operation)

    def fulfil(self, kind: str) -> None:
        """Set a condition to True; the first time, its message becomes the operation."""
        known = self._conditions.get(kind)
        if known is not None and known.get("status") != "True":
            self._set(kind, holds=True)
            self.operation = _TEXTS[kind][2]

    def holds(self, kind: str) -> bool:
        return self._conditions.get(kind, {}).get("status") == "True"

    @property
    def differs(self) -> bool:
        """Return whether state, operation or applied objects changed; conditions are written with the next of these."""
        return (self.state, self.operation) != self._before or differs(self._synced_before, self.synced)

    def patch(self) -> Mapping[str, Any]:
        """Return the merge patch of the status."""
        return {
            "status": {
                "state": self.state,
                "lastOperation": {"operation": self.operation, "lastUpdateTime": self._stamp},
                "conditions": list(self._conditions.values()),
                "synced": [_entry(ref) for ref in self.synced],
            }
        }

    def _set(self, kind: str, *, holds: bool) -> None:
        reason, no, yes = _TEXTS[kind]
        self._conditions[kind] = {
            "type": kind,
            "status": str(holds),
            "reason": reason,
            "message": yes if holds else no,
            "observedGeneration": self._generation,
            "lastTransitionTime": self._stamp,
        }


def differs(before: Sequence[ObjectRef], after: Sequence[ObjectRef]) -> bool:
    """Return whether the applied objects are others than before."""
    return len(before) != len(after) or bool(set(before) - set(after))


def _entry(ref: ObjectRef) -> dict[str, str]:
    kind = ref.kind
    made = {"group": kind.group, "version": kind.version, "kind": kind.kind, "name": ref.name}
    return {**made, "namespace": ref.namespace}
