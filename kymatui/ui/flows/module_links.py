"""Links of a module in the browser; where there is none, as over SSH, on the clipboard."""

from __future__ import annotations

import webbrowser
from typing import TYPE_CHECKING

from kymatui.domain.kyma.module_links import ModuleLink
from kymatui.ui.dialogs.choice_dialog import ChoiceScreen
from kymatui.ui.presenters.module.module_facts import links_of
from kymatui.ui.viewmodels.questions import ChoiceOption, Question

if TYPE_CHECKING:
    from kymatui.ui.flows.flow_app import FlowApp


async def open_link(app: FlowApp, name: str) -> None:
    """Open the documentation or the repository of a module; of several links, ask which."""
    row = app.catalog.row(name) if app.catalog is not None else None
    links = links_of(row, app.view.locations) if row is not None else ()
    link = await _choose(app, name, links) if len(links) > 1 else next(iter(links), None)
    if not links:
        app.problem(f"the template of {name} names no documentation and no repository")
    elif link is not None and has_browser():
        app.open_url(link.address)
        app.notify(f"opened {link.address}", timeout=3)
    elif link is not None:
        app.copy_to_clipboard(link.address)
        app.notify(f"no browser here; copied {link.address}", timeout=6)


async def _choose(app: FlowApp, name: str, links: tuple[ModuleLink, ...]) -> ModuleLink | None:
    options = tuple(ChoiceOption(link.address, link.name, link.address) for link in links)
    question = Question("link", "Link", options, links[0].address)
    answer = await app.push_screen_wait(ChoiceScreen(f"Open a link of {name}", [question]))
    return next((link for link in links if answer is not None and link.address == answer["link"]), None)


def has_browser() -> bool:
    """Return whether a browser opens beside the terminal; one in the terminal would draw over the screen."""
    try:
        found = webbrowser.get()
    except webbrowser.Error:  # the machine has no browser at all
        return False
    if isinstance(found, webbrowser.UnixBrowser):
        return bool(found.background)
    return not isinstance(found, webbrowser.GenericBrowser) or isinstance(found, webbrowser.BackgroundBrowser)
