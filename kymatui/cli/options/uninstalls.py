"""What an edit of the Kyma uninstalls, on the command line: its options, its part of a plan, what refuses it."""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from kymatui.cli.cluster_options import add_options
from kymatui.cli.output.printing import paragraph

if TYPE_CHECKING:
    from kymatui.actions.edits.uninstall import UninstallConsent
    from kymatui.actions.plans import Uninstall


DELETION_OPTIONS: Final[Mapping[str, str]] = {
    "--cascade": "also delete objects that users created and the module manages",
    "--accept-unknown": "assume that kinds you cannot list have no objects",
}
BACKUP_OPTIONS: Final[Mapping[str, str]] = {
    "--backup FILE": "file for the backup (default: a new file, see `kymatui restore`)",
    "--no-backup": "delete without a backup",
}


def add_uninstalling(parser: argparse.ArgumentParser) -> None:
    """Add the options of `kymatui delete`, for edits that uninstall a module."""
    group = parser.add_argument_group("if the change uninstalls a module")
    add_options(group, {**DELETION_OPTIONS, **BACKUP_OPTIONS})


def consent_of(args: argparse.Namespace) -> UninstallConsent:
    from kymatui.actions.edits.uninstall import UninstallConsent

    path = Path(args.backup) if args.backup else None
    return UninstallConsent(args.cascade, args.accept_unknown, not args.no_backup, path)


def uninstall_consequence(uninstalls: Iterable[Uninstall]) -> str:
    """Return what a question says of modules that go: how many objects, and whether they are saved first."""
    from kymatui.cli.output.deletion import deletion_consequence as of

    some = list(uninstalls)
    states = [uninstall.state for uninstall in some if uninstall.state is not None]
    return of(states, backup=any(uninstall.request.backup for uninstall in some)) if states else ""


def uninstall_tables(uninstalls: Iterable[Uninstall], form: str) -> list[str]:
    """Return what is left of each module, for people."""
    from kymatui.cli.output.deletion import remaining_parts

    paragraphs: list[str] = []
    for uninstall in uninstalls:
        if uninstall.state is None:
            paragraphs.append(paragraph(f"the objects of {uninstall.module} are unknown: {uninstall.failure}", form))
        else:
            paragraphs += remaining_parts(uninstall.state, form, cascade=uninstall.request.cascade)
    return paragraphs


def uninstalls_json(uninstalls: Sequence[Uninstall]) -> list[dict[str, Any]]:
    from kymatui.cli.output.deletion import remaining_json

    return [
        {
            "module": uninstall.module,
            "failure": uninstall.failure or None,
            **(remaining_json(uninstall.state) if uninstall.state is not None else {"remaining": [], "unknown": []}),
        }
        for uninstall in uninstalls
    ]
