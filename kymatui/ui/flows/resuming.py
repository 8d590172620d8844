"""What an earlier run left unfinished: told at the start, and gone on with when a person wants to."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import TYPE_CHECKING

from kymatui.domain.toggling import Verb
from kymatui.ui.text import plain
from kymatui.wiring.campaign_books import halted
from kymatui.wiring.unfinished import CutOff, cut_off, runtimes_cut_off

if TYPE_CHECKING:
    from kymatui.ui.app import KymatuiApp


_TOLD = 30.0
"""Seconds for which it stands there what was cut off: whoever has just started looks at the list first."""


async def look_back(app: KymatuiApp, context: str) -> None:
    """Tells what was cut off on this cluster."""
    for one in await app.desk.aside(lambda: cut_off(context)):
        how = "follows it again" if one.kind in set(Verb) else "looks at what is left, and goes on"
        app.problem(plain(f"{_words(one)}; `:resume {one.name}` {how}"), seconds=_TOLD)


async def look_around(app: KymatuiApp, control: str) -> None:
    """Tells on which runtimes of a control plane something was cut off, and which edits over many of them were."""
    for edit in await app.desk.aside(lambda: halted(control)):
        names = ", ".join(name.rpartition("/")[2] for name in edit.runtimes[:3])
        more = f" and {len(edit.runtimes) - 3} more" if len(edit.runtimes) > 3 else ""
        app.problem(
            plain(
                f"“{edit.verb} {edit.module}” over many runtimes was cut off at {names}{more}: mark the runtimes again "
                "(space) and plan it (p), it goes on where it stopped"
            )
        )
    for name in await app.desk.aside(lambda: runtimes_cut_off(control)):
        app.problem(plain(f"something was cut off on the runtime {name}: open it, there it is told and gone on with"))


def _words(one: CutOff) -> str:
    verb = "deletion" if one.deletion else "installation"
    what = f"“{one.title}”" if one.title else f"the {verb} of {one.name}"
    moment = time.strftime("%Y-%m-%d %H:%M UTC", time.gmtime(one.began))
    where = f" at: {', '.join(one.steps[:3])}" if one.steps else ""
    return f"{what}, begun {moment}, was cut off{where}"


async def resume(app: KymatuiApp, words: Sequence[str]) -> None:
    """Plans anew what was cut off, or follows it again: what is done already is not done twice."""
    context = app.view.place.name if app.view.place is not None else ""
    found = {one.name: one for one in await app.desk.aside(lambda: cut_off(context))}
    name = " ".join(words) or next(iter(found), "")
    if not found:
        app.problem("nothing was cut off on this cluster")
    elif name not in found:
        app.problem(f"which? {', '.join(found)}")
    else:
        await _go_on(app, found[name])


async def _go_on(app: KymatuiApp, one: CutOff) -> None:
    from kymatui.ui.flows import manifesting
    from kymatui.ui.flows.deleting import open_deletion
    from kymatui.ui.flows.installing import adopt, install
    from kymatui.ui.flows.toggling import go_on
    from kymatui.wiring.directing import Wanted

    if one.deletion:
        await open_deletion(app, one.name)
    elif one.kind in set(Verb):
        await go_on(app, Verb(one.kind), one.modules, one.given)
    elif one.kind == "adopt":
        await adopt(app, [one.name])
    elif one.kind == "manifest":
        await manifesting.install(app, one.name)
    else:
        chart, namespace, repository = (one.given.get(word, "") for word in ("chart", "namespace", "repository"))
        await install(app, one.name, Wanted(one.name, chart=chart, namespace=namespace, repository=repository))
