"""The summaries of edits of a Kyma and of deletions, which have more than one table."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from kymatui.domain.kubernetes.terminal_text import format_count
from kymatui.domain.plans.plan_preview import summarize_actions

if TYPE_CHECKING:
    from kymatui.actions.plans import Uninstall
    from kymatui.domain.catalog.effects import Effect
    from kymatui.domain.kyma_edit.label_edit import LabelProposal
    from kymatui.domain.kyma_edit.module_edit import EditProposal
    from kymatui.engine.deletion.deletion_state import DeletionState


def edit_summary(edits: Iterable[tuple[EditProposal, bool]], uninstalls: Iterable[Uninstall]) -> str:
    """Return the summary of edits, each with whether it is refused: entries, modules, and objects to delete."""
    some = list(edits)
    effects = {(effect.module, effect.message): effect for proposal, _ in some for effect in proposal.effects}
    entries = ["refused" if refused else "same" if proposal.is_done else "change" for proposal, refused in some]
    return summarize_actions([*entries, *_effects(effects.values()), *_deleted_first(uninstalls)])


def label_summary(proposal: LabelProposal, uninstalls: Iterable[Uninstall]) -> str:
    """Return the summary of an edit of labels: the Kyma, modules, copies in the catalog, and objects to delete."""
    edit = proposal.edit
    kyma = "refused" if edit is None or proposal.refusal else "same" if edit.is_empty else "change"
    copies = [*("create" for _ in proposal.comes), *("delete" for _ in proposal.goes)]
    changed = ["change" for _ in proposal.changes]
    return summarize_actions([kyma, *_effects(proposal.effects), *_deleted_first(uninstalls), *copies, *changed])


def _effects(effects: Iterable[Effect]) -> Iterator[str]:
    for effect in effects:
        stays = "same" if effect.changes_nothing else "change"
        yield "uninstall" if effect.uninstalls else "install" if effect.installs else stays


def _deleted_first(uninstalls: Iterable[Uninstall]) -> Iterator[str]:
    """Yield the objects that kymatui deletes before the edit, and those that lifecycle-manager deletes."""
    for uninstall in uninstalls:
        if uninstall.state is not None:
            yield from ("delete" for _ in uninstall.state.deleted_objects)


def deletion_summary(states: Sequence[DeletionState], refused: int = 0) -> str:
    """Return the summary of deletions: what kymatui and lifecycle-manager delete, and what is kept.

    `refused` is the number of modules that the request does not allow to delete.
    """
    summary = summarize_actions(action for state in states for action in _deletion_actions(state))
    return summary + (f"; {format_count(refused, 'module')} refused" if refused else "")


def _deletion_actions(state: DeletionState) -> Iterator[str]:
    if state.refusal:
        return
    in_kyma = state.managed_by.name == "KYMA"
    if in_kyma and state.requested:
        yield "change"  # the Kyma
        if state.handling.name == "UNMANAGE":
            return
        yield "uninstall"
    refs = {deleted_object.ref for deleted_object in state.deleted_objects}
    refs |= {state.manifest} if state.manifest is not None and not in_kyma else set()
    if state.uninstall is not None:
        refs |= {step.ref for step in state.uninstall.deletions}
        yield from (step.action.value for step in state.uninstall.steps if step not in state.uninstall.deletions)
    yield from ("delete" for _ in refs)
