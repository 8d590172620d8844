"""The status of a Manifest in both API versions; written only if it changes.

v1beta2 (and v1alpha1 since February 2023) has a state, the last operation, one condition of each type, and the list
of applied objects. v1alpha1 has neither Warning nor Unmanaged; the server prunes fields that a CRD does not have.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, Final

from msgspec import Struct

from kymatui.domain.kubernetes.conditions import LONGEST_MESSAGE
from kymatui.domain.kubernetes.refs import ObjectRef
from kymatui.domain.kyma.manifests import Manifest
from kymatui.domain.kyma.states import State

Json = dict[str, Any]

_OLD_STATES: Final = {State.WARNING: State.ERROR, State.UNMANAGED: State.READY}
RESOURCES, INSTALLATION, MODULE_CR = "Resources", "Installation", "ModuleCR"
OF_INSTALL: Final = "/Ready"
"""The suffix of a condition type for one of several installs, after the install's name."""
_REASONS: Final = {RESOURCES: "ResourcesAvailable", INSTALLATION: "Ready", MODULE_CR: "ModuleCRCreated"}


class ConditionReport(Struct, frozen=True):
    """The content of one condition; `holds` is None for Unknown."""

    type: str
    holds: bool | None
    message: str = ""
    reason: str = ""

    @property
    def status(self) -> str:
        return {True: "True", False: "False", None: "Unknown"}[self.holds]


class ReconcileResult(Struct, frozen=True):
    """The result of a reconciliation: state, sentence, conditions, applied objects (None: unchanged).

    `waits` are the objects whose changes may change the state.
    """

    state: State
    message: str
    said: tuple[ConditionReport, ...] = ()
    synced: tuple[ObjectRef, ...] | None = None
    waits: tuple[ObjectRef, ...] = ()


def new_status(manifest: Manifest, finding: ReconcileResult, now: float) -> Json | None:
    """Return the status to write, None if it is unchanged; `now` is in seconds since 1970."""
    old = manifest.raw.get("status")
    before: Mapping[str, Any] = old if isinstance(old, Mapping) else {}
    stamp = datetime.fromtimestamp(now, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    made: Json = {
        "state": _state(manifest, finding.state),
        "lastOperation": _operation(before, finding, stamp),
        "conditions": list(_conditions(manifest, before, finding.said, stamp)),
        "synced": [_entry(ref) for ref in sorted(finding.synced if finding.synced is not None else manifest.synced)],
    }
    if "observedGeneration" in before or manifest.raw.get("apiVersion", "").endswith("/v1alpha1"):
        made["observedGeneration"] = manifest.meta.generation
    return None if _has_status(manifest, before, made) else made


def is_v1alpha1(manifest: Manifest) -> bool:
    """Return whether the Manifest is of v1alpha1."""
    return str(manifest.raw.get("apiVersion", "")).endswith("/v1alpha1")


def _state(manifest: Manifest, state: State) -> str:
    return _OLD_STATES.get(state, state) if is_v1alpha1(manifest) else state


def _operation(before: Mapping[str, Any], finding: ReconcileResult, stamp: str) -> Json:
    old = before.get("lastOperation")
    words = finding.message[:LONGEST_MESSAGE]
    if isinstance(old, Mapping) and old.get("operation") == words and before.get("state") == finding.state:
        return dict(old)
    return {"operation": words, "lastUpdateTime": stamp}


def _conditions(
    manifest: Manifest, before: Mapping[str, Any], said: Sequence[ConditionReport], stamp: str
) -> Iterable[Mapping[str, Any]]:
    """Yield the new conditions, then existing ones of other types, which other clients may own.

    Conditions of installs that the Manifest no longer has are dropped.
    """
    listed = before.get("conditions")
    old = [item for item in listed if isinstance(item, Mapping)] if isinstance(listed, list) else []
    known = {str(item.get("type")): item for item in old}
    for item in said:
        yield _condition(manifest, known.pop(item.type, {}), item, stamp)
    yield from (item for name, item in known.items() if not name.endswith(OF_INSTALL))


def _condition(manifest: Manifest, old: Mapping[str, Any], said: ConditionReport, stamp: str) -> Json:
    same = old.get("status") == said.status and bool(old.get("lastTransitionTime"))
    made: Json = {
        "type": said.type,
        "status": said.status,
        "reason": said.reason or _REASONS.get(said.type, "Ready"),
        "message": said.message[:LONGEST_MESSAGE],
        "lastTransitionTime": old["lastTransitionTime"] if same else stamp,
        "observedGeneration": manifest.meta.generation,
    }
    return made


def _entry(ref: ObjectRef) -> Json:
    kind = ref.kind
    return {
        "group": kind.group,
        "version": kind.version,
        "kind": kind.kind,
        "name": ref.name,
        "namespace": ref.namespace,
    }


def _has_status(manifest: Manifest, before: Mapping[str, Any], made: Mapping[str, Any]) -> bool:
    """Return whether the server has the status; fields that a v1alpha1 CRD lacks are ignored."""
    if not is_v1alpha1(manifest):
        return all(before.get(key, []) == value for key, value in made.items())
    needed = [key for key in made if key in before or key in ("state", "conditions")]
    return all(_holds(before.get(key, []), made[key]) for key in needed)


def _holds(found: object, wanted: object) -> bool:
    if isinstance(wanted, Mapping):
        return isinstance(found, Mapping) and all(_holds(found[key], wanted[key]) for key in wanted if key in found)
    if isinstance(wanted, list):
        return isinstance(found, list) and len(found) == len(wanted) and all(map(_holds, found, wanted))
    return found == wanted
