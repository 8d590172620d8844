"""The guided deletion from the screen: the plan of what comes next, the job, and finalizers as a last resort."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, cast

from kymatui.domain.jobs import module_key
from kymatui.domain.presence import Presence
from kymatui.domain.previews import Consent, Mark, Preview, PreviewLine
from kymatui.errors import ConfigurationError
from kymatui.ui.navigation import Step
from kymatui.ui.presenters.departing import preview
from kymatui.ui.screens.choosing import ChoiceScreen, Option, Question
from kymatui.ui.screens.plan import PlanScreen
from kymatui.wiring.agreeing import Agreement
from kymatui.wiring.departing import Departing
from kymatui.wiring.job_books import Purpose
from kymatui.wiring.jobs import Report, Work

if TYPE_CHECKING:
    from kymatui.engine.departing import Departure, Turn
    from kymatui.ui.app import KymatuiApp
    from kymatui.ui.link import Link
    from kymatui.ui.screens.departing import DepartingScreen
    from kymatui.wiring.holding import Held
    from kymatui.wiring.sessions import CatalogSession

STAYS = "what is deleted is gone; what is left stays, its manager too, and the deletion can be entered again"


def departing_of(app: KymatuiApp) -> Departing:
    """The deletions of the cluster on show. Raises ConfigurationError before it is connected."""
    session = app.view.writing
    if session is None:
        raise ConfigurationError("there is no connection to the cluster yet")
    return Departing(cast("CatalogSession", session))


async def start(app: KymatuiApp, names: Sequence[str]) -> None:
    """The stepper of one module, or one listing of several."""
    from kymatui.ui.flows.deleting_several import delete_several

    await (open_deletion(app, names[0]) if len(names) == 1 else delete_several(app, names))


async def open_deletion(app: KymatuiApp, module: str) -> None:
    """The stepper of a module."""
    app.ways.open(Step("delete", module))


def not_there(app: KymatuiApp, names: Sequence[str]) -> str:
    """Why there is nothing to delete; "" where there is."""
    rows = [app.catalog.row(name) for name in names] if app.catalog is not None else []
    gone = all(row is not None and row.presence is Presence.NOT_INSTALLED for row in rows)
    return "it is not installed" if rows and gone else ""


async def delete(app: KymatuiApp, screen: DepartingScreen) -> None:
    """Shows what the deletion will do from here on, and begins it when that is agreed to."""
    from kymatui.wiring.backups import backup_path

    desk, module, way = app.desk, screen.module, screen.way
    departing = departing_of(app)
    seen = await desk.aside(lambda: departing.look(module, way=way))
    backup = backup_path(seen.cluster, module, app.clock()) if screen.keeps_backup else None
    shown = preview(seen, accept_unknown=screen.accept_unknown, backup=str(backup) if backup is not None else "")
    answer = await app.push_screen_wait(PlanScreen(shown))
    if answer.is_yes:
        agreement = Agreement("cascade" in answer.consents, screen.accept_unknown, way, backup, float("inf"), seen)
        begin(app, departing, seen, agreement)
    screen.look_again()


def begin(app: KymatuiApp, departing: Departing, seen: Departure, agreement: Agreement) -> None:
    """Begins the job. A deletion edits the Kyma only for a moment, and so leaves that to others."""
    run = partial(carry_out, departing, seen.module, agreement, app.view.link)
    keeps = frozenset({module_key(seen.module)})
    purpose = Purpose("delete", (seen.module,))
    work = Work(f"delete {seen.module}", run, seen.module, keeps, stays=STAYS, purpose=purpose)
    app.desk.start(work, partial(open_deletion, app, seen.module))


def carry_out(departing: Departing, module: str, agreement: Agreement, link: Link[Any], report: Report) -> str:
    """The deletion, in the thread of its job."""
    changed = threading.Event()
    link.listen(changed)

    def turned(turn: Turn) -> None:
        report.step(turn.value)

    try:
        ended = departing.carry_out(
            module, agreement, tell=report.tell, cancel=report.cancel, changed=changed, turned=turned
        )
    finally:
        link.forget(changed)
    kept = f"; kept: {', '.join(f'{ref} ({reason})' for ref, reason in ended.kept)}" if ended.kept else ""
    return f"{ended.words or 'it is gone'}, {len(ended.gone)} deleted{kept}"


# the last resort


async def let_go_of_finalizer(app: KymatuiApp, screen: DepartingScreen) -> None:
    """One finalizer of one object, after its name was typed; never the default, and never more than one."""
    from kymatui.wiring.holding import held, let_go

    departing = departing_of(app)
    seen = await app.desk.aside(lambda: departing.look(screen.module))
    found = await app.desk.aside(lambda: held(seen, departing.cluster))
    if not found:
        app.problem(f"nothing of {screen.module} is held by finalizers any more")
        return
    chosen = await app.push_screen_wait(ChoiceScreen("the last resort: which finalizer?", [_question(found)]))
    if chosen is None:
        return
    number, _, finalizer = chosen["finalizer"].partition(" ")
    one = found[int(number)]
    answer = await app.push_screen_wait(PlanScreen(_last_resort(one, finalizer)))
    if answer.is_yes:
        gone = await app.desk.aside(lambda: let_go(departing.cluster, one, finalizer, one.typed))
        app.notify(f"{one.ref} {'is gone' if gone else 'is still held by other finalizers'}", markup=False)
    screen.look_again()


def _question(found: tuple[Held, ...]) -> Question:
    options = tuple(
        Option(f"{number} {name}", str(one.ref), f"{name} (set by {owner or 'nobody known'})")
        for number, one in enumerate(found)
        for name, owner in one.finalizers
    )
    return Question("finalizer", "object", options, options[0].value)


def _last_resort(one: Held, finalizer: str) -> Preview:
    return Preview(
        f"last resort: {finalizer} of {one.ref}",
        lines=(PreviewLine(Mark.DELETE, f"{one.ref}", f"finalizer {finalizer}", (f"- {finalizer}",)),),
        warnings=(
            one.expected,
            "without the finalizer the object goes at once, and what was to be cleaned up for it elsewhere stays",
        ),
        consents=(Consent("name", "nobody will do what the finalizer stands for", typed=one.typed),),
        question=f"Take {finalizer} away?",
    )
