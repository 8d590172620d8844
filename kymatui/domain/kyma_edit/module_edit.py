"""Edits of one module in a Kyma: the proposal with its effects, refusals and warnings.

Nothing is written here. The effects come from a second catalog, built with the edited Kyma.

JSON patches of a Kyma's module list that apply only to the entry that was read.

The patch tests the entry, so the server rejects it if another client changed the entry in between. Other entries,
the status and the labels may change meanwhile.
"""

from __future__ import annotations

import copy
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from enum import StrEnum
from typing import Any, Final

from msgspec import Struct
from msgspec.structs import replace

from kymatui.domain.catalog.catalog import build_catalog
from kymatui.domain.catalog.effects import Effect, compare_catalogs
from kymatui.domain.catalog.rows import Catalog, CatalogOrigin, ModuleRow
from kymatui.domain.gitops import GitChanges, git_changes, git_warnings
from kymatui.domain.kubernetes.json_reader import mapping_at
from kymatui.domain.kubernetes.object_meta import read_ref
from kymatui.domain.kubernetes.refs import ObjectRef
from kymatui.domain.kyma.kyma_keeper import with_keeper
from kymatui.domain.kyma.kymas import OWN_CHANNEL, Kyma, Policy, read_kyma
from kymatui.domain.kyma.problems import shell_command
from kymatui.domain.kyma.states import State
from kymatui.domain.kyma.versions import same_version
from kymatui.domain.modules.presence import Presence
from kymatui.domain.modules.risks import RiskKind, risks_of_policy
from kymatui.domain.snapshot.cluster_index import CATALOG_FEEDS
from kymatui.domain.snapshot.missing_lists import RowFact, UnknownFact, explain_missing
from kymatui.domain.snapshot.snapshots import RUNTIME_FEED, ReadCache, Snapshot
from kymatui.domain.versions.messages import refusal_words
from kymatui.domain.versions.refusals import HeldBack
from kymatui.errors import KymatuiError, NotFoundError, RefusedError

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


_WARNED = (RiskKind.PAUSED, RiskKind.CR_STAYS, RiskKind.FINALIZER_STAYS, RiskKind.POLICY_PENDING, RiskKind.MAY_NOT_WAIT)


class EditVerb(StrEnum):
    """The edits of one module."""

    ENABLE = "enable"
    DISABLE = "disable"
    CHANNEL = "channel"
    MANAGE = "manage"
    UNMANAGE = "unmanage"
    POLICY = "policy"


_DELAYED: Final = (EditVerb.DISABLE, EditVerb.POLICY, EditVerb.UNMANAGE, EditVerb.CHANNEL)
"""The edits that reach the Manifest later, or never."""


class ModuleEdit(Struct, frozen=True):
    """A requested edit; a channel of "" is the Kyma's own, None keeps it."""

    verb: EditVerb
    module: str
    channel: str | None = None
    policy: Policy | None = None

    @property
    def takes_up(self) -> bool:
        """Return whether lifecycle-manager installs the module then, over what kymatui may have installed."""
        return self.verb in (EditVerb.ENABLE, EditVerb.MANAGE)


def edit_options(edit: ModuleEdit) -> dict[str, str]:
    """Return channel and policy of an edit as texts, for a journal."""
    options = {"channel": edit.channel or OWN_CHANNEL} if edit.channel is not None else {}
    return {**options, "policy": edit.policy.value} if edit.policy is not None else options


def read_edit(verb: EditVerb, module: str, options: Mapping[str, str]) -> ModuleEdit:
    """Return the edit that a journal has; a policy that does not exist is left out."""
    channel, policy = options.get("channel"), options.get("policy")
    known = next((candidate for candidate in Policy if candidate.value == policy), None)
    return ModuleEdit(verb, module, "" if channel == OWN_CHANNEL else channel, known)


def edit_command(edits: Sequence[ModuleEdit]) -> tuple[str, ...]:
    """Return the command that makes edits of one kind: ("channel", "istio", "fast")."""
    first = edits[0]
    value = edit_options(first).get(first.verb.value)  # of channel and policy, which are words of their commands
    return (first.verb.value, *(edit.module for edit in edits), *filter(None, (value,)))


