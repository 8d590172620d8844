"""What an earlier run left unfinished: told at the start, and gone on with when a person wants to."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import TYPE_CHECKING

from kymatui.ui.text import plain
from kymatui.wiring.unfinished import CutOff, cut_off

if TYPE_CHECKING:
    from kymatui.ui.app import KymatuiApp


async def look_back(app: KymatuiApp, context: str) -> None:
    """Tells what was cut off on this cluster."""
    for one in await app.desk.aside(lambda: cut_off(context)):
        app.problem(plain(f"{_words(one)}; `:resume {one.name}` looks at what is left, and goes on"))


def _words(one: CutOff) -> str:
    verb = "deletion" if one.deletion else "installation"
    moment = time.strftime("%Y-%m-%d %H:%M UTC", time.gmtime(one.began))
    return f"the {verb} of {one.name}, begun {moment}, was cut off at: {', '.join(one.steps[:3])}"


async def resume(app: KymatuiApp, words: Sequence[str]) -> None:
    """Plans anew what was cut off: what is done already is not done twice."""
    from kymatui.ui.flows.deleting import open_deletion
    from kymatui.ui.flows.installing import install

    context = app.view.place.context if app.view.place is not None else ""
    found = {one.name: one for one in await app.desk.aside(lambda: cut_off(context))}
    if not found:
        app.problem("nothing was cut off on this cluster")
        return
    name = words[0] if words else next(iter(found))
    if name not in found:
        app.problem(f"which? {', '.join(found)}")
    elif found[name].deletion:
        await open_deletion(app, name)
    else:
        await install(app, name)
