"""`kymatui label NAME=VALUE|NAME- …`: which modules the Kyma may have; what it installs and uninstalls comes first."""

from __future__ import annotations

import argparse
import threading
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from kymatui.cli.cluster_options import add_option
from kymatui.cli.commands.fleet.sync import read_labels
from kymatui.cli.options.batch_renderers import run_in_session
from kymatui.cli.options.direct_install import ProgressPrinter
from kymatui.cli.options.editing import add_editing, effects_json, open_for_edit, print_stage, require_rights
from kymatui.cli.options.uninstalls import (
    add_uninstalling,
    consent_of,
    uninstall_consequence,
    uninstall_tables,
    uninstalls_json,
)
from kymatui.cli.output.batch_view import BatchQuestion, BatchView
from kymatui.cli.output.plan_changes import label_summary
from kymatui.cli.output.printing import markdown, paragraph, table
from kymatui.domain.kubernetes.terminal_text import sanitize
from kymatui.domain.plans.cluster_target import ClusterTarget
from kymatui.errors import UnknownNameError, UsageError

if TYPE_CHECKING:
    from kymatui.actions.edits.cluster_edits import ClusterKymaEdits
    from kymatui.actions.edits.module_edits import LabelItem, LabelPlan
    from kymatui.actions.plans import Uninstall
    from kymatui.actions.session import Session
    from kymatui.domain.kyma_edit.label_edit import LabelEdit, LabelProposal

    _View = BatchView[LabelPlan, str]
else:
    _View = BatchView

_SAME: Final = "no change: the Kyma already has these labels"


def configure(parser: argparse.ArgumentParser) -> None:
    add_option(
        parser,
        "labels NAME=VALUE",
        "beta=true or internal=true allows these modules, beta- or internal- forbids them; several make one edit",
        nargs="+",
    )
    add_editing(parser, remote="runtime of the control plane whose Kyma to label: Kyma name, shoot or runtime ID")
    add_uninstalling(parser)


def run(args: argparse.Namespace) -> int:
    labels = _labels(args.labels)
    with open_for_edit(args) as (session, changed):
        return _run(args, labels, session, changed)


def _labels(words: Sequence[str]) -> Mapping[str, str | None]:
    """Return the labels by their full names; what says nothing about modules is left to kubectl."""
    from kymatui.domain.kyma_edit.label_edit import LABELS

    labels = read_labels(words)
    for label, value in labels.items():
        if label not in LABELS.values():
            hint = f"valid: {', '.join(LABELS)}; other labels have no effect on modules (use kubectl)"
            raise UnknownNameError.near("label", label, [*LABELS, *LABELS.values()], hint=hint)
        if value not in (None, "true", "false"):
            raise UsageError(f"{label} must be true or false, not {value}", hint=f"{label}- removes the label")
    return labels


def _run(args: argparse.Namespace, labels: Mapping[str, str | None], session: Session, changed: threading.Event) -> int:
    from kymatui.actions.edits.module_edits import LabelEditing, plan_labels
    from kymatui.sessions.deletions import edits_of

    edits = edits_of(session)
    item = plan_labels(edits, labels, consent_of(args), args.timeout)
    verb = LabelEditing(edits, ProgressPrinter(), print_stage, changed, args.timeout if args.wait else 0.0)
    view = LabelView(args, session, edits)
    return run_in_session([item], verb, view, session, at_home=True)