class EditProposal(Struct, frozen=True):
    """An edit with its consequences; `edit` is None without an editable Kyma.

    `module_warnings` are about the module, whichever Kyma is edited. `gone` means that there is nothing to disable,
    because the Kyma does not request the module; `known` that a catalog or a status names the module.
    """

    toggle: ModuleEdit
    edit: KymaEdit | None
    refusals: tuple[str, ...] = ()
    module_warnings: tuple[str, ...] = ()
    effects: tuple[Effect, ...] = ()
    gone: bool = False
    known: bool = True

    @property
    def git(self) -> GitChanges:
        return self.edit.git if self.edit is not None else ()

    @property
    def warnings(self) -> tuple[str, ...]:
        return (*git_warnings(self.git), *self.module_warnings)

    @property
    def command(self) -> tuple[str, ...]:
        return edit_command((self.toggle,))

    @property
    def is_refused(self) -> bool:
        """Return whether the edit must not be applied."""
        return self.edit is None or bool(self.refusals)

    @property
    def is_done(self) -> bool:
        """Return whether the Kyma already has the requested content."""
        return self.edit is not None and self.edit.is_empty and not self.refusals


def propose_edit(snapshot: Snapshot, toggle: ModuleEdit, now: float, cache: ReadCache | None = None) -> EditProposal:
    """Return the proposal for an edit in a snapshot; `now` is in seconds of the Unix clock.

    A caller that proposes several edits passes the same `cache`: a catalog with and one without the edit are built.
    """
    cache = cache or ReadCache()  # both catalogs share most objects
    before = build_catalog(snapshot, now, cache=cache)
    kyma = find_kyma(snapshot, before.kyma.ref if before.kyma is not None else None)
    if kyma is None:
        return EditProposal(toggle, None, (explain_no_kyma(before),))
    if refusal := before.choice_refusal:
        return EditProposal(toggle, None, (f"{refusal}: use --remote RUNTIME, or --fleet",))
    if refusal := elsewhere_refusal(before, *edit_command((toggle,))):
        return EditProposal(toggle, None, (refusal,))
    edit = edit_entry(kyma, toggle.module, entry_change(toggle))
    after = build_catalog(_with_kyma(snapshot, edit), now, cache=cache)
    was, will = before.row(toggle.module), after.row(toggle.module)
    unknown = explain_missing(snapshot.feeds, CATALOG_FEEDS)
    case = _Case(toggle, kyma, edit, was, will, unknown, kyma.meta.name if snapshot.joined else "")
    warnings = [*(_pending(case) if edit.is_empty else (*before.edit_warnings, *_warnings(case)))]
    return EditProposal(
        toggle,
        edit,
        tuple(with_keeper(words, before.keeper) for words in _refusals(case)),
        tuple(with_keeper(words, before.keeper) for words in warnings),
        () if edit.is_empty else compare_catalogs(before, after),
        _is_gone(case),
        case.offers is not None,
    )


def elsewhere_refusal(catalog: Catalog, *command: str) -> str:
    """Return why a command has no effect on a catalog's modules, and which has; "" if they are managed here."""
    if catalog.choice_refusal:
        return f"{catalog.choice_refusal}: use --remote RUNTIME"
    if not catalog.is_control_plane or catalog.kyma is None or RUNTIME_FEED in catalog.feeds:
        return ""
    words = f"the modules of {catalog.kyma.ref} run in another cluster, and {catalog.kyma.keeper.value} takes them from"
    run = shell_command("kymatui", *command, "--remote", catalog.kyma.ref.name)
    return f"{words} the Kyma there; run `{run}`, or use that cluster's context"


def require_kyma(catalog: Catalog) -> ObjectRef:
    """Return the Kyma to edit. Raise NotFoundError if there is none, RefusedError if there are several.

    Raise KymatuiError if it is unknown, because Kymas are not listed.
    """
    if catalog.kyma is None:
        why = explain_no_kyma(catalog)
        raise KymatuiError(why) if catalog.kyma_unknown is not None else NotFoundError(why, status=404)
    if catalog.choice_refusal:
        raise RefusedError(catalog.choice_refusal, hint="use --remote RUNTIME")
    return catalog.kyma.ref


def explain_no_kyma(catalog: Catalog) -> str:
    """Return why there is no Kyma to edit: none exists, or the list of Kymas is missing."""
    why = catalog.kyma_unknown
    return "this cluster has no Kyma to edit" if why is None else f"which Kyma to edit is unknown: {why.reason}"


def _is_gone(case: _Case) -> bool:
    mandatory = case.offers is not None and case.offers.mandatory
    absent = case.toggle.verb is EditVerb.DISABLE and case.edit.before is None
    return absent and not mandatory and not case.kyma.meta.deleting


def find_kyma(snapshot: Snapshot, ref: ObjectRef | None) -> Kyma | None:
    """Return the Kyma as a snapshot has it, None if it is absent or malformed."""
    kyma = read_kyma(next((raw for raw in snapshot.kymas if read_ref(raw) == ref), None))
    return kyma if isinstance(kyma, Kyma) else None


