"""`kymatui label NAME=VALUE|NAME- …`: which modules the Kyma may have; what it installs and uninstalls comes first."""

from __future__ import annotations

import argparse
import sys
import threading
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from msgspec import Struct
from msgspec.structs import replace

from kymatui.actions.jobs import job_cluster
from kymatui.cli.commands.fleet.sync import read_labels
from kymatui.cli.options import uninstalls
from kymatui.cli.options.confirmation import confirm
from kymatui.cli.options.direct_install import ProgressPrinter
from kymatui.cli.options.editing import (
    add_editing,
    effects_json,
    open_for_edit,
    print_stage,
    require_rights,
)
from kymatui.cli.options.recorded_jobs import recorded_job
from kymatui.cli.options.uninstalls import add_uninstalling
from kymatui.cli.output.plan_header import plan_document, plan_text
from kymatui.cli.output.plan_summaries import label_summary
from kymatui.cli.output.printing import markdown, paragraph, print_line, print_text, table
from kymatui.domain.kubernetes.terminal_text import sanitize
from kymatui.errors import KymatuiError, RefusedError, UnknownNameError, UsageError

if TYPE_CHECKING:
    from kymatui.actions.edits.cluster_edits import ClusterKymaEdits
    from kymatui.actions.plans import Uninstall
    from kymatui.actions.session import ListedSession
    from kymatui.domain.kyma_edit.label_edit import LabelEdit, LabelProposal
    from kymatui.domain.plans.cluster_target import ClusterTarget


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "labels",
        metavar="NAME=VALUE",
        nargs="+",
        help="beta=true or internal=true allows these modules, beta- or internal- forbids them; several make one edit",
    )
    add_editing(parser, remote="runtime of the control plane whose Kyma to label: Kyma name, shoot or runtime ID")
    add_uninstalling(parser)


def run(args: argparse.Namespace) -> int:
    labels = _labels(args.labels)
    with open_for_edit(args) as (session, changed):
        return _Run(args, labels, session, changed).run()


def _labels(words: Sequence[str]) -> Mapping[str, str | None]:
    """Return the labels by their full names; what says nothing about modules is left to kubectl."""
    from kymatui.domain.kyma_edit.label_edit import LABELS

    found = read_labels(words)
    for label, value in found.items():
        if label not in LABELS.values():
            hint = f"valid: {', '.join(LABELS)}; other labels have no effect on modules (use kubectl)"
            raise UnknownNameError.near("label", label, [*LABELS, *LABELS.values()], hint=hint)
        if value not in (None, "true", "false"):
            raise UsageError(f"{label} must be true or false, not {value}", hint=f"{label}- removes the label")
    return found


