"""Everything that can be done with modules, as one table: the menu, the keys and the commands are made of it.

An action that is added here is in the menu of the catalog and of the module's screen:

    Action("install", "install directly…", "i", start=lambda app, names: install(app, names[0]), why_off=…)

`start` gives a flow (see `kymatui.ui.desk`); `why_off` is asked in a thread, and may take its time.
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from kymatui.domain.labelling import LABELS
from kymatui.domain.toggling import Verb
from kymatui.errors import KymatuiError
from kymatui.ui.flows import manifesting, restoring
from kymatui.ui.flows.deleting import not_there, start
from kymatui.ui.flows.installing import adopt, install, install_several, upgrade, why_not, why_not_adopted
from kymatui.ui.flows.toggling import relabel, toggle, toggling_of, why_off
from kymatui.ui.screens.menu import MenuItem, MenuScreen

if TYPE_CHECKING:
    from kymatui.ui.app import KymatuiApp

Flow = Coroutine[Any, Any, None]


@dataclass(frozen=True, slots=True)
class Action:
    """One line of the menu; `many` says whether it takes several modules at once, `destroys` whether a module goes."""

    id: str
    label: str
    key: str
    start: Callable[[KymatuiApp, Sequence[str]], Flow]
    why_off: Callable[[KymatuiApp, Sequence[str]], str] = lambda app, names: ""
    many: bool = True
    destroys: bool = False


_VERBS = {
    Verb.ENABLE: "enable in the Kyma…",
    Verb.DISABLE: "disable (uninstalls)…",
    Verb.CHANNEL: "change the channel…",
    Verb.MANAGE: "let lifecycle-manager manage it",
    Verb.UNMANAGE: "unmanage: keep it, updates end",
    Verb.POLICY: "policy of the default resource…",
}


def _why_off(verb: Verb, app: KymatuiApp, names: Sequence[str]) -> str:
    rows = [row for name in names if app.catalog is not None and (row := app.catalog.row(name)) is not None]
    return why_off(toggling_of(app), verb, names, list(dict.fromkeys(name for row in rows for name in row.channels)))


def _start(verb: Verb, app: KymatuiApp, names: Sequence[str]) -> Flow:
    return toggle(app, verb, names)


ACTIONS: tuple[Action, ...] = (
    *(
        Action(
            verb.value,
            label,
            "m" if verb in (Verb.MANAGE, Verb.UNMANAGE) else "",
            partial(_start, verb),
            partial(_why_off, verb),
            destroys=verb is Verb.DISABLE,
        )
        for verb, label in _VERBS.items()
    ),
    Action(
        "install",
        "install directly…",
        "i",
        lambda app, names: install(app, names[0]) if len(names) == 1 else install_several(app, names),
        lambda app, names: why_not(app, names, upgrade=False),
    ),
    Action(
        "manifest",
        "install or move by a Manifest…",
        "",
        manifesting.start,
        manifesting.why_not,
    ),
    Action(
        "adopt",
        "take over what is there…",
        "",
        adopt,
        why_not_adopted,
    ),
    Action(
        "upgrade",
        "upgrade what is outdated…",
        "u",
        upgrade,
        lambda app, names: why_not(app, names, upgrade=True),
    ),
    Action("delete", "delete, guided…", "ctrl-d", start, not_there, destroys=True),
    Action(
        "restore",
        "restore what was deleted of it…",
        "",
        lambda app, names: restoring.choose(app, names[0]),
        restoring.why_not,
        many=False,
    ),
)


async def menu(app: KymatuiApp, names: Sequence[str]) -> None:
    """Ask what is to be done with these modules, and do it.

    A menu that is ready late would take keys that are meant for something else: it is not shown then.
    """
    asked_on = app.screen
    items = await app.desk.aside(lambda: list(_items(app, names)))
    title = names[0] if len(names) == 1 else f"{len(names)} modules"
    if app.screen is not asked_on or (app.shown is not None and app.shown.is_typing):
        app.notify(f"Actions of {title} are ready; press a to open them", markup=False, timeout=5)
        return
    words = ", ".join(names) + "\n" if len(names) > 1 else ""
    charge = str(app.view.charge) if app.view.charge is not None else ""
    chosen = await app.push_screen_wait(MenuScreen(title, items, words + charge))
    action = next((one for one in ACTIONS if one.id == chosen), None)
    if action is not None:
        await action.start(app, names)


def _items(app: KymatuiApp, names: Sequence[str]) -> Iterator[MenuItem]:
    for one in ACTIONS:
        off = "one module at a time" if len(names) > 1 and not one.many else _off(one, app, names)
        yield MenuItem(one.id, one.label, one.key, off, one.destroys)


def _off(action: Action, app: KymatuiApp, names: Sequence[str]) -> str:
    """What one action cannot tell of itself must not keep the others from being chosen."""
    try:
        return action.why_off(app, names)
    except KymatuiError as error:
        return str(error)
    except Exception as error:  # noqa: BLE001
        return f"{type(error).__name__}: {error}; this is a defect of kymatui, please report it"


async def switch_management(app: KymatuiApp, names: Sequence[str]) -> None:
    """Manage what is not managed, or the other way round; what the first module wants."""
    row = app.catalog.row(names[0]) if app.catalog is not None and names else None
    verb = Verb.UNMANAGE if row is not None and row.managed else Verb.MANAGE
    await toggle(app, verb, names)


async def relabel_words(app: KymatuiApp, words: Sequence[str]) -> None:
    """`label beta on|off`."""
    if len(words) != 2 or words[0] not in LABELS or words[1] not in ("on", "off"):
        app.problem(f"which label? {', '.join(LABELS)}, and on or off")
    else:
        await relabel(app, words[0], words[1] == "on")
