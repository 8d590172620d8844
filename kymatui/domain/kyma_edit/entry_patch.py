"""JSON patches of a Kyma's module list that apply only to the entry that was read.

The patch tests the entry, so the server rejects it if another client changed the entry in between. Other entries,
the status and the labels may change meanwhile.
"""

from __future__ import annotations

import copy
import json
from collections.abc import Callable, Mapping
from typing import Any

from msgspec import Struct

from kymatui.domain.gitops import GitChanges, git_changes
from kymatui.domain.kubernetes.json_reader import mapping_at
from kymatui.domain.kubernetes.object_meta import read_ref
from kymatui.domain.kubernetes.refs import ObjectRef
from kymatui.domain.kyma.kymas import Kyma, Policy

Json = dict[str, Any]
ModuleEntry = Mapping[str, Any]
EntryChange = Callable[[Json | None], Json | None]
"""A function from the old entry to the new one; None means no entry."""


class KymaEdit(Struct, frozen=True):
    """A change of one module entry.

    `before` and `after` are the entry, None if absent; `patch` is empty if nothing changes; `edited_kyma` is the edited
    Kyma.
    """

    kyma: ObjectRef
    module: str
    before: ModuleEntry | None
    after: ModuleEntry | None
    patch: tuple[Mapping[str, Any], ...]
    edited_kyma: Mapping[str, Any]

    @property
    def git(self) -> GitChanges:
        """Return the change of the Kyma where it comes from Git."""
        if self.is_empty:
            return ()
        name = {"name": self.kyma.name, "namespace": self.kyma.namespace}
        modules = (self.edited_kyma.get("spec") or {}).get("modules")
        return git_changes(self.edited_kyma, {"metadata": name, "spec": {"modules": modules}})

    @property
    def is_empty(self) -> bool:
        """Return whether nothing changes."""
        return not self.patch

    def lines(self) -> tuple[tuple[str, str, str], ...]:
        """Return the changed fields as path, old value and new value ("" if absent)."""
        if self.before is None or self.after is None:
            entry_line = ("spec.modules", _text(self.before), _text(self.after))
            return () if self.before is self.after else (entry_line,)
        before, after = self.before, self.after
        keys = [key for key in dict.fromkeys([*before, *after]) if before.get(key) != after.get(key)]
        where = f"spec.modules[{self.module}]"
        return tuple((f"{where}.{key}", _text(before.get(key)), _text(after.get(key))) for key in keys)


def _text(value: object) -> str:
    if isinstance(value, str):
        return value
    return "" if value is None else json.dumps(value, ensure_ascii=False)


def edit_entry(kyma: Kyma, module: str, change: EntryChange) -> KymaEdit:
    """Return the edit that `change` makes of the first entry with the module's name."""
    spec = mapping_at(kyma.raw, "spec")
    listed = spec.get("modules")
    entries: list[Any] = listed if isinstance(listed, list) else []
    names = [entry.get("name") if isinstance(entry, Mapping) else None for entry in entries]
    at = names.index(module) if module in names else None
    before = None if at is None else entries[at]
    after = change(copy.deepcopy(dict(before)) if before is not None else None)
    patch = () if after == before else _patch(kyma.raw, at, before, after, isinstance(listed, list))
    return KymaEdit(read_ref(kyma.raw), module, before, after, patch, _edited(kyma.raw, spec, entries, at, after))


def _patch(
    raw: Mapping[str, Any], at: int | None, before: ModuleEntry | None, after: ModuleEntry | None, listed: bool
) -> tuple[Mapping[str, Any], ...]:
    metadata = raw.get("metadata") or {}
    same = {"op": "test", "path": "/metadata/uid", "value": metadata.get("uid")}
    if at is None:
        if listed:
            return same, {"op": "add", "path": "/spec/modules/-", "value": after}
        # "add" would replace a list that another client created meanwhile, so require an unchanged object
        version = {"op": "test", "path": "/metadata/resourceVersion", "value": metadata.get("resourceVersion")}
        return same, version, {"op": "add", "path": "/spec/modules", "value": [after]}
    path = f"/spec/modules/{at}"
    expectation = {"op": "test", "path": path, "value": before}
    if after is None:
        return same, expectation, {"op": "remove", "path": path}
    return same, expectation, {"op": "replace", "path": path, "value": after}


def _edited(
    raw: Mapping[str, Any], spec: Mapping[str, Any], entries: list[Any], at: int | None, after: ModuleEntry | None
) -> Json:
    remaining = list(entries)
    if at is None:
        remaining += [after] if after is not None else []
    else:
        remaining[at : at + 1] = [after] if after is not None else []
    return {**raw, "spec": {**spec, "modules": remaining}}


# the changes of an entry


def enable_entry(module: str, channel: str | None = None, policy: Policy | None = None) -> EntryChange:
    """Return a change that adds the module.

    A channel of "" is the Kyma's own; None keeps channel or policy.
    """

    def change(entry: Json | None) -> Json:
        changed = entry if entry is not None else {"name": module}
        if channel is not None:
            _set(changed, "channel", channel)
        if policy is not None:
            changed["customResourcePolicy"] = policy.value
        return changed

    return change


def disable_entry(entry: Json | None) -> Json | None:
    """Remove the entry."""
    return None


def set_entry_channel(channel: str) -> EntryChange:
    """Return a change of the entry's channel ("" is the Kyma's own); without an entry it does nothing."""

    def change(entry: Json | None) -> Json | None:
        if entry is not None:
            _set(entry, "channel", channel)
        return entry

    return change


def set_entry_managed(managed: bool) -> EntryChange:
    """Return a change that makes lifecycle-manager manage the module or not."""

    def change(entry: Json | None) -> Json | None:
        if entry is None or entry.get("managed", True) == managed:
            return entry
        entry["managed"] = managed
        return entry

    return change


def set_entry_policy(policy: Policy) -> EntryChange:
    """Return a change of the policy for the module's default CR."""

    def change(entry: Json | None) -> Json | None:
        if entry is not None and entry.get("customResourcePolicy", Policy.CREATE_AND_DELETE) != policy:
            entry["customResourcePolicy"] = policy.value
        return entry

    return change


def _set(entry: Json, key: str, text: str) -> None:
    if text:
        entry[key] = text
    else:
        entry.pop(key, None)
