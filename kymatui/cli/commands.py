"""The table of commands: name, one line of help, the module that has the rest, and whether it writes.

A command's module has `configure(parser)`, which adds its arguments, and `run(args) -> int`, which returns the exit
status. Only the module of the command that was typed is imported, so that `kymatui --version` and the first paint of
the screen do not pay for the others.
"""

from __future__ import annotations

import argparse
import importlib
from collections.abc import Callable
from typing import NamedTuple, Protocol, cast


class CommandModule(Protocol):
    """What a module under `kymatui.cli` offers, or an object in one."""

    def configure(self, parser: argparse.ArgumentParser) -> None: ...

    def run(self, args: argparse.Namespace) -> int: ...


def reads(args: argparse.Namespace) -> bool:
    return False


def writes(args: argparse.Namespace) -> bool:
    return not getattr(args, "dry_run", False)


def _restores(args: argparse.Namespace) -> bool:
    return bool(args.file) and writes(args)  # without a file it lists the backups of this machine


def _removes(args: argparse.Namespace) -> bool:
    return bool(args.remove)


def _misbehaves(args: argparse.Namespace) -> bool:
    return bool(args.action == "situation" or (args.action == "fault" and args.fault != "list"))


class Command(NamedTuple):
    """One word after `kymatui`; `module` is a module's name, or `module:object` where one module has several.

    `writes` says whether a command line would write to a cluster; read-only mode asks it before the command runs.
    """

    name: str
    help: str
    module: str
    writes: Callable[[argparse.Namespace], bool]

    def load(self) -> CommandModule:
        name, _, attribute = self.module.partition(":")
        found = importlib.import_module(name)
        return cast(CommandModule, getattr(found, attribute) if attribute else found)


COMMANDS: tuple[Command, ...] = (
    Command(
        "catalog", "print the modules of the catalog with channel, version and state", "kymatui.cli.catalog", reads
    ),
    Command("module", "print everything that is known of one module", "kymatui.cli.module", reads),
    Command("checks", "print how a module's state comes about, rule by rule", "kymatui.cli.checks", reads),
    Command("events", "print the events of a module's objects and Pods, the newest first", "kymatui.cli.events", reads),
    Command("drift", "print the modules that are not at the version they should be", "kymatui.cli.drift", reads),
    Command("fleet", "print the runtimes of a control plane", "kymatui.cli.fleet:FLEET", reads),
    Command("matrix", "count the versions of modules over all runtimes", "kymatui.cli.fleet:MATRIX", reads),
    Command("compare", "compare a control plane and one of its runtimes", "kymatui.cli.comparing", reads),
    Command(
        "sync", "explain which of the catalog a runtime gets, and why; nothing is written", "kymatui.cli.syncing", reads
    ),
    Command("windows", "print maintenance windows, and the upgrades that wait for them", "kymatui.cli.windows", reads),
    Command("watchers", "check the way from a runtime's changes to the control plane", "kymatui.cli.watchers", reads),
    Command("audit", "report what is wrong, by rules, and change nothing", "kymatui.cli.audit", reads),
    Command("enable", "ask the Kyma for a module", "kymatui.cli.toggling:ENABLE", writes),
    Command("disable", "take a module out of the Kyma, which uninstalls it", "kymatui.cli.toggling:DISABLE", writes),
    Command("channel", "move a module to another channel", "kymatui.cli.toggling:CHANNEL", writes),
    Command("manage", "let lifecycle-manager take charge of a module", "kymatui.cli.toggling:MANAGE", writes),
    Command("unmanage", "make lifecycle-manager let go of a module", "kymatui.cli.toggling:UNMANAGE", writes),
    Command("policy", "say what becomes of a module's default resource", "kymatui.cli.toggling:POLICY", writes),
    Command("label", "allow beta or internal modules to the Kyma, or no longer", "kymatui.cli.labelling", writes),
    Command(
        "install",
        "install a module directly: shown first, then applied",
        "kymatui.cli.direct.installing:INSTALL",
        writes,
    ),
    Command("upgrade", "upgrade what was installed directly", "kymatui.cli.direct.installing:UPGRADE", writes),
    Command("plan", "plan an installation, and keep the plan", "kymatui.cli.direct.installing:PLAN", reads),
    Command("apply", "carry out a plan that was kept", "kymatui.cli.direct.installing:APPLY", writes),
    Command("check", "compare what is installed with its source", "kymatui.cli.direct.installing:CHECK", reads),
    Command("adopt", "take over what somebody else installed", "kymatui.cli.direct.adopting:ADOPT", writes),
    Command("manifest", "install or move a module by a Manifest", "kymatui.cli.direct.manifesting:MANIFEST", writes),
    Command("delete", "take a module away, guided", "kymatui.cli.direct.deleting:DELETE", writes),
    Command(
        "finalizers",
        "tell what holds a deletion up; let go of one",
        "kymatui.cli.direct.finalizers:FINALIZERS",
        _removes,
    ),
    Command("restore", "create again what a deletion kept", "kymatui.cli.direct.restoring:RESTORE", _restores),
    Command("reconcile", "install what one Manifest asks for, once", "kymatui.cli.operating:RECONCILE", writes),
    Command(
        "operator", "keep what all Manifests ask for installed, until stopped", "kymatui.cli.operating:OPERATOR", writes
    ),
    Command("demo", "open the screen on an embedded cluster that needs nothing but Python", "kymatui.cli.demo", reads),
    Command(
        "completion",
        "print the script with which a shell completes commands and names",
        "kymatui.cli.completion",
        reads,
    ),
    Command("config", "show, check and locate the configuration file", "kymatui.cli.config", reads),
    Command("sandbox", "serve the embedded cluster and registry for other tools", "kymatui.cli.sandbox", _misbehaves),
    Command("helm", "render, lint, show and pull Helm charts without a helm binary", "kymatui.cli.helm", reads),
)


def by_name(name: str) -> Command | None:
    return next((command for command in COMMANDS if command.name == name), None)
