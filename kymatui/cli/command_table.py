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


def _resumes(args: argparse.Namespace) -> bool:
    return not args.list and writes(args)


def _removes(args: argparse.Namespace) -> bool:
    return bool(args.remove)


def _operates(args: argparse.Namespace) -> bool:
    if args.action in ("install", "upgrade", "uninstall"):
        return writes(args)
    return args.action in (None, "run")  # the others print


def _misbehaves(args: argparse.Namespace) -> bool:
    return bool(args.action == "situation" or (args.action == "fault" and args.fault != "list"))


def _publishes(args: argparse.Namespace) -> bool:
    """Return whether a registry is written to; `create` without one only writes files."""
    return args.action in ("add", "copy", "dev", "push", "sign") or bool(args.action == "create" and args.registry)


class CommandEntry(NamedTuple):
    """One word after `kymatui`; `module` is a module's name, or `module:object` where one module has several.

    `writes` says whether a command line would write to a cluster or a registry; read-only mode asks it before the
    command runs.
    """

    name: str
    help: str
    module: str
    writes: Callable[[argparse.Namespace], bool]
    aliases: tuple[str, ...] = ()

    def load(self) -> CommandModule:
        name, _, attribute = self.module.partition(":")
        import_module = importlib.import_module(name)
        return cast(CommandModule, getattr(import_module, attribute) if attribute else import_module)


