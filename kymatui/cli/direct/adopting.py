"""`kymatui adopt NAME`: what somebody else installed, or lifecycle-manager has let go of, becomes kymatui's."""

from __future__ import annotations

import argparse
import time
from typing import TYPE_CHECKING

from kymatui.cli.direct.options import Place, add_intent, add_running, add_source, opened
from kymatui.errors import RefusedError

if TYPE_CHECKING:
    from kymatui.domain.rows import Row


class AdoptCommand:
    """The installation of the very version that is there; who owns what is in the plan, and nothing is deleted."""

    def configure(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("name", metavar="NAME", help="the module that is installed already")
        add_source(parser)
        add_intent(parser)
        add_running(parser)
        parser.set_defaults(direct=True, force=True, adopt=True)

    def run(self, args: argparse.Namespace) -> int:
        from kymatui.cli.direct.installing import carry_out, planned

        with opened(args) as place:
            if not args.dry_run:
                place.may_write()
            row = _row(place, args.name)
            if place.source.is_catalog and not args.version:
                args.version = row.installed
            return carry_out(place, planned(place, args.name))


ADOPT = AdoptCommand()


def _row(place: Place, name: str) -> Row:
    """What is there of the module. Raises RefusedError where there is nothing to take over, or somebody has it."""
    from kymatui.domain.catalog import catalog
    from kymatui.domain.presence import Presence
    from kymatui.domain.states import State

    row = catalog(place.session.snapshot(), time.time()).row(name)
    if row is None or row.presence in (Presence.NOT_INSTALLED, Presence.ORPHAN):
        raise RefusedError(f"there is no {name} to take over", hint=f"`kymatui install {name}` installs it")
    if row.presence is Presence.UNMANAGED and row.reports.kyma not in ("", State.UNMANAGED):
        raise RefusedError(
            f"lifecycle-manager has not let go of {name} yet: its status says {row.reports.kyma}",
            hint=f"`kymatui unmanage {name}` waits for it",
        )
    if row.managed:
        raise RefusedError(
            f"{name} is managed by lifecycle-manager, which would undo what is taken from it",
            hint=f"`kymatui unmanage {name}` makes lifecycle-manager let go of it first",
        )
    if not row.installed and place.source.is_catalog and not place.args.version:
        raise RefusedError(f"nobody knows which version of {name} is there", hint="say it with --version")
    return row
