"""`kymatui enable|disable|… NAME …`: the edits of all modules as one plan, then all edits, then the wait for all."""

from __future__ import annotations

import argparse
import sys
import threading
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from kymatui.actions.batch import Work
from kymatui.actions.edits.handover import planned_handover
from kymatui.actions.edits.module_edits import EditControls, EditItem, EditPlan, EditResult, ModuleEditing, plan_edits
from kymatui.cli.options.batch_renderers import run_in_session
from kymatui.cli.options.direct_install import ProgressPrinter
from kymatui.cli.options.editing import action_words, effects_json, print_stage, require_rights
from kymatui.cli.options.uninstalls import consent_of, uninstall_consequence, uninstall_tables, uninstalls_json
from kymatui.cli.output.batch_view import BatchQuestion, BatchView, reached_outcome
from kymatui.cli.output.plan_changes import edit_summary
from kymatui.cli.output.printing import markdown, paragraph, print_line, table, wrapped
from kymatui.domain.kubernetes.terminal_text import sanitize, with_subject
from kymatui.domain.kyma_edit.module_edit import ModuleEdit, edit_options
from kymatui.domain.plans.cluster_target import ClusterTarget

if TYPE_CHECKING:
    from kymatui.actions.edits.cluster_edits import ClusterKymaEdits
    from kymatui.actions.session import Session
    from kymatui.domain.kyma_edit.edit_progress import EditProgress

_SAME = "no change: the Kyma already has this setting"


def run_edits(
    args: argparse.Namespace, toggles: Sequence[ModuleEdit], session: Session, changed: threading.Event
) -> int:
    """Plan, ask and edit with the options of a command line; return the exit status."""
    from kymatui.sessions.deletions import edits_of

    edits = edits_of(session)
    is_resumed = getattr(args, "resumed_job", None) is not None
    items = plan_edits(edits, toggles, consent_of(args), args.timeout, waits=args.wait, is_resumed=is_resumed)
    controls = EditControls(
        args.timeout, ProgressPrinter(), _print_stage, _print_edited, changed=changed, wait=args.wait, unattended=True
    )
    view = EditView(args, session, edits, is_list=len(items) != 1)
    return run_in_session(items, ModuleEditing(edits, controls), view, session)


def _print_stage(module: str, stage: EditProgress) -> None:
    print_stage(stage, module)


def _print_edited(module: str) -> None:
    print_line(f"  entry of {module} edited", sys.stderr)


