"""Labels of a Kyma that decide which modules it may have (beta, internal): what a change would do, before it is made.

Taking such a label away uninstalls every module that only Kymas with it may have.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

from kymatui.domain.catalog import Settings, catalog
from kymatui.domain.kymas import Kyma, read_kyma
from kymatui.domain.objects import LABEL_BETA, LABEL_INTERNAL, read_ref
from kymatui.domain.refs import ObjectRef
from kymatui.domain.snapshots import Snapshot
from kymatui.domain.toggling import Effect, effects

LABELS: Final[Mapping[str, str]] = {"beta": LABEL_BETA, "internal": LABEL_INTERNAL}


@dataclass(frozen=True, slots=True)
class LabelEdit:
    """One label of one Kyma, as it was seen and as it will be; None where there is none.

    `patch` applies only to the Kyma that was seen with that value, and is empty where nothing is to be done.
    """

    kyma: ObjectRef
    uid: str
    label: str
    before: str | None
    after: str | None
    patch: tuple[Mapping[str, Any], ...]

    @property
    def is_empty(self) -> bool:
        return not self.patch


@dataclass(frozen=True, slots=True)
class LabelProposal:
    """An edit of a label with what becomes of each module; `edit` is None where there is no Kyma.

    `comes`, `goes` and `changes` are what of the catalog a runtime gets and loses, and what of it has other channels
    then; `warnings` tell what else is to be known.
    """

    edit: LabelEdit | None
    refusal: str = ""
    effects: tuple[Effect, ...] = ()
    comes: tuple[str, ...] = ()
    goes: tuple[str, ...] = ()
    changes: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()


def label_edit(kyma: Kyma, label: str, value: str | None) -> LabelEdit:
    """The edit that gives a label a value, or takes it away."""
    raw = kyma.raw.get("metadata")
    metadata: Mapping[str, Any] = raw if isinstance(raw, Mapping) else {}
    found = metadata.get("labels")
    before = found.get(label) if isinstance(found, Mapping) else None
    patch = () if before == value else _patch(metadata, label, before, value, isinstance(found, Mapping))
    return LabelEdit(read_ref(kyma.raw), str(metadata.get("uid") or ""), label, before, value, patch)


def _patch(
    metadata: Mapping[str, Any], label: str, before: str | None, after: str | None, listed: bool
) -> tuple[Mapping[str, Any], ...]:
    same = {"op": "test", "path": "/metadata/uid", "value": metadata.get("uid")}
    path = f"/metadata/labels/{label.replace('~', '~0').replace('/', '~1')}"
    if before is not None:
        seen = {"op": "test", "path": path, "value": before}
        done = {"op": "remove", "path": path} if after is None else {"op": "replace", "path": path, "value": after}
        return same, seen, done
    # that a label is not there cannot be tested: nothing of the object may have changed
    version = {"op": "test", "path": "/metadata/resourceVersion", "value": metadata.get("resourceVersion")}
    if listed:
        return same, version, {"op": "add", "path": path, "value": after}
    return same, version, {"op": "add", "path": "/metadata/labels", "value": {label: after}}


def propose_label(
    snapshot: Snapshot, label: str, value: str | None, now: float, settings: Settings | None = None
) -> LabelProposal:
    """What a change of a label would do in the cluster of a snapshot. `now` is in seconds of the Unix clock."""
    before = catalog(snapshot, now, settings)
    ref = before.kyma.ref if before.kyma is not None else None
    kyma = read_kyma(next((raw for raw in snapshot.kymas if read_ref(raw) == ref), None))
    if not isinstance(kyma, Kyma):
        return LabelProposal(None, "there is no Kyma in this cluster that could be edited")
    edit = label_edit(kyma, label, value)
    refusal = f"{kyma.ref} is being deleted" if kyma.meta.deleting else ""
    if edit.is_empty:
        return LabelProposal(edit, refusal)
    kymas = tuple(_labelled(raw, label, value) if read_ref(raw) == edit.kyma else raw for raw in snapshot.kymas)
    return LabelProposal(edit, refusal, effects(before, catalog(replace(snapshot, kymas=kymas), now, settings)))


def _labelled(raw: Mapping[str, Any], label: str, value: str | None) -> dict[str, Any]:
    metadata = dict(raw.get("metadata") or {})
    labels = {name: found for name, found in (metadata.get("labels") or {}).items() if name != label}
    metadata["labels"] = {**labels, label: value} if value is not None else labels
    return {**raw, "metadata": metadata}
