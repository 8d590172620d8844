"""Commands of a control plane, on every screen."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from kymatui.ui.navigation.command_table import ScreenCommand, unknown_name
from kymatui.ui.navigation.history import OPEN_RUNTIME_FIRST, WHATIF, ScreenStep
from kymatui.ui.terminal.file_names import manifest_paths

if TYPE_CHECKING:
    from kymatui.ui.flows.flow_app import FleetFlowApp

PLACES = {
    "matrix": "count module versions over the fleet",
    "waits": "list what the fleet waits for, and who acts",
    "recent": "list the fleet's changes of the last hour",
}
AT_RUNTIME = {
    "compare": "compare this runtime with its control plane",
    "sync": "show which ModuleTemplates and ModuleReleaseMetas this runtime should have and has, with the reasons",
}
ANYWHERE = {
    "windows": "show the next maintenance windows and the upgrades that wait for them",
    "watchers": "check whether changes in a runtime reach the control plane",
}


def commands(app: FleetFlowApp) -> Sequence[ScreenCommand]:
    """Return the commands in the order in which the help displays them."""
    own = [ScreenCommand("fleet", "list all runtimes", lambda _: app.ways.climb_to(0))]
    own += [ScreenCommand(kind, text, partial(_place, app, kind)) for kind, text in PLACES.items()]
    own.append(
        ScreenCommand(
            "runtime",
            "open the catalog of a runtime",
            partial(_runtime, app),
            aliases=("rt",),
            usage="runtime NAME",
            arguments=partial(_names, app),
        )
    )
    own.append(
        ScreenCommand(
            WHATIF,
            "show what new or changed ModuleReleaseMetas, ModuleTemplates and Kymas do to the fleet",
            partial(_what_if, app),
            usage="whatif FILE|FOLDER",
            arguments=manifest_paths,
        )
    )
    own += [ScreenCommand(kind, text, partial(_at_runtime, app, kind)) for kind, text in AT_RUNTIME.items()]
    own += [ScreenCommand(kind, text, partial(_anywhere, app, kind)) for kind, text in ANYWHERE.items()]
    return own


def _at_runtime(app: FleetFlowApp, kind: str, words: Sequence[str]) -> None:
    del words
    if app.runtime_key is None:
        app.problem(OPEN_RUNTIME_FIRST)
    else:
        app.ways.open(ScreenStep(kind))


def _anywhere(app: FleetFlowApp, kind: str, words: Sequence[str]) -> None:
    del words
    app.ways.open(ScreenStep(kind))


def _place(app: FleetFlowApp, kind: str, words: Sequence[str]) -> None:
    del words
    app.ways.climb_to(0)
    app.ways.open(ScreenStep(kind))


def _what_if(app: FleetFlowApp, words: Sequence[str]) -> None:
    path = Path(" ".join(words)).expanduser()
    if not words or words == ["-"]:
        problem = "standard input is the keyboard here" if words else "file missing"
        app.problem(f"{problem}; type `:whatif FILE|FOLDER`")
        return
    app.ways.climb_to(0)
    app.ways.open(ScreenStep(WHATIF, str(path)))


def _names(app: FleetFlowApp) -> Sequence[str]:
    return [name for _, name in app.fleet.picture.runtimes] if app.fleet is not None else ()


def _runtime(app: FleetFlowApp, words: Sequence[str]) -> None:
    found = app.fleet.picture.named(words[0]) if app.fleet is not None and words else None
    if found is None:
        name, known = " ".join(words), _names(app)
        several = list(known).count(name) > 1
        app.problem(
            f'several runtimes have the name "{name}"; type NAMESPACE/NAME'
            if several
            else unknown_name("runtime", name, known, "runtime NAME")
        )
        return
    app.ways.climb_to(0)
    app.look_at((found.ref.namespace, found.name))
