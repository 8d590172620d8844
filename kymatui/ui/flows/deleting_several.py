"""The guided deletion of several modules: one listing of all that goes, and then one deletion after the other.

Each begins with a look of its own: what came to a module after the listing was agreed to keeps that module from going.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

from kymatui.domain.jobs import module_key
from kymatui.domain.previews import Consent, joined
from kymatui.engine.departing import Turn, Way
from kymatui.errors import KymatuiError, RefusedError
from kymatui.ui.flows.deleting import STAYS, carry_out, departing_of, open_deletion
from kymatui.ui.presenters.departing import preview
from kymatui.ui.screens.plan import PlanScreen
from kymatui.wiring.agreeing import Agreement, refuse_unseen
from kymatui.wiring.backups import backup_path
from kymatui.wiring.job_books import Purpose
from kymatui.wiring.jobs import Report, Work

if TYPE_CHECKING:
    from kymatui.domain.previews import Preview
    from kymatui.engine.departing import Departure
    from kymatui.ui.app import KymatuiApp
    from kymatui.wiring.departing import Departing

_QUEUE = "the turn to delete"
_KEPT = "its own file"
_ALONE = "look at it alone: ctrl-d"


@dataclass(frozen=True, slots=True)
class _Looked:
    """What was seen of those that can go, and of the rest why they cannot."""

    seen: tuple[Departure, ...]
    left_out: tuple[str, ...]


async def delete_several(app: KymatuiApp, names: Sequence[str]) -> None:
    """Shows everything that would go, and begins a job for each once that is agreed to; they wait for one another."""
    departing = departing_of(app)
    found = await app.desk.aside(lambda: _look(departing, names))
    if not found.seen:
        raise RefusedError("; ".join(found.left_out), hint="nothing was deleted")
    paths = {one.module: backup_path(one.cluster, one.module, app.clock()) for one in found.seen}
    parts = {one.module: preview(one, accept_unknown=False, backup=_KEPT) for one in found.seen}
    folder = next(iter(paths.values())).parent
    answer = await app.push_screen_wait(PlanScreen(_joined(parts, found.left_out, str(folder))))
    if not answer.is_yes:
        return
    for one in found.seen:
        agreed = f"cascade {one.module}" in answer.consents
        _begin(app, departing, Agreement(agreed, False, Way.LET, paths[one.module], float("inf"), one), one)


def _look(departing: Departing, names: Sequence[str]) -> _Looked:
    seen, left_out = [], []
    for name in names:
        try:
            one = departing.look(name)
        except KymatuiError as error:
            left_out.append(f"{name}: {error}")
            continue
        turn = one.turn()
        if turn in (Turn.GONE, Turn.REFUSED):
            words = one.refusal or "nothing of it is left"
            left_out.append(words if words.startswith(name) else f"{name}: {words}")
        elif turn is Turn.UNKNOWN:
            left_out.append(f"{name}: nobody knows whether something is left of what may not be listed; {_ALONE}")
        else:
            seen.append(one)
    return _Looked(tuple(seen), tuple(left_out))


def _joined(parts: dict[str, Preview], left_out: Sequence[str], folder: str) -> Preview:
    """One word is typed for all: what users made is agreed to for each module on its own."""
    names = ", ".join(parts)
    count = names if len(parts) == 1 else f"{len(parts)} modules"
    made = joined(f"delete {count}", parts, left_out)
    ticks = tuple(one for one in made.consents if not one.typed)
    words = f"{names} is deleted" if len(parts) == 1 else f"{names} are deleted, one after the other"
    typed = Consent("names", words, typed=count)
    kept = f"what is deleted is kept first, a file for each, in {folder}"
    warnings = (*(one for one in made.warnings if not one.endswith(_KEPT)), kept)
    return replace(made, consents=(*ticks, typed), warnings=warnings)


def _begin(app: KymatuiApp, departing: Departing, agreement: Agreement, seen: Departure) -> None:
    work = Work(
        f"delete {seen.module}",
        partial(_carry_out, app, departing, agreement, seen),
        seen.module,
        frozenset({module_key(seen.module), _QUEUE}),
        stays=STAYS,
        purpose=Purpose("delete", (seen.module,)),
    )
    app.desk.start(work, partial(open_deletion, app, seen.module))


def _carry_out(app: KymatuiApp, departing: Departing, agreement: Agreement, seen: Departure, report: Report) -> str:
    refuse_unseen(departing.look(seen.module), seen)
    return carry_out(departing, seen.module, agreement, app.view.link, report)
