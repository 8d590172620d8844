"""The status of a Manifest during one reconciliation, in both API versions; written only where it differs.

v1beta2 (and v1alpha1 since February 2023) has a state, the last operation, one condition of each type, and the list
of applied objects. v1alpha1 has neither Warning nor Unmanaged; the server prunes fields that a CRD does not have.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from msgspec import Struct

from kymatui.domain.kubernetes.json_reader import JsonReader
from kymatui.domain.kubernetes.object_meta import LONGEST_MESSAGE, format_time, read_time
from kymatui.domain.kubernetes.refs import ObjectRef
from kymatui.domain.kyma.manifests import Manifest
from kymatui.domain.kyma.states import State

Json = dict[str, Any]

READY: Final = "resources are ready"
WAITING: Final = "waiting for resources to become ready"
CHANGED: Final = "resource syncTarget state diff detected"
WAITING_FOR_CRS: Final = "waiting for module crs deletion"
"""lifecycle-manager's operations."""
HELD: Final = 10.0
"""Seconds after which objects of an old version count as held: deletions usually end sooner."""
RESOURCES, INSTALLATION, MODULE_CR = "Resources", "Installation", "ModuleCR"
OF_INSTALL: Final = "/Ready"
"""The suffix of a condition type for one of several installs, after the install's name."""
_TEXTS: Final = {
    RESOURCES: ("ResourcesAvailable", "resources not parsed", "resources are parsed and ready for use"),
    INSTALLATION: ("Ready", "installation is not ready", "installation is ready and resources can be used"),
    MODULE_CR: ("ModuleCRCreated", "module CR has not been created to SKR", "module CR was created"),
}
"""By condition type: lifecycle-manager's reason, and its messages for False and True."""
_ORDER: Final = tuple(_TEXTS)
_OLD_STATES: Final = {State.WARNING.value: State.ERROR.value, State.UNMANAGED.value: State.READY.value}


class ConditionReport(Struct, frozen=True):
    """The content of one condition."""

    type: str
    holds: bool
    message: str = ""
    reason: str = ""


