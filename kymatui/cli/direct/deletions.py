"""`kymatui delete NAME NAME …`: one look at all of them, one question, and then one deletion after the other.

Nothing goes that nobody saw in the plan: before its turn comes, each is looked at once more. What cannot go speaks
against the whole; what fails on the way keeps the others from nothing.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from kymatui.cli.asking import confirm
from kymatui.cli.direct.departures import consequence, departure_json, departure_text
from kymatui.cli.direct.options import Place, cancellable
from kymatui.cli.printing import markdown, say, table
from kymatui.cli.targets import plan_document, plan_text
from kymatui.errors import CancelledError, KymatuiError, PartlyDoneError, RefusedError

if TYPE_CHECKING:
    from kymatui.cli.direct.deleting import Deletion
    from kymatui.engine.departing import Departure
    from kymatui.wiring.agreeing import Agreement
    from kymatui.wiring.turning import Departed


@dataclass(frozen=True, slots=True)
class _Leg:
    """One deletion with what was seen of it, what was agreed to, and what became of it."""

    deletion: Deletion
    seen: Departure
    agreement: Agreement
    refused: str = ""
    failed: str = ""
    ended: Departed | None = None

    @property
    def is_gone(self) -> bool:
        """Whether nothing of it was there to begin with."""
        from kymatui.engine.departing import Turn

        return self.seen.turn(accept_unknown=self.agreement.accept_unknown) is Turn.GONE

    @property
    def outcome(self) -> str:
        if self.refused or self.failed:
            return "refused" if self.refused else "unfinished"
        return "unchanged" if self.is_gone else "done" if self.ended is not None else "planned"


def delete_several(place: Place, deletions: Sequence[Deletion]) -> int:
    """Deletes all of them, or refuses. Raises RefusedError, PartlyDoneError, CancelledError."""
    args = place.args
    legs = [_leg(deletion) for deletion in deletions]
    refused, todo = [leg for leg in legs if leg.refused], [leg for leg in legs if not leg.is_gone]
    if args.dry_run:
        return _answer(place, legs, "planned")
    if refused:
        _answer(place, legs, "refused", to_errors=args.output == "table")
        raise RefusedError("; ".join(leg.refused for leg in refused), hint="nothing was changed")
    if not todo:
        return _answer(place, legs, "unchanged", "nothing is left of them")
    if args.output == "table":
        say(_text(place, legs, "table"), sys.stderr)
    names = ", ".join(leg.deletion.name for leg in todo)
    confirm(
        place.target,
        f"{'Unmanage' if args.way == 'unmanage' else 'Delete'} {names}",
        "" if args.way == "unmanage" else consequence([leg.seen for leg in todo], backup=not args.no_backup),
        yes=args.yes,
    )
    return _ended(place, _carry_out(place, legs))


def _leg(deletion: Deletion) -> _Leg:
    seen = deletion.look()
    made = _Leg(deletion, seen, deletion.agreement(seen))
    if made.is_gone:
        return made
    try:
        deletion.refuse(seen, made.agreement)
    except RefusedError as error:
        words = str(error) if str(error).startswith(seen.module) else f"{seen.module}: {error}"
        return replace(made, refused=f"{words} ({error.hint})" if error.hint else words)
    return made


def _carry_out(place: Place, legs: Sequence[_Leg]) -> list[_Leg]:
    """A person who stops it stops all that has not begun."""
    ended: list[_Leg] = []
    with cancellable() as cancel:
        for leg in legs:
            if leg.is_gone:
                ended.append(leg)
                continue
            say(f"{leg.deletion.name} {leg.seen.installed}".rstrip(), sys.stderr)
            try:
                ended.append(replace(leg, ended=_delete(leg, cancel)))
            except CancelledError:
                _answer(place, [*ended, *legs[len(ended) :]], "unfinished", to_errors=place.args.output == "table")
                raise
            except KymatuiError as error:
                ended.append(replace(leg, failed=f"{error} ({error.hint})" if error.hint else str(error)))
    return ended


def _delete(leg: _Leg, cancel: threading.Event) -> Departed:
    from kymatui.wiring.agreeing import refuse_unseen

    now = leg.deletion.look()
    refuse_unseen(now, leg.seen)
    leg.deletion.keep(now, leg.agreement)
    return leg.deletion.carry_out(leg.agreement, cancel)


def _ended(place: Place, legs: Sequence[_Leg]) -> int:
    done, failed = [leg for leg in legs if leg.ended is not None], [leg for leg in legs if leg.failed]
    lines = [_line(leg) for leg in done]
    _answer(place, legs, "unfinished" if failed else "done", "\n".join(lines) or "none of them is gone")
    if failed:
        said = "; ".join(f"{leg.deletion.name}: {leg.failed}" for leg in failed)
        raise PartlyDoneError(f"{len(failed)} of {len(legs)} are not gone: {said}", hint="run it again to go on")
    return 0


def _line(leg: _Leg) -> str:
    assert leg.ended is not None
    stays = ", ".join(f"{ref} ({reason})" for ref, reason in leg.ended.kept)
    said = [*([leg.ended.words] if leg.ended.words else []), f"{len(leg.ended.gone)} deleted"]
    return f"{leg.deletion.name}: {', '.join(said)}" + (f"; kept: {stays}" if stays else "")


# telling it


def _answer(place: Place, legs: Sequence[_Leg], outcome: str, words: str = "", *, to_errors: bool = False) -> int:
    form = place.args.output
    if form in ("json", "yaml"):
        say(plan_document(place.target, _json(place, legs, outcome), form))
    elif words:
        say(words)
    else:
        say(_text(place, legs, form), sys.stderr if to_errors else sys.stdout)
    return 0


def _json(place: Place, legs: Sequence[_Leg], outcome: str) -> dict[str, Any]:
    """`{"cluster", "modules": […], "failed": […], "outcome"}`; each module as the deletion of one is told."""

    def of(leg: _Leg) -> dict[str, Any]:
        gone, kept, lost = (leg.ended.gone, leg.ended.kept, leg.ended.lost) if leg.ended is not None else ((), (), ())
        return departure_json(leg.seen, leg.outcome, gone, kept, lost)

    return {
        "cluster": place.cluster.name,
        "modules": [of(leg) for leg in legs],
        "failed": [
            {"name": leg.deletion.name, "reason": leg.refused or leg.failed}
            for leg in legs
            if leg.refused or leg.failed
        ],
        "outcome": outcome,
    }


def _text(place: Place, legs: Sequence[_Leg], form: str) -> str:
    draw = markdown if form == "md" else table
    parts = [draw(("MODULE", "VERSION", "IN CHARGE", "STILL THERE", "NEXT"), [_row(leg) for leg in legs])]
    parts += [departure_text(leg.seen, form) for leg in legs if not leg.is_gone]
    return plan_text(place.target, "\n\n".join(parts), form)


def _row(leg: _Leg) -> list[str]:
    seen = leg.seen
    turn = seen.turn(accept_unknown=leg.agreement.accept_unknown)
    following = f"refused: {leg.refused}" if leg.refused else leg.failed or turn.value
    return [seen.module, seen.installed, seen.charge.value, str(len(seen.theirs)) if seen.theirs else "", following]
