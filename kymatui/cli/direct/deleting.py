"""`kymatui delete NAME`: what is left is shown first, and kept before it goes."""

from __future__ import annotations

import argparse
import sys
import threading
import time
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from kymatui.cli.asking import confirm
from kymatui.cli.direct.departures import consequence, departure_json, departure_text
from kymatui.cli.direct.options import Place, Teller, add_running, cancellable, opened
from kymatui.cli.printing import say
from kymatui.cli.targets import plan_document, plan_text
from kymatui.errors import KymatuiError, RefusedError, UsageError

if TYPE_CHECKING:
    from kymatui.engine.departing import Departure
    from kymatui.wiring.agreeing import Agreement
    from kymatui.wiring.turning import Departed


class DeleteCommand:
    """The guided deletion: no manager before what it manages, nothing of others, through the Kyma where that is due."""

    def configure(self, parser: argparse.ArgumentParser) -> None:
        what = "a module, or the name of a release; several are one plan, and go one after the other"
        parser.add_argument("names", metavar="NAME", nargs="+", help=what)
        parser.add_argument("--cascade", action="store_true", help="also delete what users made and the module manages")
        parser.add_argument("--accept-unknown", action="store_true", help="take kinds that you may not list for empty")
        parser.add_argument(
            "--way",
            choices=("let", "ignore", "unmanage"),
            default="let",
            help="where lifecycle-manager is in charge: let it delete the module's resource (default), set the policy "
            "to Ignore first and delete it by hand, or unmanage the module instead of deleting it",
        )
        parser.add_argument("--backup", metavar="FILE", help="where what is deleted is kept (default: a new file)")
        parser.add_argument("--no-backup", action="store_true", help="keep nothing of what is deleted")
        add_running(parser)

    def run(self, args: argparse.Namespace) -> int:
        from kymatui.cli.direct.deletions import delete_several

        names = list(dict.fromkeys(args.names))
        if args.backup and len(names) > 1:
            raise UsageError("--backup is about one module", hint="several have a file each, which is told")
        with opened(args, once=args.dry_run) as place:
            if not args.dry_run:
                place.may_write()
            deletions = [Deletion(place, name) for name in names]
            return deletions[0].go() if len(deletions) == 1 else delete_several(place, deletions)


DELETE = DeleteCommand()


