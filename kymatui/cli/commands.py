"""The table of commands: name, one line of help, and the module that has the rest.

A command's module has `configure(parser)`, which adds its arguments, and `run(args) -> int`, which returns the exit
status. Only the module of the command that was typed is imported, so that `kymatui --version` and the first paint of
the screen do not pay for the others.
"""

from __future__ import annotations

import argparse
import importlib
from typing import NamedTuple, Protocol, cast


class CommandModule(Protocol):
    """What a module under `kymatui.cli` offers, or an object in one."""

    def configure(self, parser: argparse.ArgumentParser) -> None: ...

    def run(self, args: argparse.Namespace) -> int: ...


class Command(NamedTuple):
    """One word after `kymatui`; `module` is a module's name, or `module:object` where one module has several."""

    name: str
    help: str
    module: str

    def load(self) -> CommandModule:
        name, _, attribute = self.module.partition(":")
        found = importlib.import_module(name)
        return cast(CommandModule, getattr(found, attribute) if attribute else found)


COMMANDS: tuple[Command, ...] = (
    Command("catalog", "print the modules of the catalog with channel, version and state", "kymatui.cli.catalog"),
    Command("module", "print everything that is known of one module", "kymatui.cli.module"),
    Command("checks", "print how a module's state comes about, rule by rule", "kymatui.cli.checks"),
    Command("events", "print the events of a module's objects and Pods, the newest first", "kymatui.cli.events"),
    Command("drift", "print the modules that are not at the version they should be", "kymatui.cli.drift"),
    Command("fleet", "print the runtimes of a control plane", "kymatui.cli.fleet:FLEET"),
    Command("matrix", "count the versions of modules over all runtimes", "kymatui.cli.fleet:MATRIX"),
    Command("compare", "compare a control plane and one of its runtimes", "kymatui.cli.comparing"),
    Command("sync", "explain which of the catalog a runtime gets, and why; nothing is written", "kymatui.cli.syncing"),
    Command("windows", "print maintenance windows, and the upgrades that wait for them", "kymatui.cli.windows"),
    Command("watchers", "check the way from a runtime's changes to the control plane", "kymatui.cli.watchers"),
    Command("audit", "report what is wrong, by rules, and change nothing", "kymatui.cli.audit"),
    Command("enable", "ask the Kyma for a module", "kymatui.cli.toggling:ENABLE"),
    Command("disable", "take a module out of the Kyma, which uninstalls it", "kymatui.cli.toggling:DISABLE"),
    Command("channel", "move a module to another channel", "kymatui.cli.toggling:CHANNEL"),
    Command("manage", "let lifecycle-manager take charge of a module", "kymatui.cli.toggling:MANAGE"),
    Command("unmanage", "make lifecycle-manager let go of a module", "kymatui.cli.toggling:UNMANAGE"),
    Command("policy", "say what becomes of a module's default resource", "kymatui.cli.toggling:POLICY"),
    Command("label", "allow beta or internal modules to the Kyma, or no longer", "kymatui.cli.labelling"),
    Command("install", "install a module directly: shown first, then applied", "kymatui.cli.direct.installing:INSTALL"),
    Command("upgrade", "upgrade what was installed directly", "kymatui.cli.direct.installing:UPGRADE"),
    Command("plan", "plan an installation, and keep the plan", "kymatui.cli.direct.installing:PLAN"),
    Command("apply", "carry out a plan that was kept", "kymatui.cli.direct.installing:APPLY"),
    Command("check", "compare what is installed with its source", "kymatui.cli.direct.installing:CHECK"),
    Command("adopt", "take over what somebody else installed", "kymatui.cli.direct.adopting:ADOPT"),
    Command("manifest", "install or move a module by a Manifest", "kymatui.cli.direct.manifesting:MANIFEST"),
    Command("delete", "take a module away, guided", "kymatui.cli.direct.deleting:DELETE"),
    Command("finalizers", "tell what holds a deletion up; let go of one", "kymatui.cli.direct.finalizers:FINALIZERS"),
    Command("restore", "create again what a deletion kept", "kymatui.cli.direct.restoring:RESTORE"),
    Command("reconcile", "install what one Manifest asks for, once", "kymatui.cli.operating:RECONCILE"),
    Command("operator", "keep what all Manifests ask for installed, until stopped", "kymatui.cli.operating:OPERATOR"),
    Command("demo", "open the screen on an embedded cluster that needs nothing but Python", "kymatui.cli.demo"),
    Command("completion", "print the script with which a shell completes commands and names", "kymatui.cli.completion"),
    Command("config", "show, check and locate the configuration file", "kymatui.cli.config"),
    Command("sandbox", "serve the embedded cluster and registry for other tools", "kymatui.cli.sandbox"),
    Command("helm", "render, lint, show and pull Helm charts without a helm binary", "kymatui.cli.helm"),
)


def by_name(name: str) -> Command | None:
    return next((command for command in COMMANDS if command.name == name), None)
