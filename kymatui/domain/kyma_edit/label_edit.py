"""Edits of the Kyma labels that decide which modules are allowed (beta, internal), with their effects.

Removing such a label uninstalls every module that requires it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from msgspec import Struct
from msgspec.structs import replace

from kymatui.domain.catalog.catalog import build_catalog
from kymatui.domain.catalog.effects import Effect, compare_catalogs
from kymatui.domain.gitops import GitChanges, git_changes, git_warnings
from kymatui.domain.kubernetes.json_reader import mapping_at
from kymatui.domain.kubernetes.object_meta import LABEL_BETA, LABEL_INTERNAL, read_ref
from kymatui.domain.kubernetes.refs import ObjectRef
from kymatui.domain.kyma.kyma_keeper import find_keeper
from kymatui.domain.kyma.kymas import Kyma
from kymatui.domain.kyma.problems import Actor
from kymatui.domain.kyma_edit.module_edit import explain_no_kyma, find_kyma
from kymatui.domain.remote.kyma_sync import owner_kyma
from kymatui.domain.snapshot.cluster_index import CATALOG_FEEDS
from kymatui.domain.snapshot.missing_lists import explain_missing
from kymatui.domain.snapshot.snapshots import ReadCache, Snapshot

LABELS: Final[Mapping[str, str]] = {"beta": LABEL_BETA, "internal": LABEL_INTERNAL}


Labels = Mapping[str, str | None]
"""Labels to set; None removes one."""


class LabelChange(Struct, frozen=True):
    """One label before and after; None if absent."""

    label: str
    before: str | None
    after: str | None

    @property
    def is_empty(self) -> bool:
        return self.before == self.after


class LabelEdit(Struct, frozen=True):
    """An edit of a Kyma's labels; `changes` lists all requested labels, even unchanged ones.

    `patch` applies only to the Kyma with the values that were read, and is empty if nothing changes.
    """

    kyma: ObjectRef
    uid: str
    changes: tuple[LabelChange, ...]
    patch: tuple[Mapping[str, Any], ...]

    @property
    def is_empty(self) -> bool:
        return not self.patch

    @property
    def labels(self) -> Labels:
        """Return the labels after the edit."""
        return {change.label: change.after for change in self.changes}


class LabelProposal(Struct, frozen=True):
    """A label edit with its effects; `edit` is None without a Kyma.

    `comes` and `goes` are the catalog objects that a runtime gains and loses, `changes` those that get other
    channels; `warnings` are further notes, `git` is the change where the Kyma comes from Git.
    """

    edit: LabelEdit | None
    refusal: str = ""
    effects: tuple[Effect, ...] = ()
    comes: tuple[ObjectRef, ...] = ()
    goes: tuple[ObjectRef, ...] = ()
    changes: tuple[ObjectRef, ...] = ()
    warnings: tuple[str, ...] = ()
    git: GitChanges = ()

    @property
    def command(self) -> tuple[str, ...]:
        """Return the command that makes the edit: ("label", "beta=true")."""
        names = {label: name for name, label in LABELS.items()}
        labels = {names[label]: value for label, value in self.edit.labels.items()} if self.edit is not None else {}
        return ("label", *(f"{name}-" if value is None else f"{name}={value}" for name, value in labels.items()))


def label_edit(kyma: Kyma, labels: Labels) -> LabelEdit:
    """Return the edit that sets labels, or removes those with value None."""
    metadata = mapping_at(kyma.raw, "metadata")
    raw_labels = metadata.get("labels")
    current: Mapping[str, Any] = raw_labels if isinstance(raw_labels, Mapping) else {}
    changes = tuple(LabelChange(label, current.get(label), value) for label, value in labels.items())
    todo = [change for change in changes if not change.is_empty]
    patch = tuple(_patch(metadata, todo, isinstance(raw_labels, Mapping))) if todo else ()
    return LabelEdit(read_ref(kyma.raw), str(metadata.get("uid") or ""), changes, patch)


def _patch(metadata: Mapping[str, Any], todo: Sequence[LabelChange], listed: bool) -> Iterator[Mapping[str, Any]]:
    """Yield the patch with all tests first; the server applies it as a whole or not at all."""
    yield {"op": "test", "path": "/metadata/uid", "value": metadata.get("uid")}
    if any(change.before is None for change in todo):
        # JSON patch cannot test for an absent label, so require an unchanged object
        yield {"op": "test", "path": "/metadata/resourceVersion", "value": metadata.get("resourceVersion")}
    for change in todo:
        if change.before is not None:
            yield {"op": "test", "path": _path(change.label), "value": change.before}
    if not listed:
        yield {"op": "add", "path": "/metadata/labels", "value": {change.label: change.after for change in todo}}
        return
    for change in todo:
        if change.after is None:
            yield {"op": "remove", "path": _path(change.label)}
        else:
            op = "add" if change.before is None else "replace"
            yield {"op": op, "path": _path(change.label), "value": change.after}


def _path(label: str) -> str:
    return f"/metadata/labels/{label.replace('~', '~0').replace('/', '~1')}"


def propose_labels(snapshot: Snapshot, labels: Labels, now: float) -> LabelProposal:
    """Return the effects of a label change in a snapshot; `now` is in seconds of the Unix clock."""
    cache = ReadCache()  # both catalogs share most objects
    before = build_catalog(snapshot, now, cache=cache)
    kyma = find_kyma(snapshot, before.kyma.ref if before.kyma is not None else None)
    if kyma is None:
        return LabelProposal(None, explain_no_kyma(before))
    if refusal := before.choice_refusal:
        return LabelProposal(None, f"{refusal}: use --remote RUNTIME, or --fleet")
    if (why := explain_missing(snapshot.feeds, CATALOG_FEEDS)) is not None:
        return LabelProposal(None, f"the effect of the labels is unknown: {why.reason}")
    edit = label_edit(kyma, labels)
    refusal = _refusal(kyma)
    if edit.is_empty or refusal:
        return LabelProposal(edit, refusal)
    kymas = tuple(_labelled(raw, labels) if read_ref(raw) == edit.kyma else raw for raw in snapshot.kymas)
    name = {"name": edit.kyma.name, "namespace": edit.kyma.namespace, "labels": labels}
    git = git_changes(kyma.raw, {"metadata": name})
    after = build_catalog(replace(snapshot, kymas=kymas), now, cache=cache)
    warnings = (*before.edit_warnings, *git_warnings(git))
    return LabelProposal(edit, refusal, compare_catalogs(before, after), warnings=warnings, git=git)


def _refusal(kyma: Kyma) -> str:
    if owner := owner_kyma(kyma):
        keeper = find_keeper((kyma.raw,)) or Actor.KLM
        return f"{kyma.ref} is a runtime's copy; {keeper} reads the labels of {owner} on the control plane"
    return f"{kyma.ref} is being deleted" if kyma.meta.deleting else ""


def _labelled(raw: Mapping[str, Any], labels: Labels) -> dict[str, Any]:
    metadata = dict(raw.get("metadata") or {})
    merged = {**(metadata.get("labels") or {}), **labels}
    return {
        **raw,
        "metadata": {**metadata, "labels": {name: value for name, value in merged.items() if value is not None}},
    }
