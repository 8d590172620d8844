"""Preview of proposed edits of a Kyma."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from kymatui.actions.plans import Uninstall
from kymatui.domain.catalog.effects import Effect
from kymatui.domain.gitops import git_document, joined_changes
from kymatui.domain.kubernetes.terminal_text import name_or_count, with_subject
from kymatui.domain.kyma_edit.label_edit import LabelProposal
from kymatui.domain.kyma_edit.module_edit import EditProposal, EditVerb, ModuleEdit, edit_command
from kymatui.domain.ownership import describe_objects
from kymatui.domain.plans.cluster_management import ClusterManagement, ClusterManager
from kymatui.domain.plans.plan_preview import Consent, PlannedChange, Preview, PreviewLine, git_consents
from kymatui.domain.rights import patching, role_hint

_WORDS = {
    EditVerb.ENABLE: "enable {}",
    EditVerb.DISABLE: "disable {}",
    EditVerb.CHANNEL: "move {} to another channel",
    EditVerb.MANAGE: "manage {}",
    EditVerb.UNMANAGE: "unmanage {}",
    EditVerb.POLICY: "set the policy of {}",
}


def edit_title(toggles: Sequence[ModuleEdit]) -> str:
    """Return a title such as `enable keda in channel fast` or `disable 3 modules`."""
    first = toggles[0]
    what = name_or_count([edit.module for edit in toggles], "module")
    words = _WORDS[first.verb].format(what)
    if first.verb is EditVerb.CHANNEL:
        words = f"move {what}"
    if first.channel is not None:
        words += f" {'to' if first.verb is EditVerb.CHANNEL else 'in'} "
        words += f"channel {first.channel}" if first.channel else "the Kyma's own channel"
    return words + (f", policy {first.policy.value}" if first.policy is not None else "")


def split_proposals(proposals: Sequence[EditProposal]) -> tuple[list[EditProposal], list[str]]:
    """Return the possible proposals and why the others are not; all proposals if none is possible."""
    fine = [proposal for proposal in proposals if not proposal.is_refused]
    if not any(not proposal.is_done for proposal in fine):
        return list(proposals), []
    return fine, [with_subject(proposal.toggle.module, text) for proposal in proposals for text in proposal.refusals]


def preview_edit(
    proposals: Sequence[EditProposal],
    management: ClusterManagement | None,
    *,
    may_write: bool,
    left_out: Sequence[str] = (),
    uninstalls: Sequence[Uninstall] = (),
) -> Preview:
    """Return proposals of one verb as one preview; unchanged entries say so.

    `left_out` has the refused modules with the reason, `uninstalls` the remaining objects of disabled modules.
    """
    toggles = [proposal.toggle for proposal in proposals]
    words = edit_title(toggles)
    effects = list(
        {(effect.module, effect.message): effect for proposal in proposals for effect in proposal.effects}.values()
    )
    return Preview(
        words,
        lines=(
            *(_edit_line(proposal) for proposal in proposals),
            *map(_effect_line, effects),
            *_remaining_lines(uninstalls),
        ),
        management=str(management) if management is not None else "",
        refusals=(*_refusals(proposals), *_unchecked(uninstalls)),
        warnings=(
            *(f"not included: {words}" for words in left_out),
            *_bystander(management),
            *dict.fromkeys(text for proposal in proposals for text in proposal.warnings),
            *_backups(uninstalls),
        ),
        missing=() if may_write else tuple(dict.fromkeys(patching(one.edit.kyma) for one in proposals if one.edit)),
        role=role_hint(*edit_command(toggles)),
        consents=(
            *_consents(effects),
            *_cascades(uninstalls),
            *git_consents(joined_changes((*proposals, *uninstalls))),
        ),
        question=f"{words[:1].upper()}{words[1:]}?",
        document=_document(proposals),
        file_name=f"{toggles[0].verb.value}-{toggles[0].module if len(toggles) == 1 else 'modules'}.json",
        editable=True,
        kymas=tuple(proposal.edit.kyma.path for proposal in proposals if proposal.edit is not None),
    )


def _refusals(proposals: Sequence[EditProposal]) -> Iterator[str]:
    for proposal in proposals:
        yield from proposal.refusals
    if not any(entry.edit is not None and not entry.edit.is_empty for entry in proposals) and not any(
        entry.refusals for entry in proposals
    ):
        yield "no changes: the Kyma has these values already"


def _bystander(management: ClusterManagement | None) -> Iterator[str]:
    if management is not None and management.keeper is ClusterManager.UNKNOWN:
        yield f"it is unknown whether lifecycle-manager manages this cluster: {management.why}"
    elif management is not None and not management.works_on_kymas:
        yield f"the edit has no effect: nothing works on this cluster's Kymas ({management.why})"


def _edit_line(proposal: EditProposal) -> PreviewLine:
    edit = proposal.edit
    if edit is None:
        return PreviewLine(PlannedChange.CONFLICT, f"module {proposal.toggle.module}", "cannot be edited")
    mark = PlannedChange.SAME if edit.is_empty else PlannedChange.CHANGE
    note = "refused" if proposal.refusals else f"spec.modules[{edit.module}]"
    return PreviewLine(
        PlannedChange.CONFLICT if proposal.refusals else mark,
        str(edit.kyma),
        note,
        tuple(_diff(edit.before, edit.after)),
    )


def _diff(before: Mapping[str, Any] | None, after: Mapping[str, Any] | None) -> Iterator[str]:
    """Yield the entry's difference as YAML lines."""
    yield "  spec:"
    yield "    modules:"
    old, new = before or {}, after or {}
    for number, key in enumerate(dict.fromkeys([*old, *new])):
        lead = "    - " if number == 0 else "      "
        if key in old and key in new and old[key] == new[key]:
            yield f"  {lead}{key}: {_value(new[key])}"
            continue
        if key in old:
            yield f"- {lead}{key}: {_value(old[key])}"
        if key in new:
            yield f"+ {lead}{key}: {_value(new[key])}"


