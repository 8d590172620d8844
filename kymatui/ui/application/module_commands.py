"""Commands behind `:` that lead to a plan. No command writes before you accept the plan."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Final

from msgspec.structs import replace

from kymatui.actions.modules.install_plan import InstallRequest
from kymatui.actions.modules.module_sources import ModuleSource
from kymatui.domain.kyma.kymas import Policy
from kymatui.domain.kyma_edit.label_edit import LABELS
from kymatui.domain.kyma_edit.module_edit import EditVerb
from kymatui.errors import nearest_names
from kymatui.ui.flows import manifest
from kymatui.ui.flows.deletion import start_deletion
from kymatui.ui.flows.direct_install import adopt, install, start_install, upgrade, upgrade_all
from kymatui.ui.flows.flow_app import FlowApp, why_no_plan
from kymatui.ui.flows.kyma_edit import OWN, SAME, edit_modules
from kymatui.ui.flows.module_actions import Flow, open_action_menu, open_link, run_label_command
from kymatui.ui.flows.object_edit import KYMA, edit_object
from kymatui.ui.flows.pull import pull
from kymatui.ui.flows.restart import restart_managers, unpause
from kymatui.ui.flows.restore import run_restore_command
from kymatui.ui.flows.resume import resume_job
from kymatui.ui.navigation.command_table import ScreenCommand, unknown_name
from kymatui.ui.screens.module_action_screen import ModuleActionScreen

_HELP = {
    EditVerb.ENABLE: ("enable modules in the Kyma", "enable NAME… [CHANNEL]"),
    EditVerb.DISABLE: ("disable modules in the Kyma (uninstalls them)", "disable NAME…"),
    EditVerb.CHANNEL: ("move modules to another channel", "channel NAME… [CHANNEL]"),
    EditVerb.MANAGE: ("let lifecycle-manager manage modules", "manage NAME…"),
    EditVerb.UNMANAGE: ("keep modules installed, stop their updates", "unmanage NAME…"),
    EditVerb.POLICY: ("set who creates and deletes the default CR", f"policy NAME… [{'|'.join(Policy)}]"),
}


_READS: Final = "link"


def commands(app: FlowApp) -> Iterator[ScreenCommand]:
    """Yield the module commands; those that plan first say why no plan can be made."""
    for command in _commands(app):
        yield command if command.name == _READS else replace(command, run=partial(_plan, app, command))


def _plan(app: FlowApp, command: ScreenCommand, words: Sequence[str]) -> None:
    if why := why_no_plan(app):
        app.problem(f"`:{command.name}` is disabled: {why}")
    else:
        command.run(words)


def _commands(app: FlowApp) -> Iterator[ScreenCommand]:
    """Yield the module commands; without a name they apply to the modules that the screen is about."""
    for verb, (text, usage) in _HELP.items():
        names = partial(_names, app)
        yield ScreenCommand(usage, text, partial(_toggle, app, verb), arguments=names)
    yield ScreenCommand(
        f"label {'|'.join(LABELS)} on|off",
        "allow or forbid beta or internal modules in the Kyma",
        lambda words: app.jobs.run_flow(run_label_command(app, words)),
        arguments=lambda: [f"{name} {word}" for name in LABELS for word in ("on", "off")],
    )
    yield ScreenCommand(
        "install NAME…, install NAME CHART [NAMESPACE]",
        "install a module directly, or a chart as a release",
        partial(_install, app),
        arguments=partial(_names, app),
    )
    text = "install a module, or change its version, with a Manifest"
    yield _of_several(app, "manifest", text, manifest.start_manifest_job)
    yield _of_several(app, "pull", "pull ModuleTemplates of a catalog into the cluster", pull)
    yield _of_several(app, "adopt", "adopt modules that another tool installed", adopt)
    yield ScreenCommand(
        "upgrade NAME…|all",
        "upgrade modules that were installed directly",
        partial(_upgrade, app),
        arguments=lambda: [*_names(app), "all"],
    )
    yield _of_several(app, "delete", "delete modules step by step", start_deletion)
    yield ScreenCommand(
        f"edit NAME|{KYMA}",
        "edit the module CR of a module, or the Kyma, in $EDITOR",
        partial(_edit, app),
        arguments=lambda: [*_names(app), KYMA],
        writes=True,
    )
    yield _of_several(app, "restart", "restart the managers of modules", restart_managers)
    yield ScreenCommand(
        f"unpause NAME…|{KYMA}",
        "continue modules that are paused or scaled to zero, or the Kyma",
        partial(_unpause, app),
        arguments=lambda: [*_names(app), KYMA],
    )
    yield ScreenCommand(
        "restore [NAME|FILE]",
        "restore deleted objects from a backup",
        lambda words: app.jobs.run_flow(run_restore_command(app, words)),
        arguments=partial(_names, app),
    )
    yield ScreenCommand(
        "resume [JOB]",
        "resume an interrupted job",
        lambda words: app.jobs.run_flow(resume_job(app, words)),
        arguments=lambda: [
            name for record in app.jobs.interrupted for name in (*record.heading.modules, record.number)
        ],
    )
    yield ScreenCommand(
        "link [NAME]",
        "open the documentation or repository of a module",
        partial(_one, app, open_link, "link NAME"),
        arguments=partial(_names, app),
    )
    yield replace(_of_several(app, "act", "open the menu of actions on modules", open_action_menu), line="act")


def _names(app: FlowApp) -> list[str]:
    return [row.name for row in app.catalog.rows] if app.catalog is not None else []


def target_modules(app: FlowApp, words: Sequence[str]) -> list[str]:
    """Return the modules named on a command line, else those of the screen.

    Empty if a word is not the name of a module.
    """
    if words:
        known = set(_names(app))
        return list(dict.fromkeys(words)) if known.issuperset(words) else []
    return list(app.shown.targets) if isinstance(app.shown, ModuleActionScreen) else []


def _no_module(app: FlowApp, words: Sequence[str], usage: str) -> None:
    """Report the first word that is no module, else that the line and the screen name none."""
    known = _names(app)
    wrong = next((word for word in words if word not in known), "")
    app.problem(unknown_name("module", wrong, known, usage) if wrong else f"no module selected; type `:{usage}`")


def _toggle(app: FlowApp, verb: EditVerb, words: Sequence[str]) -> None:
    known = set(_names(app))
    last = words[-1] if len(words) > 1 and words[-1] not in known else ""
    names = target_modules(app, words[:-1] if last else words)
    if not names:
        _no_module(app, words[:-1] if last else words, _HELP[verb][1])
        return
    fields: dict[str, str] | None = None
    if misspelled := _misspelled_channel(app, verb, last):
        app.problem(misspelled)
        return
    if last and verb in (EditVerb.ENABLE, EditVerb.CHANNEL):
        fields = {"channel": OWN if last == "default" else last, "policy": SAME}
    elif last and verb is EditVerb.POLICY and last in set(Policy):
        fields = {"policy": last}
    elif last and verb is EditVerb.POLICY:
        app.problem(unknown_name("policy", last, Policy, _HELP[verb][1]))
        return
    elif last:
        _no_module(app, words, _HELP[verb][1])
        return
    app.jobs.run_flow(edit_modules(app, verb, names, fields))


def _misspelled_channel(app: FlowApp, verb: EditVerb, name: str) -> str:
    """Return that a name is no channel but spelled like one, or like a module; "" else, since the plan checks it."""
    if verb not in (EditVerb.ENABLE, EditVerb.CHANNEL) or app.catalog is None:
        return ""
    channels = dict.fromkeys(channel for row in app.catalog.rows for channel in row.channels)
    known = [*channels, "default", *_names(app)]
    if not name or name in known or not nearest_names(name, known):
        return ""
    return unknown_name("channel or module", name, known, _HELP[verb][1])


def _install(app: FlowApp, words: Sequence[str]) -> None:
    if len(words) in (2, 3) and not set(words[1:]) <= set(_names(app)):
        chart, namespace = words[1], words[2] if len(words) == 3 else ""
        app.jobs.run_flow(install(app, words[0], InstallRequest(words[0], ModuleSource(chart=chart), namespace)))
    elif names := target_modules(app, words):
        app.jobs.run_flow(start_install(app, names))
    else:
        _no_module(app, words, "install NAME…` or `:install NAME CHART [NAMESPACE]")


def _one(app: FlowApp, start: Callable[[FlowApp, str], Flow], usage: str, words: Sequence[str]) -> None:
    names = target_modules(app, words)
    if len(names) == 1:
        app.jobs.run_flow(start(app, names[0]))
    else:
        _no_module(app, words, usage)


def _of_several(app: FlowApp, name: str, text: str, start: Callable[[FlowApp, Sequence[str]], Flow]) -> ScreenCommand:
    usage = f"{name} NAME…"
    return ScreenCommand(usage, text, partial(_several, app, start, usage), arguments=partial(_names, app))


def _several(app: FlowApp, start: Callable[[FlowApp, Sequence[str]], Flow], usage: str, words: Sequence[str]) -> None:
    names = target_modules(app, words)
    if names:
        app.jobs.run_flow(start(app, names))
    else:
        _no_module(app, words, usage)


def _upgrade(app: FlowApp, words: Sequence[str]) -> None:
    if list(words) == ["all"]:
        app.jobs.run_flow(upgrade_all(app))
    elif names := list(dict.fromkeys(words)) or target_modules(
        app, words
    ):  # a chart's release is no module of the catalog
        app.jobs.run_flow(upgrade(app, names))
    else:
        _no_module(app, words, "upgrade NAME…|all")


def _unpause(app: FlowApp, words: Sequence[str]) -> None:
    if list(words) == [KYMA]:
        app.jobs.run_flow(unpause(app, ()))
    else:
        _several(app, unpause, f"unpause NAME…|{KYMA}", words)


def _edit(app: FlowApp, words: Sequence[str]) -> None:
    if list(words) == [KYMA]:
        app.jobs.run_flow(edit_object(app, ""))
    else:
        _one(app, edit_object, f"edit NAME|{KYMA}", words)
