"""Manifests of modules in words and as documents: one has its own form, several have a table of all."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from kymatui.cli.output.plan_header import plan_document, plan_text
from kymatui.cli.output.printing import markdown, paragraph, print_line, print_text, table
from kymatui.domain.kubernetes.terminal_text import format_count, sanitize, with_subject
from kymatui.domain.plans.plan_summary import summarize_actions
from kymatui.errors import CancelledError, PartlyDoneError, RefusedError

if TYPE_CHECKING:
    from kymatui.actions.modules.manifest import ManifestLeg, ManifestProposal
    from kymatui.domain.plans.cluster_target import ClusterTarget


def manifest_results(
    target: ClusterTarget, args: argparse.Namespace, cluster: str, legs: Sequence[ManifestLeg]
) -> OneManifest | SeveralManifests:
    """Return how a batch is shown."""
    return OneManifest(target, args) if len(legs) == 1 else SeveralManifests(target, args, cluster)


class OneManifest(Struct, frozen=True):
    """The one leg of a batch; what has an exit status returns it."""

    target: ClusterTarget
    args: argparse.Namespace

    def refuse(self, legs: Sequence[ManifestLeg]) -> int | None:
        """Raise what is refused; a dry run shows all the same what would be written."""
        (leg,) = legs
        if leg.refusal is not None:
            if leg.proposal is not None and self.args.dry_run:
                self.show(legs, "refused")
            raise leg.refusal
        return None

    def show(self, legs: Sequence[ManifestLeg], outcome: str, words: str = "") -> int:
        proposal, form = _proposal(legs[0]), self.args.output
        if form in ("json", "yaml"):
            print_text(plan_document(self.target, _proposal_json(proposal, outcome), form))
        elif words or outcome == "unchanged":
            print_line(sanitize(words or f"no changes: {proposal.ref} has this version already"))
        else:
            print_text(self.text(legs, form))
        return 0

    def text(self, legs: Sequence[ManifestLeg], form: str) -> str:
        return plan_text(self.target, _summary(legs), _proposal_text(_proposal(legs[0]), form), form)

    def action(self, todo: Sequence[ManifestLeg]) -> str:
        """Return what a person is asked for."""
        return f"Apply {_proposal(todo[0]).ref}"

    def end(self, legs: Sequence[ManifestLeg]) -> int:
        """Raise what kept it from its end."""
        (leg,) = legs
        if leg.failure is None:
            return self.show(legs, "done" if self.args.wait else "written", leg.message)
        if self.args.output != "table":
            self.show(legs, "unfinished")
        raise leg.failure


class SeveralManifests(Struct, frozen=True):
    """All legs of a batch; the same as `OneManifest`."""

    target: ClusterTarget
    args: argparse.Namespace
    cluster: str

    def refuse(self, legs: Sequence[ManifestLeg]) -> int | None:
        if not (refused := [_refused(leg) for leg in legs if leg.refusal is not None]):
            return None
        stream = sys.stderr if self.args.output == "table" and not self.args.dry_run else sys.stdout
        if self.args.output in ("json", "yaml"):
            self.show(legs, "refused")
        else:
            print_text(self.text(legs, self.args.output), stream)
        raise RefusedError("; ".join(refused), hint="no module was changed")

    def show(self, legs: Sequence[ManifestLeg], outcome: str, words: str = "") -> int:
        form = self.args.output
        if form not in ("json", "yaml"):
            said = "no changes: the Manifests have these versions already" if outcome == "unchanged" else words
            print_text(said or self.text(legs, form))
            return 0
        whole = "done" if outcome == "unfinished" else outcome
        made = {
            "cluster": self.cluster,
            "manifests": [_proposal_json(_proposal(leg), _outcome(leg, whole)) for leg in legs if leg.refusal is None],
            "failed": [{"name": leg.module, "reason": why} for leg in legs if (why := _refused(leg) or _failed(leg))],
            "outcome": outcome,
        }
        print_text(plan_document(self.target, made, form))
        return 0

    def text(self, legs: Sequence[ManifestLeg], form: str) -> str:
        draw = markdown if form == "md" else table
        parts = [draw(("MODULE", "VERSION", "CHANGES"), [_row(leg) for leg in legs])]
        shown = [leg for leg in legs if leg.refusal is None and not leg.is_same]
        parts += [_proposal_text(_proposal(leg), form) for leg in shown]
        return plan_text(self.target, _summary(legs), "\n\n".join(parts), form)

    def action(self, todo: Sequence[ManifestLeg]) -> str:
        return f"Apply the Manifests of {', '.join(leg.module for leg in todo)}"

    def end(self, legs: Sequence[ManifestLeg]) -> int:
        failed = [leg for leg in legs if leg.failure is not None]
        if stopped := next((leg.failure for leg in failed if isinstance(leg.failure, CancelledError)), None):
            if self.args.output != "table":
                self.show(legs, "unfinished")
            raise stopped
        whole = "done" if self.args.wait else "written"
        said = "\n".join(sanitize(leg.message) for leg in legs if leg.message and leg.failure is None)
        self.show(legs, "unfinished" if failed else whole, said or "no module is complete")
        if failed:
            why = "; ".join(f"{leg.module}: {leg.failure}" for leg in failed)
            raise PartlyDoneError(
                f"{len(failed)} of {format_count(len(legs), 'module')} not done: {why}",
                hint="run the command again to continue; completed modules are skipped",
            )
        return 0


def _proposal(leg: ManifestLeg) -> ManifestProposal:
    assert leg.proposal is not None
    return leg.proposal


def _outcome(leg: ManifestLeg, whole: str) -> str:
    return "unfinished" if leg.failure is not None else "unchanged" if leg.is_same else whole


def _refused(leg: ManifestLeg) -> str:
    """Return why nothing is written of it, with the name first; "" where something is."""
    error = leg.refusal
    if error is None:
        return ""
    return with_subject(leg.module, f"{error} ({error.hint})" if error.hint else str(error))


def _failed(leg: ManifestLeg) -> str:
    return str(leg.failure) if leg.failure is not None else ""


def _row(leg: ManifestLeg) -> list[str]:
    if leg.refusal is not None:
        return [leg.module, "", f"refused: {_refused(leg)}"]
    return [leg.module, _proposal(leg).version, _what(_proposal(leg))]


def _summary(legs: Sequence[ManifestLeg]) -> str:
    return summarize_actions("refused" if leg.refusal is not None else _what(_proposal(leg)) for leg in legs)


def _what(proposal: ManifestProposal) -> str:
    return "same" if proposal.changes_nothing else "create" if proposal.live is None else "change"


def _proposal_text(proposal: ManifestProposal, form: str) -> str:
    """Return what is written where, line by line."""
    where = f" on {proposal.sides[0]}, for {proposal.sides[1]}" if proposal.sides else ""
    rows = [[_what(proposal), f"{proposal.ref}{where}", f"{proposal.module} {proposal.version}"]]
    parts = [(markdown if form == "md" else table)(("ACTION", "OBJECT", "MODULE"), rows)]
    parts.append("\n".join(paragraph(line, form) for line in proposal.diff))
    if not proposal.operator.works:
        why = sanitize(proposal.operator.message)
        parts.append(paragraph(f"warning: no effect until you start `kymatui operator` ({why})", form))
    return "\n\n".join(parts)


def _proposal_json(proposal: ManifestProposal, outcome: str) -> dict[str, Any]:
    """Return `{"object", "name", "version", "installed", "manifest", "conflicts", "operator", "outcome"}`."""
    return {
        "object": str(proposal.ref),
        "name": proposal.module,
        "version": proposal.version,
        "installed": (proposal.live.version or None) if proposal.live is not None else None,
        "manifest": proposal.body,
        "conflicts": list(proposal.owners),
        "operator": proposal.operator.message or None,
        "outcome": outcome,
    }