def _value(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _effect_line(effect: Effect) -> PreviewLine:
    stays = PlannedChange.SAME if effect.changes_nothing else PlannedChange.CHANGE
    mark = PlannedChange.DELETE if effect.uninstalls else PlannedChange.CREATE if effect.installs else stays
    counts_as = "uninstall" if effect.uninstalls else "install" if effect.installs else None
    facts = []
    for sign, row in (("- ", effect.before), ("+ ", effect.after)):
        if row is not None:
            known = [row.installed, row.state_words, f"channel {row.channel or 'none'}"]
            facts.append(sign + ", ".join(filter(None, known)))
    return PreviewLine(mark, f"module {effect.module}", effect.message, tuple(facts), counts_as)


def _consents(effects: Sequence[Effect]) -> Iterator[Consent]:
    for effect in effects:
        if effect.uninstalls:
            yield Consent(f"uninstall {effect.module}", f"{effect.module} {effect.message}")
        elif effect.installs and effect.after is not None and effect.after.beta:
            yield Consent(
                f"beta {effect.module}", f"install the beta module {effect.module}, which is not for production"
            )


def _remaining_lines(uninstalls: Sequence[Uninstall]) -> Iterator[PreviewLine]:
    """Yield what kymatui deletes before the edit, and what lifecycle-manager deletes with the module."""
    for uninstall in uninstalls:
        if uninstall.state is None:
            continue
        for instance in uninstall.state.theirs:
            words = f"being deleted{instance.held}" if instance.deleted_at else "deleted first"
            yield PreviewLine(
                PlannedChange.DELETE, str(instance.ref), words, tuple(f"  {name}" for name in instance.finalizers)
            )
        for instance in uninstall.state.deleted_objects:
            if instance not in uninstall.state.theirs:
                yield PreviewLine(PlannedChange.DELETE, str(instance.ref), f"deleted by {uninstall.state.keeper}")


def _unchecked(uninstalls: Sequence[Uninstall]) -> Iterator[str]:
    """Yield the unlisted kinds, which may block; the guided deletion lets you accept that."""
    for uninstall in uninstalls:
        alone = f"delete {uninstall.module} step by step instead (ctrl-d)"
        if uninstall.state is None:
            unchecked = f"{uninstall.module} cannot be checked for objects that block its deletion"
            yield f"{unchecked}: {uninstall.failure}; {alone}"
        elif uninstall.state.refusal:
            yield uninstall.state.refusal
        elif uninstall.state.remaining.unknown:
            kinds = ", ".join(kind for kind, _ in uninstall.state.remaining.unknown)
            yield f"{uninstall.module}: {kinds} cannot be listed and may block the deletion; {alone}"


def _cascades(uninstalls: Sequence[Uninstall]) -> Iterator[Consent]:
    for uninstall in uninstalls:
        remaining = (
            [item for item in uninstall.state.theirs if item.deleted_at is None] if uninstall.state is not None else []
        )
        if remaining:
            blocks = "blocks" if len(remaining) == 1 else "block"
            objects = describe_objects(item.owned for item in remaining)
            words = f"also delete {objects}, which {blocks} the deletion of {uninstall.module}"
            yield Consent(f"cascade {uninstall.module}", words)


def _backups(uninstalls: Sequence[Uninstall]) -> Iterator[str]:
    if kept := [uninstall.module for uninstall in uninstalls if uninstall.saved]:
        yield f"deleted objects of {', '.join(kept)} are saved to a backup first"


def _document(proposals: Sequence[EditProposal]) -> bytes:
    tables = [
        {
            "verb": proposal.toggle.verb.value,
            "module": proposal.toggle.module,
            "kyma": str(proposal.edit.kyma) if proposal.edit is not None else None,
            "patch": list(proposal.edit.patch) if proposal.edit is not None else [],
            "effects": [
                {"module": effect.module, "kind": effect.kind.value, "words": effect.message}
                for effect in proposal.effects
            ],
            "refusals": list(proposal.refusals),
            "warnings": list(proposal.warnings),
            "git": [git_document(change) for change in proposal.git],
        }
        for proposal in proposals
    ]
    return (json.dumps(tables, indent=2, ensure_ascii=False) + "\n").encode()


def _catalog_lines(proposal: LabelProposal) -> Iterator[PreviewLine]:
    """Yield the copies that the catalog sync changes in a runtime; copies install nothing."""
    moves = (
        (
            PlannedChange.CREATE,
            proposal.comes,
            "catalog: add",
            "the catalog sync copies it to the runtime; no module is installed",
        ),
        (PlannedChange.DELETE, proposal.goes, "catalog: delete", "the catalog sync deletes the copy in the runtime"),
        (
            PlannedChange.CHANGE,
            proposal.changes,
            "catalog: channels",
            "the catalog sync changes the channels of the copy in the runtime",
        ),
    )
    for mark, refs, note, words in moves:
        yield from (PreviewLine(mark, f"{ref.kind.kind} {ref.name}", note, (f"  {words}",)) for ref in refs)


def preview_label(
    proposal: LabelProposal,
    name: str,
    management: ClusterManagement | None,
    *,
    may_write: bool,
    uninstalls: Sequence[Uninstall] = (),
) -> Preview:
    """Return the preview of a label that decides which modules the Kyma may have."""
    edit = proposal.edit
    allowed = edit is not None and any(change.after for change in edit.changes)
    words = f"{'allow' if allowed else 'disallow'} {name} modules"
    lines: tuple[PreviewLine, ...] = ()
    refusals = (proposal.refusal,) if proposal.refusal else ()
    if edit is not None:
        values = [
            (sign, change.label, value)
            for change in edit.changes
            for sign, value in (("-", change.before), ("+", change.after))
        ]
        diff = [f"{sign} {label}: {json.dumps(value)}" for sign, label, value in values if value is not None]
        mark = PlannedChange.SAME if edit.is_empty else PlannedChange.CHANGE
        lines = (PreviewLine(mark, str(edit.kyma), "metadata.labels", tuple(diff)),)
        if edit.is_empty:
            refusals = (*refusals, "no changes: the label has this value already")
    return Preview(
        words,
        lines=(*lines, *map(_effect_line, proposal.effects), *_remaining_lines(uninstalls), *_catalog_lines(proposal)),
        management=str(management) if management is not None else "",
        refusals=(*refusals, *_unchecked(uninstalls)),
        warnings=(*proposal.warnings, *_bystander(management), *_backups(uninstalls)),
        missing=() if may_write or edit is None else (patching(edit.kyma),),
        role=role_hint(*proposal.command),
        consents=(
            *_consents(proposal.effects),
            *_cascades(uninstalls),
            *git_consents(joined_changes((proposal, *uninstalls))),
        ),
        question=f"{words[:1].upper()}{words[1:]}?",
        editable=True,
        kymas=(edit.kyma.path,) if edit is not None else (),
    )