class ManifestStatusDraft:
    """A status that is changed in memory; `document` is what to write, as long as the status differs."""

    def __init__(self, manifest: Manifest, now: float, required: Iterable[str] = ()) -> None:
        """Begin with the Manifest's own; each condition of the `required` types that it lacks is False."""
        self._now = now
        self._stamp = format_time(now)
        self._conditions: dict[str, Mapping[str, Any]] = {}
        self.written(manifest)
        listed = self._before.get("conditions")
        for condition in listed if isinstance(listed, list) else ():
            if isinstance(condition, Mapping) and condition.get("type"):
                self._conditions[str(condition["type"])] = condition
        self.state = manifest.state
        self.operation = manifest.operation
        self.synced: tuple[ObjectRef, ...] = manifest.synced
        for kind in required:
            if kind not in self._conditions:
                self.set_condition(ConditionReport(kind, False, _TEXTS[kind][1]))

    def written(self, manifest: Manifest) -> None:
        """Compare from now on with what a Manifest has, as the server answered it."""
        status = manifest.raw.get("status")
        self._before: Mapping[str, Any] = status if isinstance(status, Mapping) else {}
        self._manifest = manifest

    def set_state(self, state: State, operation: str) -> None:
        self.state, self.operation = state.value, operation[:LONGEST_MESSAGE]

    def wait(self, operation: str) -> None:
        """Set Processing, and Warning once the same operation has lasted for HELD seconds."""
        same = operation[:LONGEST_MESSAGE] == self._manifest.operation
        since = read_time(JsonReader(self._before).child("lastOperation"), "lastUpdateTime")
        held = same and since is not None and self._now - since >= HELD
        warned = same and self._manifest.state == State.WARNING
        self.set_state(State.WARNING if held or warned else State.PROCESSING, operation)

    def fulfil(self, kind: str) -> None:
        """Set a condition to True; the first time, its message becomes the operation."""
        known = self._conditions.get(kind)
        if known is not None and known.get("status") != "True":
            self.set_condition(ConditionReport(kind, True, _TEXTS[kind][2]))
            self.operation = _TEXTS[kind][2]

    def holds(self, kind: str) -> bool:
        return self._conditions.get(kind, {}).get("status") == "True"

    def set_conditions(self, reports: Sequence[ConditionReport]) -> None:
        """Set these conditions, and drop those of earlier installs; those of other clients stay."""
        for report in reports:
            self.set_condition(report)
        kept = {report.type for report in reports}
        for kind in [kind for kind in self._conditions if kind.endswith(OF_INSTALL) and kind not in kept]:
            del self._conditions[kind]

    def set_condition(self, report: ConditionReport) -> None:
        """Set a condition; the time of its transition stays where its status does."""
        old, status = self._conditions.get(report.type, {}), str(report.holds)
        same = old.get("status") == status and bool(old.get("lastTransitionTime"))
        self._conditions[report.type] = {
            "type": report.type,
            "status": status,
            "reason": report.reason or _TEXTS.get(report.type, ("Ready",))[0],
            "message": report.message[:LONGEST_MESSAGE],
            "lastTransitionTime": old["lastTransitionTime"] if same else self._stamp,
            "observedGeneration": self._manifest.meta.generation,
        }

    @property
    def differs(self) -> bool:
        """Return whether the server has another status; fields that a v1alpha1 CRD lacks are ignored."""
        before, document = self._before, self.document()
        is_old = is_v1alpha1(self._manifest)
        del document["synced"]
        if (not is_old or "synced" in before) and differs(self._manifest.synced, self.synced):
            return True
        if not is_old:
            return any(before.get(key, []) != value for key, value in document.items())
        needed = [key for key in document if key in before or key in ("state", "conditions")]
        return not all(_holds(before.get(key, []), document[key]) for key in needed)

    def document(self) -> Json:
        """Return the whole status."""
        before, is_old = self._before, is_v1alpha1(self._manifest)
        state = _OLD_STATES.get(self.state, self.state) if is_old else self.state
        operation = before.get("lastOperation")
        same = isinstance(operation, Mapping) and operation.get("operation") == self.operation
        document: Json = {
            "state": state,
            "lastOperation": dict(operation)
            if isinstance(operation, Mapping) and same and before.get("state") == state
            else {"operation": self.operation, "lastUpdateTime": self._stamp},
            "conditions": sorted(self._conditions.values(), key=_position),
            "synced": [_entry(ref) for ref in self.synced],
        }
        if is_old or "observedGeneration" in before:
            document["observedGeneration"] = self._manifest.meta.generation
        return document


def is_v1alpha1(manifest: Manifest) -> bool:
    return str(manifest.raw.get("apiVersion", "")).endswith("/v1alpha1")


def differs(before: Sequence[ObjectRef], after: Sequence[ObjectRef]) -> bool:
    """Return whether the applied objects are others than before."""
    return len(before) != len(after) or bool(set(before) - set(after))


def _position(condition: Mapping[str, Any]) -> int:
    """Return the place in the list: known types, then those of installs and of other clients."""
    kind = str(condition["type"])
    return _ORDER.index(kind) if kind in _ORDER else len(_ORDER) + (not kind.endswith(OF_INSTALL))


def _entry(ref: ObjectRef) -> Json:
    kind = ref.kind
    entry = {"group": kind.group, "version": kind.version, "kind": kind.kind, "name": ref.name}
    return {**entry, "namespace": ref.namespace}


def _holds(value: object, expected: object) -> bool:
    if isinstance(expected, Mapping):
        return isinstance(value, Mapping) and all(_holds(value[key], expected[key]) for key in expected if key in value)
    if isinstance(expected, list):
        return isinstance(value, list) and len(value) == len(expected) and all(map(_holds, value, expected))
    return value == expected
