"""Table of all actions on modules: the source of the menu, the keys and the commands.

An action that is added here is in the menu of the catalog and of the module screen:

    ModuleAction("install", "Install directly…", "i", start=start_install, why_off=…)

`start` returns a flow (see `job_controller`); `why_off` runs in a thread and may be slow.
"""

from __future__ import annotations

import asyncio
import webbrowser
from collections.abc import Callable, Coroutine, Iterator, Sequence
from functools import partial
from typing import Any, Final

from msgspec import Struct

from kymatui.actions.edits.restart import can_restart
from kymatui.domain.kubernetes.refs import ObjectRef
from kymatui.domain.kubernetes.terminal_text import name_or_count
from kymatui.domain.kyma.module_templates import ModuleLink
from kymatui.domain.kyma.problems import AdviceKind
from kymatui.domain.kyma_edit.label_edit import LABELS
from kymatui.domain.kyma_edit.module_edit import EditVerb
from kymatui.errors import KymatuiError
from kymatui.ui.dialogs.action_menu import MenuItem, MenuScreen
from kymatui.ui.dialogs.choice_dialog import ChoiceScreen
from kymatui.ui.flows import manifest, object_edit, restart, restore
from kymatui.ui.flows.deletion import start_deletion, why_not_installed
from kymatui.ui.flows.direct_install import adopt, start_install, upgrade, why_not_adoptable, why_not_installable
from kymatui.ui.flows.flow_app import FlowApp, why_no_plan
from kymatui.ui.flows.kyma_edit import edit_labels, edit_modules, kyma_edit_action, why_edit_disabled
from kymatui.ui.flows.pull import pull, why_not_pullable
from kymatui.ui.navigation.command_table import UnknownCommand, find_command, unknown_name
from kymatui.ui.presenters.module.module_facts import links_of
from kymatui.ui.terminal.file_saving import copy_text
from kymatui.ui.viewmodels.display_text import ChoiceOption, Question, screen_command

Flow = Coroutine[Any, Any, None]
_READING: Final = frozenset({"logs", "module"})
_DESTROYING: Final = frozenset({AdviceKind.DELETE_BLOCKERS, AdviceKind.DELETE_INSTALLATION, AdviceKind.DISABLE})
_PATIENCE = 1.0  # seconds until the menu opens without the reasons that depend on a cluster's answer


class ModuleAction(Struct, frozen=True):
    """One action of the menu; `many` takes several modules at once, `destroys` deletes a module."""

    id: str
    label: str
    key: str
    start: Callable[[FlowApp, Sequence[str]], Flow]
    why_off: Callable[[FlowApp, Sequence[str]], str] = lambda app, names: ""
    many: bool = True
    destroys: bool = False


_VERBS = {
    EditVerb.ENABLE: "Enable in the Kyma…",
    EditVerb.DISABLE: "Disable (uninstalls)…",
    EditVerb.CHANNEL: "Change channel…",
    EditVerb.MANAGE: "Manage (updated with its channel)",
    EditVerb.UNMANAGE: "Unmanage (keep installed, stop updates)",
    EditVerb.POLICY: "Set policy of the default CR…",
}


def _why_off(verb: EditVerb, app: FlowApp, names: Sequence[str]) -> str:
    rows = [row for name in names if app.catalog is not None and (row := app.catalog.row(name)) is not None]
    return why_edit_disabled(
        kyma_edit_action(app), verb, names, list(dict.fromkeys(name for row in rows for name in row.channels))
    )


def _start(verb: EditVerb, app: FlowApp, names: Sequence[str]) -> Flow:
    return edit_modules(app, verb, names)


ACTIONS: tuple[ModuleAction, ...] = (
    *(
        ModuleAction(
            verb.value,
            label,
            "m" if verb in (EditVerb.MANAGE, EditVerb.UNMANAGE) else "",
            partial(_start, verb),
            partial(_why_off, verb),
            destroys=verb is EditVerb.DISABLE,
        )
        for verb, label in _VERBS.items()
    ),
    ModuleAction(
        "install",
        "Install directly…",
        "i",
        start_install,
        lambda app, names: why_not_installable(app, names, upgrade=False),
    ),
    ModuleAction("pull", "Pull its ModuleTemplate…", "", pull, why_not_pullable),
    ModuleAction("manifest", "Install with a Manifest…", "", manifest.start_manifest_job, manifest.why_no_manifest),
    ModuleAction("adopt", "Adopt…", "", adopt, why_not_adoptable),
    ModuleAction("upgrade", "Upgrade…", "u", upgrade, lambda app, names: why_not_installable(app, names, upgrade=True)),
    ModuleAction("delete", "Delete step by step…", "ctrl-d", start_deletion, why_not_installed, destroys=True),
    ModuleAction(
        "edit",
        "Edit the module CR in your editor…",
        "E",
        lambda app, names: object_edit.edit_object(app, names[0]),
        object_edit.why_not_editable,
        many=False,
    ),
    ModuleAction("restart", "Restart its manager…", "r", restart.restart_managers, restart.why_not_restartable),
    ModuleAction(
        "restore",
        "Restore from a backup…",
        "",
        lambda app, names: restore.choose_backup(app, names[0]),
        restore.why_not_restorable,
        many=False,
    ),
)


def start_module_action(app: FlowApp, key: str, names: Sequence[str], line: ObjectRef | None) -> Flow:
    """Return the flow of a key: "menu", "link", "manage" for both directions, or the id of an action.

    A workload or Pod of the `line` under the cursor is restarted in the place of the manager.
    """
    if key == "menu":
        return open_action_menu(app, names)
    if key == "link":
        return open_link(app, names[0])
    if key == "manage":
        return switch_management(app, names)
    if key == "restart" and line is not None and can_restart(line):
        return restart.restart_object(app, names[0], line)
    return next(action for action in ACTIONS if action.id == key).start(app, names)


