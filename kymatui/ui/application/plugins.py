"""Commands of the user's own on the screen: where they run, what they are told, and how they are displayed."""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final

from textual.app import SuspendNotSupported
from textual.binding import Binding

from kymatui.adapters.files.plugin_process import PluginProcess, run_in_terminal
from kymatui.domain.kubernetes.refs import ObjectRef
from kymatui.domain.kubernetes.terminal_text import sanitize
from kymatui.errors import ConfigurationError
from kymatui.settings.config_file import PluginSettings
from kymatui.ui.dialogs.choice_dialog import ConfirmScreen
from kymatui.ui.dialogs.output_dialog import OutputScreen
from kymatui.ui.flows.flow_app import FleetFlowApp, FlowApp, selected_context
from kymatui.ui.navigation.command_table import ScreenCommand
from kymatui.ui.navigation.key_help import KeyScope, key_name
from kymatui.ui.screens.module_action_screen import ModuleActionScreen
from kymatui.ui.screens.object_screen import ObjectScreen

if TYPE_CHECKING:
    from kymatui.ui.base.framed_screen import FramedScreen

VARIABLES: Final = ("MODULE", "NAMESPACE", "CONTEXT", "KUBECONFIG", "RUNTIME", "KIND", "NAME")
_USED: Final = re.compile(rf"\$\{{?({'|'.join(VARIABLES)})\b")
_SCOPES: Final = {"modules": "catalog", "module": "module", "object": "tree", "fleet": "fleet"}


class Plugins:
    """The plugins of an application: their keys and commands, and why one does not run."""

    def __init__(self, app: FlowApp) -> None:
        self._app = app
        self._plugins = {plugin.name: plugin for plugin in app.settings.own_commands}

    def bindings(self) -> Iterator[Binding]:
        for plugin in self._plugins.values():
            if plugin.key:
                label = plugin.help or f"Run {plugin.name}"
                yield Binding(plugin.key, f"plugin('{plugin.name}')", label, show=False, id=f"plugin.{plugin.name}")

    def commands(self) -> Iterator[ScreenCommand]:
        for plugin in self._plugins.values():
            yield ScreenCommand(plugin.name, plugin.help or plugin.command, partial(self._start, plugin.name))

    def problems(self, scopes: Iterable[KeyScope]) -> Iterator[str]:
        """Yield why a plugin does not run by its key or name: kymatui's own ones come first."""
        keymap, keys = self._app.settings.keys, dict[str, str]()
        for name, default in ((name, default) for scope in scopes for name, default in scope.items()):
            for key in keymap[name].split(",") if name in keymap else default:
                keys.setdefault(key.strip(), name)
        commands = Counter(name for command in self._app.commands() for name in (command.name, *command.aliases))
        for name, plugin in self._plugins.items():
            if plugin.key in keys:
                yield f"plugins.{name}: {key_name(plugin.key)} is the key of {keys[plugin.key]}; choose another one"
            if commands[name] > 1:
                yield f"plugins.{name}: `:{name}` is a command of kymatui; rename the plugin"

    def _start(self, name: str, words: Sequence[str]) -> None:
        del words
        self.start(name)

    def start(self, name: str) -> None:
        """Run a plugin for what the cursor is on, or report why it does not run."""
        app = self._app
        if why := self.why_off(name):
            app.problem(sanitize(f"{name} is disabled: {why}"))
        else:
            app.jobs.run_flow(_run(app, self._plugins[name], _variables(app)))

    def why_off(self, name: str) -> str:
        """Return why a plugin does not run here; "" where it does."""
        app, plugin, variables = self._app, self._plugins[name], _variables(self._app)
        if app.is_audit or (_is_read_only(app) and not plugin.reads_only):
            return app.why_read_only or "this context is read-only"
        if not set(plugin.scope) & _scopes(app.shown):
            return f"only on: {', '.join(plugin.scope)}"
        missing = [used for used in dict.fromkeys(_USED.findall(plugin.command)) if not variables[used]]
        return f"{', '.join(f'${used}' for used in missing)} unknown here" if missing else ""


def _is_read_only(app: FlowApp) -> bool:
    """Return whether kymatui writes nothing here; of several contexts, the one under the cursor decides."""
    if app.read_only or not isinstance(app, FleetFlowApp) or not app.has_contexts:
        return app.read_only
    entry = app.fleet.picture.clusters.get(("", selected_context(app))) if app.fleet is not None else None
    return entry is not None and entry.read_only


def _scopes(screen: FramedScreen | None) -> set[str]:
    scopes = {_SCOPES.get(screen.step.kind, "")} if screen is not None else set()
    return scopes | {"tree"} if screen is not None and screen.step.tab == "resources" else scopes


def _variables(app: FlowApp) -> dict[str, str]:
    """Return what a plugin is told, "" for what the screen or the line does not have.

    No context leads to the runtime of a control plane, whose kubeconfig is in a Secret.
    """
    screen, target = app.shown, app.view.target
    table = screen.filter_line.table if screen is not None else None
    ref, module, runtime = _object(screen), "", ""
    context = target.context if target is not None and not target.has_control_plane else ""
    if isinstance(screen, ModuleActionScreen) and screen.targets:
        module = screen.targets[0]
    if isinstance(app, FleetFlowApp):
        if app.has_contexts:
            context = selected_context(app)
        elif app.runtime_key is not None:
            runtime = "/".join(app.runtime_key)
        elif screen is not None and screen.step.kind == "fleet":
            runtime = table.cursor_key or "" if table is not None else ""
    row = app.catalog.row(module) if module and app.catalog is not None else None
    place = ref or (row.manager or (row.checked[0].resource if row.checked else None) if row is not None else None)
    default = os.environ.get("KUBECONFIG") or str(Path.home() / ".kube" / "config")
    return {
        "MODULE": module,
        "NAMESPACE": place.namespace if place is not None else "",
        "CONTEXT": context,
        "KUBECONFIG": (app.contexts.kubeconfig or default) if context else "",
        "RUNTIME": runtime,
        "KIND": ref.kind.kind if ref is not None else "",
        "NAME": ref.name if ref is not None else "",
    }


def _object(screen: FramedScreen | None) -> ObjectRef | None:
    if isinstance(screen, ObjectScreen):
        return screen.ref
    pane = screen.pane if isinstance(screen, ModuleActionScreen) else None
    return pane.entry() if pane is not None else None


async def _run(app: FlowApp, plugin: PluginSettings, variables: Mapping[str, str]) -> None:
    values = "  ".join(f"{name}={variables[name]}" for name in dict.fromkeys(_USED.findall(plugin.command)))
    targets = [app.flow_target] if app.flow_target is not None else []
    question = ConfirmScreen(f"Run {plugin.name}?", f"{plugin.command}\n{values}", targets=targets)
    if plugin.confirm and not await app.push_screen_wait(question):
        return
    own = {name: value.replace("\0", "") for name, value in variables.items() if value}
    environment = {**{name: value for name, value in os.environ.items() if name not in VARIABLES}, **own}
    if plugin.output == "pane":
        process = await app.jobs.in_thread(partial(PluginProcess, plugin.command, environment))
        await app.push_screen_wait(OutputScreen(f"{plugin.name}: {plugin.command}", process))
        return
    try:
        with app.suspend():
            status = run_in_terminal(plugin.command, environment)
    except SuspendNotSupported:
        raise ConfigurationError("this terminal cannot run another program", hint='set output = "pane"') from None
    if status:
        app.problem(f"{plugin.name} ended with status {status}")