def _with_kyma(snapshot: Snapshot, edit: KymaEdit) -> Snapshot:
    kymas = tuple(dict(edit.edited_kyma) if read_ref(raw) == edit.kyma else raw for raw in snapshot.kymas)
    return replace(snapshot, kymas=kymas)


def entry_change(toggle: ModuleEdit) -> EntryChange:
    """Return the change of the module's entry; it applies to any current content."""
    match toggle.verb:
        case EditVerb.ENABLE:
            return enable_entry(toggle.module, toggle.channel, toggle.policy)
        case EditVerb.DISABLE:
            return disable_entry
        case EditVerb.CHANNEL:
            return set_entry_channel(toggle.channel or "")
        case EditVerb.MANAGE:
            return set_entry_managed(True)
        case EditVerb.UNMANAGE:
            return set_entry_managed(False)
        case EditVerb.POLICY:
            return set_entry_policy(toggle.policy or Policy.CREATE_AND_DELETE)


class _Case(Struct, frozen=True):
    toggle: ModuleEdit
    kyma: Kyma
    edit: KymaEdit
    was: ModuleRow | None
    will: ModuleRow | None
    catalog_unknown: UnknownFact | None = None
    runtime: str = ""

    @property
    def module(self) -> str:
        return self.toggle.module

    @property
    def offers(self) -> ModuleRow | None:
        """Return the row with the module's offers; it may exist only after the edit."""
        return self.was or self.will


# refusals


def _refusals(case: _Case) -> Iterator[str]:
    if case.kyma.meta.deleting:
        yield f"{case.kyma.ref} is being deleted"
    row = case.offers
    if row is not None and row.mandatory:
        yield f"{case.module} is mandatory: every runtime has it, and no Kyma can enable or disable it"
        return
    why = case.catalog_unknown
    if case.toggle.verb in (EditVerb.ENABLE, EditVerb.CHANNEL) and why is not None:
        yield f"the offered versions of {case.module} are unknown: {why.reason}"
        return
    if case.toggle.verb is EditVerb.ENABLE:
        yield from _not_to_be_enabled(case)
    elif case.edit.before is None:
        yield f"{case.module} is not enabled in {case.kyma.ref}"
    elif case.toggle.verb is EditVerb.CHANNEL:
        yield from _not_in_channel(case)
        yield from _unresolved(case)
    elif case.toggle.verb is EditVerb.DISABLE:
        yield from _still_unmanaging(case)
    elif case.toggle.verb is EditVerb.MANAGE:
        yield from _not_to_be_taken_over(case)


def _not_to_be_enabled(case: _Case) -> Iterator[str]:
    row = case.was
    if row is None:
        yield f"no catalog of this cluster has a module {case.module}"
        return
    if row.origin is CatalogOrigin.COMMUNITY and not row.channels:
        yield f"{case.module} is a community module: lifecycle-manager does not install it"
        return
    yield from _not_in_channel(case)
    yield from _unresolved(case)
    if case.edit.before is None and (why := row.unknown.get(RowFact.STATE)) is not None:
        yield f"whether {case.module} is installed directly is unknown: {why.reason}"
    elif case.edit.before is None:
        yield from _not_to_be_taken_over(case)


def _not_in_channel(case: _Case) -> Iterator[str]:
    channel, row = case.toggle.channel, case.offers
    if channel and row is not None and row.channels and channel not in row.channels:
        offered = ", ".join(f"{channel} ({version})" for channel, version in row.channels.items())
        yield f"{case.module} is not in channel {channel}; it is in {offered}"


def _unresolved(case: _Case) -> Iterator[str]:
    """Yield lifecycle-manager's refusal, unless it only keeps the installed version."""
    refusal = case.will.resolution.refusal if case.will is not None else None
    if refusal is not None and not refusal.keeps_installed and not list(_not_in_channel(case)):
        yield f"{case.module} would not be installed: {refusal_words(refusal)}"


def _not_to_be_taken_over(case: _Case) -> Iterator[str]:
    """Yield why lifecycle-manager cannot adopt a direct installation: no channel has its version."""
    row = case.was
    if row is None or row.presence is Presence.UNMANAGED or not row.installed or not row.channels:
        return
    is_direct = not row.managed and row.presence in (Presence.ENABLED, Presence.NOT_CONFIGURED)
    if is_direct and not any(same_version(row.installed, version) for version in row.channels.values()):
        offered = ", ".join(f"{channel} ({version})" for channel, version in row.channels.items())
        yield (
            f"{case.module} {row.installed} is installed directly, and no channel has that version: "
            f"upgrade it first, or delete it; the channels have {offered}"
        )


