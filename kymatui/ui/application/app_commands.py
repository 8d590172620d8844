"""Commands that work on every screen."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial

from kymatui.actions.components.component_facts import registry_location
from kymatui.domain.catalog.glossary import glossary_words
from kymatui.domain.kubernetes.terminal_text import sanitize
from kymatui.errors import KymatuiError
from kymatui.ui.application.copy_commands import commands as copying
from kymatui.ui.application.module_commands import commands as acting
from kymatui.ui.application.module_commands import target_modules
from kymatui.ui.flows.context_switch import ALL_NAMESPACES, PREVIOUS
from kymatui.ui.flows.context_switch import USAGE as CONTEXT_USAGE
from kymatui.ui.flows.flow_app import FlowApp, switch_view
from kymatui.ui.navigation.command_table import ScreenCommand, unknown_name
from kymatui.ui.navigation.history import COMPONENT, CONTEXTS, LOGS, OtherView, ScreenStep, ViewKind
from kymatui.ui.terminal.file_saving import save_file
from kymatui.ui.terminal.themes import THEMES
from kymatui.ui.viewmodels.sorting import SortOrder

TABS = ("overview", "resources", "checks", "versions", "events", "yaml", "history")


def commands(app: FlowApp) -> tuple[ScreenCommand, ...]:
    """Return the commands in the order in which the help displays them."""
    own = app.plugins.commands() if app.plugins is not None else ()
    return (*_places(app), *acting(app), *_table(app), *_program(app), *own)


def _places(app: FlowApp) -> Iterator[ScreenCommand]:
    yield ScreenCommand(
        "modules", "open the catalog", lambda _: app.ways.climb_to_catalog(), aliases=("mod", "catalog")
    )
    yield ScreenCommand(
        f"module NAME [{'|'.join(TABS)}]",
        "open a module, or one of its tabs",
        lambda words: _module(app, words),
        aliases=("m",),
        arguments=lambda: [line for name in _modules(app) for line in (name, *(f"{name} {tab}" for tab in TABS))],
    )
    yield ScreenCommand(
        "tree NAME",
        "show the resources of a module as a tree",
        lambda words: _module(app, [*words[:1], "resources"]),
        aliases=("xray",),
        arguments=lambda: _modules(app),
    )
    yield ScreenCommand(
        "logs NAME",
        "read the logs of a module's manager and Pods",
        lambda words: _logs(app, words),
        arguments=lambda: _modules(app),
    )
    yield ScreenCommand(
        "component HOST[:PORT][/PATH]//COMPONENT:VERSION",
        "show a component in a registry: resources, signatures, templates",
        lambda words: _component(app, words),
    )
    for kind, text, alias in (
        ("channels", "compare the channels", "matrix"),
        ("problems", "list all problems", "errors"),
        ("changes", "list the changes, also those that the cluster recorded before", "history"),
        ("jobs", "list running and finished jobs", "job"),
    ):
        yield ScreenCommand(kind, text, partial(_place, app, kind), aliases=(alias,))
    yield ScreenCommand(
        "glossary [WORD]",
        "explain the words of the tables: states, drift, who acts",
        lambda words: app.ways.open(ScreenStep("glossary", " ".join(words))),
        arguments=glossary_words,
    )
    yield ScreenCommand(
        CONTEXT_USAGE,
        "list the contexts of the kubeconfig, or switch to one; - switches back",
        lambda words: _context(app, words),
        aliases=("context", "contexts"),
        arguments=lambda: (*app.contexts.names, PREVIOUS),
    )
    yield ScreenCommand(
        f"ns [NAMESPACE|{ALL_NAMESPACES}]",
        "limit lists to one namespace, as --namespace does; all removes the limit; plans cover every namespace",
        lambda words: app.jobs.run_flow(app.contexts.narrow(words[0] if words else "")),
        aliases=("namespace",),
        arguments=lambda: (*app.contexts.namespaces, ALL_NAMESPACES),
    )
    yield ScreenCommand(
        "fleet [contexts|runtimes]",
        "list the clusters of all contexts, or the runtimes of this control plane",
        lambda words: _fleet(app, words),
        arguments=lambda: (ViewKind.CONTEXTS.value, ViewKind.RUNTIMES.value),
    )
    yield ScreenCommand("back", "return to the previous view", lambda _: app.ways.back())
    yield ScreenCommand("forward", "move forward in history", lambda _: app.ways.forward())


def _context(app: FlowApp, words: Sequence[str]) -> None:
    if words:
        app.jobs.run_flow(app.contexts.switch(words[0]))
    else:
        app.ways.open(ScreenStep(CONTEXTS))


def _fleet(app: FlowApp, words: Sequence[str]) -> None:
    """Switch to a fleet: of a control plane's runtimes where the catalog is one's, else of all contexts."""
    is_control_plane = app.catalog is not None and bool(app.catalog.unnamed_kymas)
    kind = words[0] if words else (ViewKind.RUNTIMES if is_control_plane else ViewKind.CONTEXTS).value
    if kind == ViewKind.RUNTIMES:
        switch_view(app, OtherView(ViewKind.RUNTIMES, app.contexts.here))
    elif kind == ViewKind.CONTEXTS:
        switch_view(app, OtherView(ViewKind.CONTEXTS))
    else:
        app.problem(unknown_name("fleet", kind, tuple(ViewKind)[1:], "fleet [contexts|runtimes]"))


def _place(app: FlowApp, kind: str, words: Sequence[str]) -> None:
    del words
    if why := app.ways.why_no_list(kind):
        app.problem(why)
    else:
        app.ways.open(app.ways.step_here(kind))


def _modules(app: FlowApp) -> Sequence[str]:
    return [row.name for row in app.catalog.rows] if app.catalog is not None else ()


def _module(app: FlowApp, words: Sequence[str]) -> None:
    names = _modules(app)
    tab = words[1] if len(words) > 1 else TABS[0]
    if not words or words[0] not in names:
        app.problem(unknown_name("module", words[0] if words else "", names, f"module NAME [{'|'.join(TABS)}]"))
    elif tab not in TABS:
        app.problem(unknown_name("tab", tab, TABS, f"module NAME [{'|'.join(TABS)}]"))
    else:
        app.ways.open(ScreenStep("module", words[0], tab))


def _component(app: FlowApp, words: Sequence[str]) -> None:
    reference = words[0] if words else ""
    try:
        registry_location(reference)
    except KymatuiError as error:
        app.problem(f"{error}; type `:component HOST//COMPONENT:VERSION`")
    else:
        app.ways.open(ScreenStep(COMPONENT, reference))


def _logs(app: FlowApp, words: Sequence[str]) -> None:
    names = target_modules(app, words)
    if len(names) == 1:
        app.ways.open(ScreenStep(LOGS, names[0]))
    else:
        app.problem(unknown_name("module", words[0] if words else "", _modules(app), "logs NAME"))


def _table(app: FlowApp) -> Iterator[ScreenCommand]:
    table = app.shown.filter_line.table if app.shown is not None else None
    yield from copying(app)
    if app.shown is not None:
        yield ScreenCommand(
            f"save FILE.{'|'.join(app.shown.exports())}", "save this view to a file", lambda words: _save(app, words)
        )
    if table is None:
        return
    yield ScreenCommand("filter", "filter the lines", lambda words: _filter(app, " ".join(words)))
    yield ScreenCommand(
        "filters [NAME|save NAME|delete NAME]",
        "apply a saved filter; save the current one under a name, or delete one",
        lambda words: _filters(app, words),
        arguments=lambda: (*app.favourites.filters, "save", *(f"delete {name}" for name in app.favourites.filters)),
    )
    if table.order is not None:
        columns = tuple(column.id for column in table.grid.columns)
        yield ScreenCommand(
            "sort COLUMN[:desc]",
            "sort the lines by a column",
            lambda words: _sort(app, words),
            arguments=lambda: tuple(f"{column}{direction}" for column in columns for direction in ("", ":desc")),
        )


def _save(app: FlowApp, words: Sequence[str]) -> None:
    assert app.shown is not None
    try:
        path = save_file(" ".join(words), app.shown.exports())
    except ValueError as error:
        app.problem(str(error))
    else:
        app.notify(f"saved {path}")


def _filter(app: FlowApp, text: str) -> None:
    problem = app.shown.filter_line.set(text) if app.shown is not None else ""
    if problem:
        app.problem(problem)


def _filters(app: FlowApp, words: Sequence[str]) -> None:
    """Apply, save, delete or list the filters that are saved under names."""
    saved, usage = app.favourites.filters, "filters [NAME|save NAME|delete NAME]"
    text = app.shown.filter_line.text if app.shown is not None else ""
    name = " ".join(words[1:])
    if not words:
        known = "; ".join(f"{key}: /{value}" for key, value in saved.items())
        app.notify(sanitize(known) or "no saved filters; `:filters save NAME` saves the current one")
    elif words[0] == "save" and name and text:
        app.jobs.run_beside(app.favourites.save_filter(name, text))
        app.notify(sanitize(f"/{text} saved as {name}; `:filters {name}` applies it"))
    elif words[0] == "save":
        app.problem("filter the list first (/)" if name else "name missing; type `:filters save NAME`")
    elif words[0] == "delete" and name in saved:
        app.jobs.run_beside(app.favourites.save_filter(name, ""))
    elif " ".join(words) in saved:
        _filter(app, saved[" ".join(words)])
    else:
        app.problem(unknown_name("saved filter", name or words[0], saved, usage))


def _sort(app: FlowApp, words: Sequence[str]) -> None:
    table = app.shown.filter_line.table if app.shown is not None else None
    column, _, direction = (words[0] if words else "").partition(":")
    known = [entry.id for entry in table.grid.columns] if table is not None else []
    if column in known and direction not in ("", "asc", "desc"):
        app.problem(unknown_name("order", direction, ("asc", "desc"), "sort COLUMN[:desc]"))
    elif table is None or column not in known:
        app.problem(unknown_name("column", column, known, "sort COLUMN[:desc]"))
    else:
        table.set_order(SortOrder(column, descending=direction == "desc"))


def _quit(app: FlowApp, words: Sequence[str]) -> None:
    del words
    app.call_later(app.action_quit)


def _program(app: FlowApp) -> Iterator[ScreenCommand]:
    names = tuple(theme.name.removeprefix("kymatui-") for theme in THEMES)
    yield ScreenCommand("theme NAME", "change the colours", lambda words: _theme(app, words), arguments=lambda: names)
    yield ScreenCommand("refresh", "read the cluster and the kubeconfig again", lambda _: app.action_reconnect())
    yield ScreenCommand("help", "list all keys and commands", lambda _: _help(app))
    yield ScreenCommand("quit", "quit kymatui", partial(_quit, app), aliases=("q", "q!"))


def _theme(app: FlowApp, words: Sequence[str]) -> None:
    names = [theme.name.removeprefix("kymatui-") for theme in THEMES]
    name = words[0] if words else ""
    if name in names:
        app.theme = f"kymatui-{name}"
    else:
        app.problem(unknown_name("theme", name, names, "theme NAME"))


def _help(app: FlowApp) -> None:
    if app.shown is not None:
        app.shown.action_help()