class Deletion:
    """The deletion of one module."""

    def __init__(self, place: Place, name: str) -> None:
        from kymatui.engine.departing import Way
        from kymatui.wiring.departing import Departing

        self._place, self._args, self.name = place, place.args, name
        self._departing = Departing(place.session, place.cluster)
        self._way = Way(place.args.way)

    def go(self) -> int:
        from kymatui.engine.departing import Turn

        args = self._args
        seen = self.look()
        if args.dry_run:
            return _show(self._place, seen, args.output, "planned")
        turn = seen.turn(accept_unknown=args.accept_unknown)
        if turn is Turn.GONE:
            return _done(self._place, seen, None, args.output, seen.refusal or f"nothing is left of {self.name}")
        agreement = self.agreement(seen)
        self._refuse(seen, agreement)
        if args.output == "table":
            say(plan_text(self._place.target, departure_text(seen, "table"), "table"), sys.stderr)
        confirm(
            self._place.target,
            f"Unmanage {self.name}" if turn is Turn.UNMANAGE else f"Delete {self.name}",
            "" if turn is Turn.UNMANAGE else consequence([seen], backup=not args.no_backup),
            yes=args.yes,
        )
        self.keep(seen, agreement)
        return self._carry_out(seen, agreement)

    def look(self) -> Departure:
        """Where it stands. Raises RefusedError where nobody knows the name."""
        seen = self._departing.look(self.name, self._place.namespace, self._way)
        if not self._known(seen):
            raise RefusedError(
                f"{self.name} is not known in {seen.cluster}", hint="`kymatui catalog` lists the modules"
            )
        return seen

    def _known(self, seen: Departure) -> bool:
        from kymatui.domain.catalog import catalog
        from kymatui.engine.departing import Charge

        row = catalog(self._place.session.snapshot(), time.time(), memory=self._place.memory).row(seen.module)
        return seen.charge is not Charge.NOBODY or row is not None

    def agreement(self, seen: Departure) -> Agreement:
        from kymatui.wiring.agreeing import Agreement
        from kymatui.wiring.backups import backup_path

        args = self._args
        where = Path(args.backup) if args.backup else backup_path(seen.cluster, self.name, time.time())
        kept = None if args.no_backup else where
        timeout = args.timeout if args.wait else 0.0
        return Agreement(args.cascade, args.accept_unknown, self._way, kept, timeout, seen)

    def _refuse(self, seen: Departure, agreement: Agreement) -> None:
        """What stands in the way is told before anybody is asked."""
        try:
            self.refuse(seen, agreement)
        except RefusedError:
            if not seen.refusal:
                _show(self._place, seen, self._args.output, "refused")
            raise

    def refuse(self, seen: Departure, agreement: Agreement) -> None:
        """Raises RefusedError where something stands in the way, with the words that let it go on."""
        from kymatui.wiring.agreeing import refuse

        try:
            refuse(seen, agreement)
        except RefusedError as error:
            if seen.refusal:
                raise
            hint = "--accept-unknown goes on all the same" if seen.remaining.unknown else "--cascade deletes them, too"
            raise RefusedError(str(error), hint=hint) from error

    def keep(self, seen: Departure, agreement: Agreement) -> None:
        from kymatui.wiring.agreeing import keep

        if agreement.backup is None:
            return
        count, secrets = keep(agreement.backup, seen, self._place.cluster, self._departing.manifests_on)
        left_out = f" (without the data of {secrets} Secrets)" if secrets else ""
        kept = "1 object is kept" if count == 1 else f"{count} objects are kept"
        say(f"{kept} in {agreement.backup}{left_out}", sys.stderr)

    def _carry_out(self, seen: Departure, agreement: Agreement) -> int:
        args = self._args
        with cancellable() as cancel:
            try:
                ended = self.carry_out(agreement, cancel)
            except KymatuiError:
                if args.output != "table":
                    now = self._departing.look(self.name, self._place.namespace, self._way)
                    _show(self._place, now, args.output, "unfinished")
                raise
        return _done(self._place, seen, ended, args.output, ended.words)

    def carry_out(self, agreement: Agreement, cancel: threading.Event) -> Departed:
        """The deletion itself; its backup is kept already."""
        from kymatui.wiring.job_books import Purpose, written_down

        with written_down(self._place.cluster.name, f"delete {self.name}", Purpose("delete", (self.name,))):
            return self._departing.carry_out(
                self.name,
                replace(agreement, backup=None),
                namespace=self._place.namespace,
                tell=Teller(),
                cancel=cancel,
            )


def _done(place: Place, seen: Departure, ended: Departed | None, form: str, words: str) -> int:
    gone, kept, lost = (ended.gone, ended.kept, ended.lost) if ended is not None else ((), (), ())
    if form in ("json", "yaml"):
        outcome = "done" if ended is not None else "unchanged"
        say(plan_document(place.target, departure_json(seen, outcome, gone, kept, lost), form))
        return 0
    stays = f"; kept: {', '.join(f'{ref} ({reason})' for ref, reason in kept)}" if kept else ""
    said = [words] if words else []
    said += [f"{len(gone)} deleted"] if gone or not words else []
    say(f"{seen.module}: {', '.join(said)}{stays}")
    return 0


def _show(place: Place, seen: Departure, form: str, outcome: str) -> int:
    if form in ("json", "yaml"):
        say(plan_document(place.target, departure_json(seen, outcome), form))
    else:
        say(plan_text(place.target, departure_text(seen, form), form))
    return 0