async def open_action_menu(app: FlowApp, names: Sequence[str]) -> None:
    """Open the menu of the actions for these modules and run the chosen action.

    Skips a menu that is ready late, since it would take keys meant for another screen. While a cluster does not answer,
    the menu opens with the reasons that are known, and gets the others when they are.
    """
    asked_on = app.screen
    menu_items: dict[str, MenuItem] = {}
    advised = list(_advised(app, names))

    def read() -> list[MenuItem]:
        menu_items.update((item.id, item) for item in _items(app, names))
        return [*advised, *menu_items.values()]

    reading = asyncio.ensure_future(app.jobs.in_thread(read))
    await asyncio.wait({reading}, timeout=_PATIENCE)
    title = name_or_count(names, "module")
    if app.screen is not asked_on or (app.shown is not None and app.shown.command_line.is_typing):
        await reading
        app.notify(f"Actions for {title} are ready; press a to open", timeout=5)
        return
    later = None if reading.done() else reading
    waiting = (menu_items.get(entry.id) or _waiting(entry) for entry in ACTIONS)
    items = await reading if later is None else [*advised, *waiting]
    words = ", ".join(names) + "\n" if len(names) > 1 else ""
    chosen = await app.push_screen_wait(MenuScreen(title, items, words + str(app.view.management or ""), later))
    action = next((entry for entry in ACTIONS if entry.id == chosen), None)
    if action is not None:
        await action.start(app, names)
    elif chosen is not None and app.shown is not None:
        app.call_later(app.shown.command_line.run, chosen)


def _advised(app: FlowApp, names: Sequence[str]) -> Iterator[MenuItem]:
    """Yield what the reason of one module advises, if the screen can do it; its id is the line of a command."""
    row = app.catalog.row(names[0]) if app.catalog is not None and len(names) == 1 else None
    advice = row.reason.advice if row is not None else None
    line = screen_command(advice.command, names[0]) if advice is not None else ""
    if advice is not None and line and not isinstance(find_command(app.commands(), line), UnknownCommand):
        off = "" if line.split()[0] in _READING else why_no_plan(app)
        yield MenuItem(line, f"{advice.text}…", "", off, destroys=advice.kind in _DESTROYING)


def _waiting(action: ModuleAction) -> MenuItem:
    return MenuItem(action.id, action.label, action.key, "waiting for the cluster's answer", action.destroys)


def _items(app: FlowApp, names: Sequence[str]) -> Iterator[MenuItem]:
    for action in ACTIONS:
        off = "one module at a time" if len(names) > 1 and not action.many else _off(action, app, names)
        yield MenuItem(action.id, action.label, action.key, off, action.destroys)


def _off(action: ModuleAction, app: FlowApp, names: Sequence[str]) -> str:
    """Return why an action is disabled; an error in one reason does not disable the others."""
    try:
        return action.why_off(app, names)
    except KymatuiError as error:
        return str(error)
    except Exception as error:  # noqa: BLE001
        return f"{type(error).__name__}: {error}; this is a bug in kymatui, please report it"


async def switch_management(app: FlowApp, names: Sequence[str]) -> None:
    """Switch between managed and unmanaged; the first module decides the direction."""
    row = app.catalog.row(names[0]) if app.catalog is not None and names else None
    verb = EditVerb.UNMANAGE if row is not None and row.managed else EditVerb.MANAGE
    await edit_modules(app, verb, names)


async def run_label_command(app: FlowApp, words: Sequence[str]) -> None:
    """Run `label beta on|off`."""
    usage = f"label {'|'.join(LABELS)} on|off"
    if words and words[0] not in LABELS:
        app.problem(unknown_name("label", words[0], LABELS, usage))
    elif len(words) != 2 or words[1] not in ("on", "off"):
        app.problem(f"on or off missing; type `:{usage}`" if words else f"label missing; type `:{usage}`")
    else:
        await edit_labels(app, words[0], words[1] == "on")


# Links of a module in the browser; where there is none, as over SSH, on the clipboard.


async def open_link(app: FlowApp, name: str) -> None:
    """Open the documentation or the repository of a module; of several links, ask which."""
    row = app.catalog.row(name) if app.catalog is not None else None
    links = links_of(row) if row is not None else ()
    link = await _choose(app, name, links) if len(links) > 1 else next(iter(links), None)
    if not links:
        app.problem(f"the template of {name} names no documentation and no repository")
    elif link is not None:
        open_address(app, link.address)


def open_address(app: FlowApp, address: str) -> None:
    """Open an address in the browser beside the terminal; without one, copy it."""
    if has_browser():
        app.open_url(address)
        app.notify(f"opened {address}", timeout=3)
    else:
        copy_text(app, address, address, note="no browser here", seconds=6)


async def _choose(app: FlowApp, name: str, links: tuple[ModuleLink, ...]) -> ModuleLink | None:
    options = tuple(ChoiceOption(link.address, link.name, link.address) for link in links)
    question = Question("link", "Link", options, links[0].address)
    answer = await app.push_screen_wait(ChoiceScreen(f"Open a link of {name}", [question]))
    return next((link for link in links if answer is not None and link.address == answer["link"]), None)


def has_browser() -> bool:
    """Return whether a browser opens beside the terminal; one in the terminal would draw over the screen."""
    try:
        browser = webbrowser.get()
    except webbrowser.Error:  # the machine has no browser at all
        return False
    if isinstance(browser, webbrowser.UnixBrowser):
        return bool(browser.background)
    return not isinstance(browser, webbrowser.GenericBrowser) or isinstance(browser, webbrowser.BackgroundBrowser)