class LabelView(_View):
    """An edit of labels in words and as a document."""

    kind = "label"

    def __init__(self, args: argparse.Namespace, session: Session, edits: ClusterKymaEdits) -> None:
        super().__init__(session.target, args, session.name, is_list=False)
        self._session, self._edits = session, edits

    def target(self, items: Sequence[LabelItem]) -> ClusterTarget:
        edit = items[0].required_plan.proposal.edit
        return self._target.of_kyma([edit.kyma.path] if edit is not None else [])

    def summary(self, items: Sequence[LabelItem]) -> str:
        plan = items[0].required_plan
        return label_summary(plan.proposal, plan.uninstalls)

    def item_text(self, item: LabelItem, form: str) -> str:
        plan = item.required_plan
        parts = [_plan_text(plan.proposal, form, plan.uninstalls)]
        parts += [paragraph(f"refused: {item.refusal}", form)] if item.refusal is not None else []
        return "\n\n".join((*parts, *(paragraph(f"warning: {text}", form) for text in plan.proposal.warnings)))

    def unchanged(self, items: Sequence[LabelItem]) -> str:
        return _SAME

    def item_document(self, item: LabelItem, outcome: str) -> dict[str, Any]:
        words = {"unchanged": _SAME}.get(outcome, "no changes made")
        if item.result is not None or item.error is not None:
            words = str(item.error or item.result)
        plan = item.required_plan
        proposal, edit = plan.proposal, plan.proposal.edit
        copies = (("comes", proposal.comes), ("goes", proposal.goes), ("changes", proposal.changes))
        return {
            "cluster": self.cluster,
            "kyma": f"{edit.kyma.namespace}/{edit.kyma.name}" if edit is not None else None,
            "labels": [
                {"label": change.label, "before": change.before, "after": change.after}
                for change in (edit.changes if edit is not None else ())
            ],
            "catalog": {word: [{"kind": ref.kind.kind, "name": ref.name} for ref in refs] for word, refs in copies},
            "effects": effects_json(proposal.effects),
            "uninstalls": [effect.module for effect in proposal.effects if effect.uninstalls],
            "managed": uninstalls_json(plan.uninstalls),
            "refusals": [str(item.refusal)] if item.refusal is not None else [],
            "warnings": list(proposal.warnings),
            "outcome": outcome,
            "words": words,
        }

    def question(self, items: Sequence[LabelItem]) -> BatchQuestion:
        plan = items[0].required_plan
        assert plan.proposal.edit is not None
        return BatchQuestion(_action(plan.proposal.edit), uninstall_consequence(plan.uninstalls), modules=())

    def require_rights(self, items: Sequence[LabelItem]) -> None:
        for item in items:
            require_rights(self._session, self._edits, item.required_plan.proposal)

    def outcome(self, items: Sequence[LabelItem]) -> str:
        return "done" if self.args.wait else "accepted"

    def lines(self, items: Sequence[LabelItem]) -> str:
        return sanitize("; ".join(item.result for item in items if item.result))

    def shows_refused(self, items: Sequence[LabelItem]) -> bool:
        return self.args.output != "table" or bool(items[0].required_plan.uninstalls)


def _action(edit: LabelEdit) -> str:
    """Return the question: each label with its new value."""
    changes = (
        f"{change.label}={change.after}" if change.after is not None else f"{change.label}-" for change in edit.changes
    )
    return f"Set labels {' '.join(changes)}"


def _plan_text(proposal: LabelProposal, form: str, uninstalls: Sequence[Uninstall]) -> str:
    """Return the edit, what of the catalog comes and goes, and what becomes of which module; for people."""
    draw = markdown if form == "md" else table
    changes = proposal.edit.changes if proposal.edit is not None else ()
    rows = [[change.label, change.before or "", change.after or ""] for change in changes]
    parts = [draw(("LABEL", "BEFORE", "AFTER"), rows)] if rows else []
    copies = [
        [word, ref.kind.kind, ref.name]
        for word, refs in (("added", proposal.comes), ("removed", proposal.goes), ("changed", proposal.changes))
        for ref in refs
    ]
    if copies:
        parts.append(draw(("CATALOG", "KIND", "NAME"), copies))
    if proposal.effects:
        parts.append(draw(("MODULE", "EFFECT"), [[effect.module, effect.message] for effect in proposal.effects]))
    else:
        parts.append("no module is installed or uninstalled")
    parts += uninstall_tables(uninstalls, form)
    return "\n\n".join(parts)