COMMANDS: tuple[CommandEntry, ...] = (
    CommandEntry(
        "catalog",
        "list modules with channel, versions, drift and state",
        "kymatui.cli.commands.inspect.catalog",
        reads,
        ("list", "status"),
    ),
    CommandEntry("module", "print everything known about a module", "kymatui.cli.commands.inspect.module", reads),
    CommandEntry("checks", "explain a module's state, rule by rule", "kymatui.cli.commands.inspect.checks", reads),
    CommandEntry(
        "versions",
        "list a module's versions, or compare two of them",
        "kymatui.cli.commands.inspect.versions",
        reads,
    ),
    CommandEntry(
        "events",
        "list the events of a module's objects and Pods",
        "kymatui.cli.commands.inspect.events",
        reads,
    ),
    CommandEntry(
        "logs",
        "print the logs of a module's manager and Pods",
        "kymatui.cli.commands.inspect.logs",
        reads,
    ),
    CommandEntry(
        "diagnose",
        "collect diagnostics of a module in an archive for a ticket",
        "kymatui.cli.commands.inspect.diagnose",
        reads,
    ),
    CommandEntry(
        "drift",
        "list modules that are not at the expected version",
        "kymatui.cli.commands.inspect.drift",
        reads,
    ),
    CommandEntry("fleet", "list the runtimes of a control plane", "kymatui.cli.commands.fleet.fleet:FLEET", reads),
    CommandEntry("matrix", "count module versions across runtimes", "kymatui.cli.commands.fleet.fleet:MATRIX", reads),
    CommandEntry(
        "compare", "compare a control plane and one of its runtimes", "kymatui.cli.commands.fleet.compare", reads
    ),
    CommandEntry(
        "sync",
        "explain which templates a runtime gets, and why",
        "kymatui.cli.commands.fleet.sync",
        reads,
    ),
    CommandEntry(
        "windows",
        "list maintenance windows and pending upgrades",
        "kymatui.cli.commands.fleet.windows",
        reads,
    ),
    CommandEntry(
        "whatif",
        "forecast what a catalog change does to all runtimes",
        "kymatui.cli.commands.fleet.whatif",
        reads,
    ),
    CommandEntry(
        "watchers",
        "check that runtime changes reach the control plane",
        "kymatui.cli.commands.fleet.watchers",
        reads,
    ),
    CommandEntry(
        "rights",
        "print what you may not do, and the Role that would allow it",
        "kymatui.cli.commands.inspect.rights",
        reads,
    ),
    CommandEntry("audit", "report problems of a cluster, rule by rule", "kymatui.cli.commands.inspect.audit", reads),
    CommandEntry("enable", "enable a module in the Kyma", "kymatui.cli.commands.modules.kyma_edit:ENABLE", writes),
    CommandEntry(
        "disable",
        "disable a module in the Kyma (uninstalls it)",
        "kymatui.cli.commands.modules.kyma_edit:DISABLE",
        writes,
    ),
    CommandEntry(
        "channel", "move a module to another channel", "kymatui.cli.commands.modules.kyma_edit:CHANNEL", writes
    ),
    CommandEntry(
        "manage",
        "let lifecycle-manager manage a module",
        "kymatui.cli.commands.modules.kyma_edit:MANAGE",
        writes,
    ),
    CommandEntry(
        "unmanage",
        "keep a module installed, stop its updates",
        "kymatui.cli.commands.modules.kyma_edit:UNMANAGE",
        writes,
    ),
    CommandEntry(
        "policy",
        "set who creates and deletes a module's default CR",
        "kymatui.cli.commands.modules.kyma_edit:POLICY",
        writes,
    ),
    CommandEntry(
        "edit",
        "edit a module CR or the Kyma in your editor",
        "kymatui.cli.commands.modules.edit:EDIT",
        writes,
    ),
    CommandEntry(
        "label",
        "allow or forbid beta or internal modules",
        "kymatui.cli.commands.modules.label",
        writes,
    ),
    CommandEntry(
        "install",
        "install a module or a chart directly",
        "kymatui.cli.commands.modules.install:INSTALL",
        writes,
    ),
    CommandEntry(
        "upgrade",
        "upgrade modules that were installed directly",
        "kymatui.cli.commands.modules.install:UPGRADE",
        writes,
    ),
    CommandEntry("plan", "plan an installation and save the plan", "kymatui.cli.commands.modules.plan:PLAN", reads),
    CommandEntry("apply", "apply a saved plan", "kymatui.cli.commands.modules.plan:APPLY", writes),
    CommandEntry("check", "compare an installation with its source", "kymatui.cli.commands.modules.check:CHECK", reads),
    CommandEntry(
        "adopt", "adopt a module that another tool installed", "kymatui.cli.commands.modules.adopt:ADOPT", writes
    ),
    CommandEntry(
        "manifest",
        "install or upgrade a module through a Manifest",
        "kymatui.cli.commands.modules.manifest:MANIFEST",
        writes,
    ),
    CommandEntry("delete", "delete a module step by step", "kymatui.cli.commands.modules.delete:DELETE", writes),
    CommandEntry(
        "finalizers",
        "list finalizers that block a deletion, remove one",
        "kymatui.cli.commands.modules.finalizers:FINALIZERS",
        _removes,
    ),
    CommandEntry(
        "restore",
        "restore deleted objects from a backup",
        "kymatui.cli.commands.modules.restore:RESTORE",
        _restores,
    ),
    CommandEntry(
        "resume",
        "continue an interrupted job",
        "kymatui.cli.commands.modules.resume:RESUME",
        _resumes,
    ),
    CommandEntry(
        "reconcile",
        "reconcile one Manifest, once",
        "kymatui.cli.commands.program.operator:RECONCILE",
        writes,
    ),
    CommandEntry(
        "operator",
        "run the operator, which installs what Kymas and Manifests request",
        "kymatui.cli.commands.program.operator_run:OPERATOR",
        _operates,
    ),
    CommandEntry(
        "demo",
        "open the terminal UI on an embedded cluster",
        "kymatui.cli.commands.program.demo",
        reads,
    ),
    CommandEntry(
        "completion",
        "print the completion script of a shell",
        "kymatui.cli.commands.program.completion",
        reads,
    ),
    CommandEntry(
        "config", "print, validate and locate the configuration", "kymatui.cli.commands.program.config", reads
    ),
    CommandEntry(
        "sandbox",
        "serve an embedded cluster and registry",
        "kymatui.cli.commands.program.sandbox",
        _misbehaves,
    ),
    CommandEntry(
        "version",
        "print the versions of kymatui, Python and libraries",
        "kymatui.cli.commands.program.help:VERSION",
        reads,
    ),
    CommandEntry("help", "print the help of a command or a topic", "kymatui.cli.commands.program.help:HELP", reads),
    CommandEntry(
        "bundle", "publish modules to registries, inspect and verify them", "kymatui.cli.commands.bundle", _publishes
    ),
    CommandEntry("helm", "render, lint, show and pull charts without helm", "kymatui.cli.commands.helm", reads),
)


def by_name(name: str) -> CommandEntry | None:
    return next((command for command in COMMANDS if name == command.name or name in command.aliases), None)