def _still_unmanaging(case: _Case) -> Iterator[str]:
    """Yield why an unmanaged entry must stay for now.

    Without the status Unmanaged, lifecycle-manager would take the removal for a deletion.
    """
    report = case.kyma.report(case.module)
    unmanaged = case.edit.before is not None and case.edit.before.get("managed") is False
    if unmanaged and report is not None and report.state != State.UNMANAGED:
        yield (
            f"{case.module} is not unmanaged yet (its status is {report.state or 'empty'}): "
            "removing its entry now would uninstall it"
        )
    elif unmanaged and case.was is not None:
        yield from (risk.warning for risk in case.was.foreseen if risk.risk is RiskKind.STILL_RELEASING)


# warnings


def _pending(case: _Case) -> Iterator[str]:
    """Yield that the Manifest does not have yet what the Kyma has, and what follows from it."""
    if case.toggle.verb is EditVerb.POLICY and case.was is not None:
        pending = (RiskKind.CR_STAYS, RiskKind.POLICY_PENDING)
        yield from (risk.warning for risk in case.was.foreseen if risk.risk in pending)


def _warnings(case: _Case) -> Iterator[str]:
    row = case.will or case.was
    match case.toggle.verb:
        case EditVerb.ENABLE:
            yield from _of_enabling(row)
        case EditVerb.DISABLE:
            yield from _of_disabling(case)
        case EditVerb.UNMANAGE:
            yield (
                "lifecycle-manager releases everything that it installed and no longer updates or repairs it. "
                "Wait for the status Unmanaged before you remove the entry"
            )
        case EditVerb.MANAGE:
            yield "lifecycle-manager overwrites manual changes and updates the module from now on"
            yield from _of_managing(case)
        case EditVerb.POLICY if row is not None and row.presence is not Presence.UNMANAGED:
            yield from risks_of_policy(case.toggle.policy or Policy.CREATE_AND_DELETE)
        case _:
            pass
    of_policy = case.toggle.verb is EditVerb.POLICY  # the risks before it are those of the other policy
    known = case.will if of_policy else case.was
    if known is not None and case.toggle.verb in _DELAYED:
        risks = (risk for risk in known.foreseen if risk.risk in _WARNED)
        yield from (risk.warning for risk in risks if not (of_policy and risk.risk is RiskKind.POLICY_PENDING))
    refusal = case.will.resolution.refusal if case.will is not None else None
    if isinstance(refusal, HeldBack):
        yield f"{case.module} is {refusal_words(refusal)}; to downgrade, delete the module and enable it again"


def _of_managing(case: _Case) -> Iterator[str]:
    """Yield what a policy means that kyma CLI may have set to Ignore as it unmanaged the module."""
    if case.edit.before is not None and case.edit.before.get("customResourcePolicy") == Policy.IGNORE:
        remote = ("--remote", case.runtime) if case.runtime else ()
        command = shell_command("kymatui", "policy", case.module, Policy.CREATE_AND_DELETE, *remote)
        yield (
            "the policy stays Ignore: lifecycle-manager neither creates nor deletes the module CR, and waits for its "
            f"deletion when you disable the module. Set the policy first to change that (`{command}`)"
        )


def _of_enabling(row: ModuleRow | None) -> Iterator[str]:
    if row is None:
        return
    if row.beta:
        yield f"{row.name} is a beta module: no SLA, not for production"
    if row.internal:
        yield f"{row.name} is an internal module"
    if row.presence is Presence.ORPHAN:
        yield f"{row.name} has module CRs from an earlier installation; the new installation uses them"


def _of_disabling(case: _Case) -> Iterator[str]:
    row = case.was
    ignored = case.edit.before is not None and case.edit.before.get("customResourcePolicy") == Policy.IGNORE
    if case.edit.before is not None and case.edit.before.get("managed") is False:
        yield "the module stays installed and is no longer managed"
        return
    if row is None or not row.checked:
        return
    foreseen = {risk.risk for risk in row.foreseen}
    if RiskKind.CR_STAYS in foreseen:
        return  # its own warning says what happens to the module CR
    if ignored and RiskKind.POLICY_PENDING not in foreseen:
        names = ", ".join(str(item.resource) for item in row.checked[:3])
        yield f"the policy is Ignore: lifecycle-manager deletes no module CR and waits until you delete {names}"
    else:
        yield "the default CR is deleted with the module; other objects that the module manages must be deleted first"