class _Run(Struct, frozen=True):
    """One run of the command."""

    args: argparse.Namespace
    labels: Mapping[str, str | None]
    session: ListedSession
    changed: threading.Event

    def run(self) -> int:
        from kymatui.composition.session_ports import edits_of

        toggling = edits_of(self.session)
        proposal = toggling.propose_labels(self.labels)
        if proposal.edit is None or proposal.refusal:
            return self._refused(proposal)
        if proposal.edit.is_empty:
            return self._answer(proposal, "unchanged", "no change: the Kyma already has these labels")
        modules = [one.module for one in proposal.effects if one.uninstalls]
        found = toggling.uninstalls(modules, uninstalls.consent_of(self.args), self.args.timeout)
        if refusals := uninstalls.uninstall_refusals(found):
            return self._refused(replace(proposal, refusal="; ".join(refusals)), found)
        if self.args.dry_run:
            return self._answer(proposal, "planned", "no changes made", found)
        require_rights(self.session, toggling, proposal)
        print_text(self._text(proposal, found, "table"), sys.stderr)
        following = uninstalls.uninstall_consequence(found)
        action = _action(proposal.edit)
        confirm(self._target(proposal), action, following, yes=self.args.yes)
        title = f"{action[:1].lower()}{action[1:]}"
        with recorded_job(self.args, job_cluster(self.session), "label", [], title) as (job, cancel):
            toggling.carry_out_labels(proposal, cancel, found, ProgressPrinter(), job.journal)
            if not self.args.wait:
                return self._answer(proposal, "accepted", "Kyma edited")
            return self._wait(toggling, proposal, cancel)

    def _refused(self, proposal: LabelProposal, found: Sequence[Uninstall] = ()) -> int:
        if self.args.output == "table":
            if found:
                print_text(self._text(proposal, found, "table"), sys.stdout if self.args.dry_run else sys.stderr)
            raise RefusedError(proposal.refusal, hint="no changes made")
        self._answer(proposal, "refused", "no changes made", found)
        return RefusedError.exit_code

    def _wait(self, toggling: ClusterKymaEdits, proposal: LabelProposal, cancel: threading.Event) -> int:
        try:
            last = toggling.follow_labels(proposal, self.changed, self.args.timeout, print_stage, cancel)
        except KymatuiError as error:
            if self.args.output != "table":
                self._answer(proposal, "unfinished", str(error))
            raise
        return self._answer(proposal, "done", last.message)

    def _answer(self, proposal: LabelProposal, outcome: str, words: str, found: Sequence[Uninstall] = ()) -> int:
        form = self.args.output
        if form in ("json", "yaml"):
            print_text(
                plan_document(self._target(proposal), _json(self.session.name, proposal, outcome, words, found), form)
            )
        elif outcome in ("planned", "refused"):
            print_text(self._text(proposal, found, form))
        else:
            print_line(sanitize(words))
        return 0

    def _target(self, proposal: LabelProposal) -> ClusterTarget:
        return self.session.target.of_kyma([proposal.edit.kyma.path] if proposal.edit else [])

    def _text(self, proposal: LabelProposal, found: Sequence[Uninstall], form: str) -> str:
        return plan_text(self._target(proposal), label_summary(proposal, found), _plan(proposal, form, found), form)


def _action(edit: LabelEdit) -> str:
    """Return the question: each label with its new value."""
    changes = (f"{one.label}={one.after}" if one.after is not None else f"{one.label}-" for one in edit.changes)
    return f"Set labels {' '.join(changes)}"


def _plan(proposal: LabelProposal, form: str, found: Sequence[Uninstall]) -> str:
    """Return the edit, what of the catalog comes and goes, and what becomes of which module; for people."""
    draw = markdown if form == "md" else table
    changes = proposal.edit.changes if proposal.edit is not None else ()
    rows = [[one.label, one.before or "", one.after or ""] for one in changes]
    parts = [draw(("LABEL", "BEFORE", "AFTER"), rows)] if rows else []
    copies = [
        [word, ref.kind.kind, ref.name]
        for word, refs in (("added", proposal.comes), ("removed", proposal.goes), ("changed", proposal.changes))
        for ref in refs
    ]
    if copies:
        parts.append(draw(("CATALOG", "KIND", "NAME"), copies))
    if proposal.effects:
        parts.append(draw(("MODULE", "EFFECT"), [[one.module, one.message] for one in proposal.effects]))
    else:
        parts.append("no module is installed or uninstalled")
    parts += uninstalls.uninstall_tables(found, form)
    parts += [paragraph(f"refused: {proposal.refusal}", form)] if proposal.refusal else []
    parts += [paragraph(f"warning: {text}", form) for text in proposal.warnings]
    return "\n\n".join(parts)


def _json(
    cluster: str, proposal: LabelProposal, outcome: str, words: str, found: Sequence[Uninstall]
) -> dict[str, Any]:
    edit = proposal.edit
    copies = (("comes", proposal.comes), ("goes", proposal.goes), ("changes", proposal.changes))
    return {
        "cluster": cluster,
        "kyma": f"{edit.kyma.namespace}/{edit.kyma.name}" if edit is not None else None,
        "labels": [
            {"label": one.label, "before": one.before, "after": one.after}
            for one in (edit.changes if edit is not None else ())
        ],
        "catalog": {word: [{"kind": ref.kind.kind, "name": ref.name} for ref in refs] for word, refs in copies},
        "effects": effects_json(proposal.effects),
        "uninstalls": [one.module for one in proposal.effects if one.uninstalls],
        "managed": uninstalls.uninstalls_json(found),
        "refusals": [proposal.refusal] if proposal.refusal else [],
        "warnings": list(proposal.warnings),
        "outcome": outcome,
        "words": words,
    }
