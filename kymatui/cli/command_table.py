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
    return bool(args.remove) and writes(args)


def _operates(args: argparse.Namespace) -> bool:
    if args.action in ("install", "upgrade", "uninstall", "handover"):
        return writes(args)
    return args.action in (None, "run")  # the others print


def _misbehaves(args: argparse.Namespace) -> bool:
    return bool(args.action == "situation" or (args.action == "fault" and args.fault != "list"))


def _publishes(args: argparse.Namespace) -> bool:
    """Return whether a registry is written to; `create` without one only writes files."""
    return args.action in ("add", "copy", "dev", "push", "sign") or bool(args.action == "create" and args.registry)


class CommandEntry(NamedTuple):
    """One word after `kymatui`; `module` is a module in `cli.commands`, or `module:object` where one has several.

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
        import_module = importlib.import_module(f"kymatui.cli.commands.{name}")
        return cast(CommandModule, getattr(import_module, attribute) if attribute else import_module)


COMMANDS: tuple[CommandEntry, ...] = (
    CommandEntry(
        "catalog", "list modules with channel, versions, drift and state", "inspect.catalog", reads, ("list", "status")
    ),
    CommandEntry("module", "print everything known about a module", "inspect.module", reads),
    CommandEntry("checks", "explain a module's state, rule by rule", "inspect.checks", reads),
    CommandEntry("versions", "list a module's versions, or compare two of them", "inspect.versions", reads),
    CommandEntry("events", "list the events of a module's objects and Pods", "inspect.events", reads),
    CommandEntry("logs", "print the logs of a module's manager and Pods", "inspect.logs", reads),
    CommandEntry("diagnose", "collect diagnostics of a module in an archive for a ticket", "inspect.diagnose", reads),
    CommandEntry("drift", "list modules that are not at the expected version", "inspect.drift", reads),
    CommandEntry("fleet", "list the runtimes of a control plane", "fleet.fleet:FLEET", reads),
    CommandEntry("matrix", "count module versions across runtimes", "fleet.fleet:MATRIX", reads),
    CommandEntry("compare", "compare a control plane and one of its runtimes", "fleet.compare", reads),
    CommandEntry("sync", "explain which templates a runtime gets, and why", "fleet.sync", reads),
    CommandEntry("waits", "list what modules of all runtimes wait for, and who acts", "fleet.fleet:WAITS", reads),
    CommandEntry("windows", "list maintenance windows and pending upgrades", "fleet.windows", reads),
    CommandEntry("whatif", "forecast what a catalog change does to all runtimes", "fleet.whatif", reads),
    CommandEntry("watchers", "check that runtime changes reach the control plane", "fleet.watchers", reads),
    CommandEntry("rights", "print what you may not do, and the Role that would allow it", "inspect.rights", reads),
    CommandEntry("audit", "report problems of a cluster, rule by rule", "inspect.audit", reads),
    CommandEntry("enable", "enable a module in the Kyma", "modules.kyma_edit:ENABLE", writes),
    CommandEntry("disable", "disable a module in the Kyma (uninstalls it)", "modules.kyma_edit:DISABLE", writes),
    CommandEntry("channel", "move a module to another channel", "modules.kyma_edit:CHANNEL", writes),
    CommandEntry("manage", "let lifecycle-manager manage a module", "modules.kyma_edit:MANAGE", writes),
    CommandEntry("unmanage", "keep a module installed, stop its updates", "modules.kyma_edit:UNMANAGE", writes),
    CommandEntry("policy", "set who creates and deletes a module's default CR", "modules.kyma_edit:POLICY", writes),
    CommandEntry("edit", "edit a module CR or the Kyma in your editor", "modules.edit", writes),
    CommandEntry("restart", "restart the Pods of modules", "modules.restart", writes),
    CommandEntry("unpause", "continue modules that are paused or scaled to zero", "modules.unpause", writes),
    CommandEntry("label", "allow or forbid beta or internal modules", "modules.label", writes),
    CommandEntry("install", "install a module or a chart directly", "modules.install:INSTALL", writes),
    CommandEntry("upgrade", "upgrade modules that were installed directly", "modules.install:UPGRADE", writes),
    CommandEntry("pull", "pull a ModuleTemplate of a catalog into the cluster", "modules.pull", writes),
    CommandEntry("plan", "plan an installation and save the plan", "modules.plan:PLAN", reads),
    CommandEntry("apply", "apply a saved plan", "modules.plan:APPLY", writes),
    CommandEntry("check", "compare an installation with its source", "modules.check", reads),
    CommandEntry("adopt", "adopt a module that another tool installed", "modules.adopt", writes),
    CommandEntry("manifest", "install or upgrade a module through a Manifest", "modules.manifest", writes),
    CommandEntry("delete", "delete a module step by step", "modules.delete", writes),
    CommandEntry("finalizers", "list finalizers that block a deletion, remove one", "modules.finalizers", _removes),
    CommandEntry("restore", "restore deleted objects from a backup", "modules.restore", _restores),
    CommandEntry("resume", "continue an interrupted job", "modules.resume", _resumes),
    CommandEntry("reconcile", "reconcile one Manifest, once", "program.operator", writes),
    CommandEntry(
        "operator",
        "run the operator, which installs what Kymas and Manifests request",
        "program.operator_run",
        _operates,
    ),
    CommandEntry("demo", "open the terminal UI on an embedded cluster", "program.demo", reads),
    CommandEntry("completion", "print the completion script of a shell", "program.completion", reads),
    CommandEntry("config", "print, validate and locate the configuration", "program.config", reads),
    CommandEntry("sandbox", "serve an embedded cluster and registry", "program.sandbox", _misbehaves),
    CommandEntry("version", "print the versions of kymatui, Python and libraries", "program.help:VERSION", reads),
    CommandEntry("help", "print the help of a command or a topic", "program.help:HELP", reads),
    CommandEntry("bundle", "publish modules to registries, inspect and verify them", "bundle", _publishes),
    CommandEntry("helm", "render, lint, show and pull charts without helm", "helm", reads),
)


def by_name(name: str) -> CommandEntry | None:
    return next((command for command in COMMANDS if name == command.name or name in command.aliases), None)
