"""`kymatui manifest NAME NAME …`: the Manifests of several modules as one plan, then all of them, then the wait."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from kymatui.cli.commands.modules.manifest import print_progress, proposal_json, proposal_text, refuse_proposal
from kymatui.cli.options.confirmation import confirm
from kymatui.cli.options.direct_install import CommandContext, cancellable
from kymatui.cli.output.plan_header import plan_document, plan_text
from kymatui.cli.output.printing import markdown, say, table
from kymatui.domain.kubernetes.terminal_text import sanitize
from kymatui.errors import CancelledError, KymatuiError, PartlyDoneError, RefusedError

if TYPE_CHECKING:
    from kymatui.composition.manifest import ManifestAction, ManifestProposal


@dataclass(frozen=True, slots=True)
class _Leg:
    """One module: what is proposed, or why nothing can be, and how it ended."""

    module: str
    proposal: ManifestProposal | None = None
    refused: str = ""
    failed: str = ""
    words: str = ""

    @property
    def is_same(self) -> bool:
        return self.proposal is not None and self.proposal.changes_nothing

    def outcome(self, whole: str) -> str:
        if self.failed:
            return "unfinished"
        return "refused" if self.refused else "unchanged" if self.is_same else whole


def write_manifests(place: CommandContext, manifesting: ManifestAction, names: Sequence[str]) -> int:
    """Writes all of them, or refuses. Raises RefusedError, PartlyDoneError, CancelledError."""
    args = place.args
    legs = [_leg(place, manifesting, name) for name in names]
    if refused := [leg.refused for leg in legs if leg.refused]:
        _answer(place, legs, "refused", to_errors=args.output == "table" and not args.dry_run)
        raise RefusedError("; ".join(refused), hint="nothing was changed, of the others neither")
    todo = [leg for leg in legs if not leg.is_same]
    if not todo:
        return _answer(place, legs, "unchanged", "their Manifests say so already")
    if args.dry_run:
        return _answer(place, legs, "planned")
    if args.output == "table":
        say(_text(place, legs, "table"), sys.stderr)
    named = ", ".join(leg.module for leg in todo)
    confirm(place.target, f"Write the Manifests of {named}", yes=args.yes)
    return _ended(place, _carry_out(place, manifesting, legs))


def _leg(place: CommandContext, manifesting: ManifestAction, name: str) -> _Leg:
    try:
        one = manifesting.propose(name, manifesting.newest(name))
        if not one.changes_nothing:
            refuse_proposal(one, place.args)
    except RefusedError as error:
        said = f"{error} ({error.hint})" if error.hint and error.hint != "nothing was changed" else str(error)
        return _Leg(name, refused=said if said.startswith(name) else f"{name}: {said}")
    return _Leg(name, one)


def _carry_out(place: CommandContext, manifesting: ManifestAction, legs: Sequence[_Leg]) -> list[_Leg]:
    """All Manifests first, then the wait for each; what fails keeps no other from going on."""
    now, written = list(legs), dict[int, tuple[str, int]]()
    deadline = time.monotonic() + place.args.timeout
    with cancellable() as cancel:
        try:
            for at, leg in enumerate(legs):
                if cancel.is_set():
                    raise CancelledError(f"stopped before the Manifest of {leg.module}", hint="what is written stays")
                if not leg.is_same:
                    now[at] = _write(manifesting, leg, at, written)
            for at, made in written.items() if place.args.wait else ():
                now[at] = _follow(manifesting, now[at], made, deadline, cancel)
        except CancelledError:
            if place.args.output != "table":
                _answer(place, now, "unfinished")
            raise
    return now


def _write(manifesting: ManifestAction, leg: _Leg, at: int, written: dict[int, tuple[str, int]]) -> _Leg:
    assert leg.proposal is not None
    try:
        written[at] = manifesting.carry_out(leg.proposal)
    except KymatuiError as error:
        return replace(leg, failed=str(error))
    say(f"  {leg.proposal.ref} is written", sys.stderr)
    return replace(leg, words=f"{leg.proposal.ref} is written; the operator does the rest")


def _follow(
    manifesting: ManifestAction, leg: _Leg, made: tuple[str, int], deadline: float, cancel: threading.Event
) -> _Leg:
    assert leg.proposal is not None
    left = max(0.0, deadline - time.monotonic())
    try:
        return replace(
            leg, words=manifesting.follow(leg.proposal, made, threading.Event(), print_progress, cancel, left)
        )
    except CancelledError:
        raise
    except KymatuiError as error:
        return replace(leg, failed=str(error))


def _ended(place: CommandContext, legs: Sequence[_Leg]) -> int:
    failed = [leg for leg in legs if leg.failed]
    whole = "done" if place.args.wait else "written"
    said = "\n".join(sanitize(leg.words) for leg in legs if leg.words and not leg.failed)
    _answer(place, legs, "unfinished" if failed else whole, said or "none of them came to its end")
    if failed:
        why = "; ".join(f"{leg.module}: {leg.failed}" for leg in failed)
        raise PartlyDoneError(f"{len(failed)} of {len(legs)} are not done: {why}", hint="run it again to go on")
    return 0


# telling it


def _answer(
    place: CommandContext, legs: Sequence[_Leg], outcome: str, words: str = "", *, to_errors: bool = False
) -> int:
    form = place.args.output
    if form in ("json", "yaml"):
        whole = "done" if outcome == "unfinished" else outcome
        made = {
            "cluster": place.cluster.name,
            "manifests": [proposal_json(leg.proposal, leg.outcome(whole)) for leg in legs if leg.proposal is not None],
            "failed": [{"name": leg.module, "reason": why} for leg in legs if (why := leg.refused or leg.failed)],
            "outcome": outcome,
        }
        say(plan_document(place.target, made, form))
    else:
        say(words or _text(place, legs, form), sys.stderr if to_errors else sys.stdout)
    return 0


def _text(place: CommandContext, legs: Sequence[_Leg], form: str) -> str:
    draw = markdown if form == "md" else table
    parts = [draw(("MODULE", "TO", "WHAT"), [_row(leg) for leg in legs])]
    parts += [proposal_text(leg.proposal, form) for leg in legs if leg.proposal is not None and not leg.is_same]
    return plan_text(place.target, "\n\n".join(parts), form)


def _row(leg: _Leg) -> list[str]:
    if leg.proposal is None:
        return [leg.module, "", f"refused: {leg.refused}"]
    what = "same" if leg.is_same else "create" if leg.proposal.live is None else "change"
    return [leg.module, leg.proposal.version, what]
