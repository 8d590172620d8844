"""`kymatui delete NAME` and `kymatui restore FILE`: what is left is shown first, and kept before it goes."""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

from kymatui.cli.asking import confirm
from kymatui.cli.direct.options import Place, Teller, add_running, cancellable, opened
from kymatui.cli.direct.showing import removal_json, removal_text
from kymatui.cli.printing import document, say
from kymatui.errors import KymatuiError, RefusedError

if TYPE_CHECKING:
    from kymatui.engine.deleting import Deleted
    from kymatui.engine.removals import Removal


class DeleteCommand:
    """A direct installation, by the two rules: no manager before what it manages, nothing of others."""

    def configure(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("name", metavar="NAME", help="the module, or the name of the release")
        parser.add_argument("--cascade", action="store_true", help="also delete what users made and the module manages")
        parser.add_argument("--accept-unknown", action="store_true", help="take kinds that you may not list for empty")
        parser.add_argument("--backup", metavar="FILE", help="where what is deleted is kept (default: a new file)")
        parser.add_argument("--no-backup", action="store_true", help="keep nothing of what is deleted")
        add_running(parser)

    def run(self, args: argparse.Namespace) -> int:
        with opened(args) as place:
            if not args.dry_run:
                place.may_write()
            found = _found(place, args.name)
            if args.dry_run:
                return _show(found, args.output, "planned")
            _guard(found, args)
            if args.output == "table":
                say(removal_text(found, "table"), sys.stderr)
            confirm(f"Delete {found.inventory.name}?", yes=args.yes)
            if not args.no_backup:
                _keep(place, found, args.backup)
            return _delete(place, found)


class RestoreCommand:
    """Creates again what a backup holds; what is there already is left as it is."""

    def configure(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("file", metavar="FILE", help="a backup of `kymatui delete`")
        add_running(parser)

    def run(self, args: argparse.Namespace) -> int:
        from kymatui.wiring.backups import read_backup, restore

        with opened(args) as place:
            place.may_write()
            objects = read_backup(Path(args.file))
            say(f"{len(objects)} objects are in {args.file}", sys.stderr)
            if args.dry_run:
                return 0
            confirm("Create those that are missing?", yes=args.yes)
            made, there = restore(objects, place.cluster)
        say(f"{len(made)} created, {len(there)} were there already")
        return 0


DELETE, RESTORE = DeleteCommand(), RestoreCommand()


def _found(place: Place, name: str) -> Removal:
    from kymatui.engine.removals import removal
    from kymatui.engine.running import SystemClock
    from kymatui.wiring.installing import find_installed

    _refuse_managed(place, name)
    known = find_installed(place.cluster, name, place.namespace)
    found = removal(name, known.namespace, place.cluster, SystemClock()) if known is not None else None
    if found is None:
        raise RefusedError(
            f"{name} is not installed by kymatui in {place.cluster.name}",
            hint=f"`kymatui module {name}` shows what there is of it, and who brought it",
        )
    return found


def _refuse_managed(place: Place, name: str) -> None:
    from kymatui.domain.catalog import catalog

    row = catalog(place.session.snapshot(), time.time()).row(name)
    if row is not None and row.managed:
        raise RefusedError(
            f"{name} is managed by lifecycle-manager, which would install it again",
            hint=f"`kymatui disable {name}` takes it out of the Kyma",
        )


def _guard(found: Removal, args: argparse.Namespace) -> None:
    """What stands in the way is told before anybody is asked."""
    if found.remaining.unknown and not args.accept_unknown:
        kinds = ", ".join(kind for kind, _ in found.remaining.unknown)
        raise RefusedError(f"nobody knows whether {kinds} are left", hint="--accept-unknown goes on all the same")
    if found.remaining.theirs and not args.cascade:
        _show(found, args.output, "refused")
        raise RefusedError(
            f"{found.inventory.name} still manages {len(found.remaining.theirs)} objects that users made",
            hint="delete them first, or delete them too with --cascade",
        )


def _keep(place: Place, found: Removal, path: str | None) -> None:
    from kymatui.wiring.backups import write_backup
    from kymatui.wiring.installing import backup_path

    moment = time.strftime("%Y%m%dT%H%M%SZ", time.gmtime())
    where = Path(path) if path else backup_path(place.cluster.name, found.inventory.name, moment)
    count, secrets = write_backup(where, found, place.cluster)
    left_out = f" (without the data of {secrets} Secrets)" if secrets else ""
    say(f"{count} objects are kept in {where}{left_out}", sys.stderr)


def _delete(place: Place, found: Removal) -> int:
    from kymatui.engine.deleting import delete
    from kymatui.engine.running import Limits, begin
    from kymatui.wiring.engine import journal_path

    args = place.args
    journal = journal_path(found.cluster, found.inventory.namespace, found.inventory.name)
    with cancellable() as cancel:
        try:
            limits = Limits(gone=args.timeout, hooks=args.timeout)
            with begin(place.cluster, cancel=cancel, journal=journal, tell=Teller(), limits=limits) as run:
                gone = delete(found, run, cascade=args.cascade, accept_unknown=args.accept_unknown)
        except KymatuiError:
            if args.output != "table":
                _show(found, args.output, "unfinished")
            raise
    return _done(found, gone, args.output)


def _done(found: Removal, gone: Deleted, form: str) -> int:
    if form in ("json", "yaml"):
        say(document(removal_json(found, "done", gone.kept), form))
    else:
        kept = f"; kept: {', '.join(f'{step.ref} ({step.reason})' for step in gone.kept)}" if gone.kept else ""
        say(f"{found.inventory.name}: {len(gone.gone)} deleted{kept}")
    return 0


def _show(found: Removal, form: str, outcome: str) -> int:
    say(document(removal_json(found, outcome), form) if form in ("json", "yaml") else removal_text(found, form))
    return 0
