"""`kymatui adopt NAME`: what somebody else installed, or lifecycle-manager has let go of, becomes kymatui's."""

from __future__ import annotations

import argparse
from dataclasses import replace
from typing import TYPE_CHECKING

from kymatui.cli.options.direct_install import CommandContext, add_intent, add_running, add_source, open_context
from kymatui.cli.options.unknown_names import unknown_module
from kymatui.errors import RefusedError

if TYPE_CHECKING:
    from kymatui.actions.modules.module_sources import ModuleSource
    from kymatui.domain.catalog.rows import ModuleRow


class AdoptCommand:
    """The installation of the very version that is there; who owns what is in the plan, and nothing is deleted."""

    def configure(self, parser: argparse.ArgumentParser) -> None:
        what = "a module that is installed already; several are one plan"
        parser.add_argument("names", metavar="NAME", nargs="+", help=what)
        add_source(parser)
        add_intent(parser)
        add_running(parser)
        parser.set_defaults(direct=True, force=True, adopt=True)

    def run(self, args: argparse.Namespace) -> int:
        from kymatui.cli.commands.modules.install import confirm_and_apply, plan_install, refuse_words_for_one
        from kymatui.cli.commands.modules.install_batch import InstallOrder, install_batch

        names = list(dict.fromkeys(args.names))
        if len(names) > 1:
            refuse_words_for_one(args)
        with open_context(args, once=args.dry_run) as place:
            orders = [InstallOrder(name, _source(place, name), place.namespace) for name in names]
            if len(orders) > 1:
                return install_batch(place, "adopt", orders)
            return confirm_and_apply(place, plan_install(place, names[0], orders[0].source, place.namespace))


ADOPT = AdoptCommand()


def _source(place: CommandContext, name: str) -> ModuleSource:
    """The very version that is there, where nothing else was said."""
    row, source = _row(place, name), place.source
    return replace(source, version=row.installed) if source.is_catalog and not source.version else source


def _row(place: CommandContext, name: str) -> ModuleRow:
    """What is there of the module. Raises RefusedError where there is nothing to take over, or somebody has it."""
    from kymatui.domain.plans.direct_install import adoptable_row

    version = place.source.version if place.source.is_catalog else ""  # a chart counts its own versions
    seen = place.catalog
    if seen.row(name) is None and place.source.is_catalog:
        raise unknown_module(seen, name)
    row = adoptable_row(seen.row(name), name, version)
    if not row.installed and place.source.is_catalog and not place.args.version:
        raise RefusedError(f"nobody knows which version of {name} is there", hint="say it with --version")
    return row
