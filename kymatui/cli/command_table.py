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


class CommandEntry(NamedTuple):
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


COMMANDS: tuple[CommandEntry, ...] = (
    CommandEntry(
        "catalog",
        "print the modules of the catalog with channel, version and state",
        "kymatui.cli.commands.inspect.catalog",
        reads,
    ),
    CommandEntry(
        "module", "print everything that is known of one module", "kymatui.cli.commands.inspect.module", reads
    ),
    CommandEntry(
        "checks", "print how a module's state comes about, rule by rule", "kymatui.cli.commands.inspect.checks", reads
    ),
    CommandEntry(
        "events",
        "print the events of a module's objects and Pods, the newest first",
        "kymatui.cli.commands.inspect.events",
        reads,
    ),
    CommandEntry(
        "drift",
        "print the modules that are not at the version they should be",
        "kymatui.cli.commands.inspect.drift",
        reads,
    ),
    CommandEntry("fleet", "print the runtimes of a control plane", "kymatui.cli.commands.fleet.fleet:FLEET", reads),
    CommandEntry(
        "matrix", "count the versions of modules over all runtimes", "kymatui.cli.commands.fleet.fleet:MATRIX", reads
    ),
    CommandEntry(
        "compare", "compare a control plane and one of its runtimes", "kymatui.cli.commands.fleet.compare", reads
    ),
    CommandEntry(
        "sync",
        "explain which of the catalog a runtime gets, and why; nothing is written",
        "kymatui.cli.commands.fleet.sync",
        reads,
    ),
    CommandEntry(
        "windows",
        "print maintenance windows, and the upgrades that wait for them",
        "kymatui.cli.commands.fleet.windows",
        reads,
    ),
    CommandEntry(
        "watchers",
        "check the way from a runtime's changes to the control plane",
        "kymatui.cli.commands.fleet.watchers",
        reads,
    ),
    CommandEntry(
        "audit", "report what is wrong, by rules, and change nothing", "kymatui.cli.commands.inspect.audit", reads
    ),
    CommandEntry("enable", "ask the Kyma for a module", "kymatui.cli.commands.modules.kyma_edit:ENABLE", writes),
    CommandEntry(
        "disable",
        "take a module out of the Kyma, which uninstalls it",
        "kymatui.cli.commands.modules.kyma_edit:DISABLE",
        writes,
    ),
    CommandEntry(
        "channel", "move a module to another channel", "kymatui.cli.commands.modules.kyma_edit:CHANNEL", writes
    ),
    CommandEntry(
        "manage",
        "let lifecycle-manager take charge of a module",
        "kymatui.cli.commands.modules.kyma_edit:MANAGE",
        writes,
    ),
    CommandEntry(
        "unmanage",
        "make lifecycle-manager let go of a module",
        "kymatui.cli.commands.modules.kyma_edit:UNMANAGE",
        writes,
    ),
    CommandEntry(
        "policy",
        "say what becomes of a module's default resource",
        "kymatui.cli.commands.modules.kyma_edit:POLICY",
        writes,
    ),
    CommandEntry(
        "label",
        "allow beta or internal modules to the Kyma, or no longer",
        "kymatui.cli.commands.modules.label",
        writes,
    ),
    CommandEntry(
        "install",
        "install a module directly: shown first, then applied",
        "kymatui.cli.commands.modules.install:INSTALL",
        writes,
    ),
    CommandEntry(
        "upgrade", "upgrade what was installed directly", "kymatui.cli.commands.modules.install:UPGRADE", writes
    ),
    CommandEntry("plan", "plan an installation, and keep the plan", "kymatui.cli.commands.modules.install:PLAN", reads),
    CommandEntry("apply", "carry out a plan that was kept", "kymatui.cli.commands.modules.install:APPLY", writes),
    CommandEntry(
        "check", "compare what is installed with its source", "kymatui.cli.commands.modules.install:CHECK", reads
    ),
    CommandEntry("adopt", "take over what somebody else installed", "kymatui.cli.commands.modules.adopt:ADOPT", writes),
    CommandEntry(
        "manifest", "install or move a module by a Manifest", "kymatui.cli.commands.modules.manifest:MANIFEST", writes
    ),
    CommandEntry("delete", "take a module away, guided", "kymatui.cli.commands.modules.delete:DELETE", writes),
    CommandEntry(
        "finalizers",
        "tell what holds a deletion up; let go of one",
        "kymatui.cli.commands.modules.finalizers:FINALIZERS",
        _removes,
    ),
    CommandEntry(
        "restore", "create again what a deletion kept", "kymatui.cli.commands.modules.restore:RESTORE", _restores
    ),
    CommandEntry(
        "reconcile",
        "install what one Manifest asks for, once",
        "kymatui.cli.commands.program.operator:RECONCILE",
        writes,
    ),
    CommandEntry(
        "operator",
        "keep what all Manifests ask for installed, until stopped",
        "kymatui.cli.commands.program.operator:OPERATOR",
        writes,
    ),
    CommandEntry(
        "demo",
        "open the screen on an embedded cluster that needs nothing but Python",
        "kymatui.cli.commands.program.demo",
        reads,
    ),
    CommandEntry(
        "completion",
        "print the script with which a shell completes commands and names",
        "kymatui.cli.commands.program.completion",
        reads,
    ),
    CommandEntry(
        "config", "show, check and locate the configuration file", "kymatui.cli.commands.program.config", reads
    ),
    CommandEntry(
        "sandbox",
        "serve the embedded cluster and registry for other tools",
        "kymatui.cli.commands.program.sandbox",
        _misbehaves,
    ),
    CommandEntry(
        "helm", "render, lint, show and pull Helm charts without a helm binary", "kymatui.cli.commands.helm", reads
    ),
)


def by_name(name: str) -> CommandEntry | None:
    return next((command for command in COMMANDS if command.name == name), None)
