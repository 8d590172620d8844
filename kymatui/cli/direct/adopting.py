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
            return carry_out(place, planned(place, args.name, place.source, place.namespace))


ADOPT = AdoptCommand()


def _row(place: Place, name: str) -> Row:
    """What is there of the module. Raises RefusedError where there is nothing to take over, or somebody has it."""
    from kymatui.domain.catalog import catalog
    from kymatui.domain.direct import taken_over

    row = taken_over(catalog(place.session.snapshot(), time.time()).row(name), name)
    if not row.installed and place.source.is_catalog and not place.args.version:
        raise RefusedError(f"nobody knows which version of {name} is there", hint="say it with --version")
    return row