class EditView(BatchView[EditPlan, EditResult]):
    """Edits of the Kyma in words and as documents."""

    list_key = "edits"
    records_waits = True

    def __init__(self, args: argparse.Namespace, session: Session, edits: ClusterKymaEdits, *, is_list: bool) -> None:
        super().__init__(session.target, args, session.name, is_list=is_list)
        self.kind, self._session, self._edits = args.verb, session, edits

    def target(self, items: Sequence[EditItem]) -> ClusterTarget:
        edits = (item.required_plan.proposal.edit for item in items)
        return self._target.of_kyma(edit.kyma.path for edit in edits if edit is not None)

    def summary(self, items: Sequence[EditItem]) -> str:
        plans = [item.required_plan for item in items]
        edits = ((plan.proposal, bool(plan.refusals)) for plan in plans)
        return edit_summary(edits, (uninstall for plan in plans for uninstall in plan.uninstalls))

    def parts(self, items: Sequence[EditItem], form: str) -> Iterator[str]:
        """Yield a table of edits, one of effects, the remaining objects, and the warnings."""
        draw, plans = markdown if form == "md" else table, [item.required_plan for item in items]
        edits = [plan.proposal.edit for plan in plans if plan.proposal.edit is not None]
        if lines := [list(line) for edit in edits for line in edit.lines()]:
            yield draw(("FIELD", "BEFORE", "AFTER"), lines)
        effects = dict.fromkeys((effect.module, effect.message) for plan in plans for effect in plan.proposal.effects)
        same = [(item.name, _SAME) for item in items if not item.required_plan.edits and not item.refusal]
        if rows := [list(row) for row in (*effects, *same)]:
            yield draw(("MODULE", "EFFECT"), rows)
        yield from uninstall_tables([uninstall for plan in plans for uninstall in plan.uninstalls], form)
        yield from (paragraph(f"refused: {text}", form) for plan in plans for text in plan.refusals)
        warnings = dict.fromkeys(text for plan in plans for text in plan.proposal.warnings)
        yield from (paragraph(f"warning: {text}", form) for text in warnings)

    def unchanged(self, items: Sequence[EditItem]) -> str:
        plans = [item.required_plan for item in items]
        words = "; ".join(dict.fromkeys(filter(None, (_SAME, *(plan.stage for plan in plans)))))
        first = sanitize(words if self.is_list else with_subject(items[0].name, words))
        warnings = (text for plan in plans for text in plan.proposal.warnings)
        return "\n".join((first, *(paragraph(f"warning: {text}", self.args.output) for text in warnings)))

    def document(self, items: Sequence[EditItem], outcome: str) -> dict[str, Any]:
        if not self.is_list:
            return super().document(items, outcome)
        edits = [self.item_document(item, self.item_outcome(item, outcome)) for item in items]
        return {"cluster": self.cluster, "verb": self.kind, self.list_key: edits, "outcome": outcome}

    def item_document(self, item: EditItem, outcome: str) -> dict[str, Any]:
        plan = item.required_plan
        message = item.result.message if item.result is not None else plan.stage
        if item.work is Work.NOTHING:
            message = message or _SAME
        proposal, edit = plan.proposal, plan.proposal.edit
        return {
            "cluster": self.cluster,
            "kyma": f"{edit.kyma.namespace}/{edit.kyma.name}" if edit is not None else None,
            "module": proposal.toggle.module,
            "verb": proposal.toggle.verb.value,
            "before": edit.before if edit is not None else None,
            "after": edit.after if edit is not None else None,
            "effects": effects_json(proposal.effects),
            "uninstalls": uninstalls_json(plan.uninstalls),
            "refusals": list(plan.refusals or ([item.refusal.with_hint] if item.refusal is not None else [])),
            "warnings": list(proposal.warnings),
            "outcome": outcome,
            "words": str(item.error) if item.error is not None else message,
        }

    def item_outcome(self, item: EditItem, outcome: str) -> str:
        if item.error is not None:
            return "failed" if item.result is None and item.required_plan.edits else "unfinished"
        if item.refusal is not None:
            return "refused"
        return reached_outcome(item, outcome)

    def question(self, items: Sequence[EditItem]) -> BatchQuestion:
        toggles = [item.required_plan.proposal.toggle for item in items]
        uninstalls = (uninstall for item in items for uninstall in item.required_plan.uninstalls)
        return BatchQuestion(action_words(toggles), uninstall_consequence(uninstalls), options=edit_options(toggles[0]))

    def require_rights(self, items: Sequence[EditItem]) -> None:
        for item in items:
            if item.required_plan.edits:
                require_rights(self._session, self._edits, item.required_plan.proposal)

    def notices(self, items: Sequence[EditItem]) -> list[str]:
        """Return what becomes of what is installed directly."""
        edits = [item.required_plan.proposal.toggle for item in items if item.is_pending]
        notices = [planned_handover(self._edits, edit) for edit in edits if edit.takes_up]
        return [wrapped(notice) for notice in notices if notice]

    def outcome(self, items: Sequence[EditItem]) -> str:
        return "done" if self.args.wait else "accepted"

    def lines(self, items: Sequence[EditItem]) -> str:
        ended = [
            sanitize(with_subject(item.name, item.result.message))
            for item in items
            if item.result is not None and item.error is None
        ]
        return "\n".join(ended) or "no change is complete yet"

    def shows_refused(self, items: Sequence[EditItem]) -> bool:
        return self.args.output != "table" or any(item.required_plan.uninstalls for item in items)
