"""Changes of a Kyma's list of modules, as JSON patches that apply only to what was seen.

The patch of an entry tests the entry that was read, so an edit that somebody else made to it in between is never lost:
the server refuses the patch. Other entries, the status and the labels may change meanwhile without disturbing it.
"""

from __future__ import annotations

import copy
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from kymatui.domain.kubernetes.object_meta import read_ref
from kymatui.domain.kubernetes.refs import ObjectRef
from kymatui.domain.kyma.kymas import Kyma, Policy

Json = dict[str, Any]
ModuleEntry = Mapping[str, Any]
EntryChange = Callable[[Json | None], Json | None]
"""Makes a new entry of the old one; None stands for no entry, before and after."""


@dataclass(frozen=True, slots=True)
class KymaEdit:
    """One change of one entry.

    `before` and `after` are the entry as it was seen and as it will be, None where there is none; `patch` is empty
    where nothing is to be done; `whole` is the Kyma as it will be.
    """

    kyma: ObjectRef
    module: str
    before: ModuleEntry | None
    after: ModuleEntry | None
    patch: tuple[Mapping[str, Any], ...]
    whole: Mapping[str, Any]

    @property
    def is_empty(self) -> bool:
        """Whether all is as it should be already."""
        return not self.patch

    def lines(self) -> tuple[tuple[str, str, str], ...]:
        """Field by field: the path, the value before and the value after ("" where there is none)."""
        if self.before is None or self.after is None:
            whole = ("spec.modules", _text(self.before), _text(self.after))
            return () if self.before is self.after else (whole,)
        before, after = self.before, self.after
        keys = [key for key in dict.fromkeys([*before, *after]) if before.get(key) != after.get(key)]
        where = f"spec.modules[{self.module}]"
        return tuple((f"{where}.{key}", _text(before.get(key)), _text(after.get(key))) for key in keys)


def _text(value: object) -> str:
    if isinstance(value, str):
        return value
    return "" if value is None else json.dumps(value, ensure_ascii=False)


def edit_entry(kyma: Kyma, module: str, change: EntryChange) -> KymaEdit:
    """What `change` makes of a module's entry, as an edit; the first entry of that name counts."""
    found = kyma.raw.get("spec")
    spec: Mapping[str, Any] = found if isinstance(found, Mapping) else {}
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
        # a list that somebody else begins meanwhile would be replaced: nothing may have changed at all
        version = {"op": "test", "path": "/metadata/resourceVersion", "value": metadata.get("resourceVersion")}
        return same, version, {"op": "add", "path": "/spec/modules", "value": [after]}
    path = f"/spec/modules/{at}"
    seen = {"op": "test", "path": path, "value": before}
    if after is None:
        return same, seen, {"op": "remove", "path": path}
    return same, seen, {"op": "replace", "path": path, "value": after}


def _edited(
    raw: Mapping[str, Any], spec: Mapping[str, Any], entries: list[Any], at: int | None, after: ModuleEntry | None
) -> Json:
    left = list(entries)
    if at is None:
        left += [after] if after is not None else []
    else:
        left[at : at + 1] = [after] if after is not None else []
    return {**raw, "spec": {**spec, "modules": left}}


# the changes that people ask for


def enable_entry(module: str, channel: str | None = None, policy: Policy | None = None) -> EntryChange:
    """The module in the list; a channel of "" is the Kyma's own, None leaves it (and the policy) as it is."""

    def change(entry: Json | None) -> Json:
        made = entry if entry is not None else {"name": module}
        if channel is not None:
            _set(made, "channel", channel)
        if policy is not None:
            made["customResourcePolicy"] = policy.value
        return made

    return change


def disable_entry(entry: Json | None) -> Json | None:
    """The module not in the list."""
    return None


def set_entry_channel(channel: str) -> EntryChange:
    """The entry in another channel, "" for the Kyma's own; without an entry there is nothing to change."""

    def change(entry: Json | None) -> Json | None:
        if entry is not None:
            _set(entry, "channel", channel)
        return entry

    return change


def set_entry_managed(wanted: bool) -> EntryChange:
    """The entry with lifecycle-manager in charge of what is installed, or without."""

    def change(entry: Json | None) -> Json | None:
        if entry is None or entry.get("managed", True) == wanted:
            return entry
        entry["managed"] = wanted
        return entry

    return change


def set_entry_policy(policy: Policy) -> EntryChange:
    """The entry with another policy for the module's default resource."""

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
