"""`kymatui upgrade`: everything that is outdated as one plan, and where a chart's newer version comes from."""

from __future__ import annotations

import sys
from dataclasses import replace
from typing import TYPE_CHECKING

from kymatui.cli.options.direct_install import CommandContext
from kymatui.cli.output.printing import say
from kymatui.errors import ForbiddenError, RefusedError

if TYPE_CHECKING:
    from kymatui.actions.modules.module_sources import ModuleSource
    from kymatui.engine.inventory.inventory import Inventory


def upgrade_all(place: CommandContext) -> int:
    """Modules of the catalog, and charts whose place can be asked; what is left out is named with the reason."""
    from kymatui.actions.modules.upgrade import survey_upgrades
    from kymatui.cli.commands.modules.install_batch import InstallOrder, install_batch

    args = place.args
    found = survey_upgrades(place.cluster, place.session.snapshot(), place.blobs, devel=args.devel, direct=args.direct)
    for one in found.left_out:
        where = f" in {one.namespace}" if one.namespace else ""
        say(f"left out: {one.name} {one.version}".rstrip() + f"{where}: {one.reason}", sys.stderr)
    names = [one.name for one in found.outdated]
    orders = [
        InstallOrder(
            one.name,
            replace(one.source, keeps_values=args.keeps_values),
            one.known.namespace if one.known is not None and one.known.chart else "",
            f"{one.known.namespace}/{one.name}" if one.known is not None and names.count(one.name) > 1 else "",
        )
        for one in found.outdated
    ]
    if not orders and args.output in ("table", "md"):
        known = f", as far as that is known: {len(found.left_out)} left out" if found.left_out else ""
        say(f"nothing that is installed directly is outdated{known}")
        return 0
    return install_batch(place, "upgrade", orders, everything=True, left_out=found.left_out)


def find_installed_as(place: CommandContext, name: str) -> Inventory | None:
    """What is installed of that name: in the namespace that was said, which for the catalog may be its template's."""
    from kymatui.actions.modules.module_sources import find_installed

    found = find_installed(place.cluster, name, place.namespace)
    if found is None and place.namespace and place.source.is_catalog:
        return find_installed(place.cluster, name)
    return found


def recorded_source(place: CommandContext, name: str) -> tuple[ModuleSource, str]:
    """Where the upgrade of one module comes from, and its namespace, by what the words say and what is written down."""
    from kymatui.actions.modules.upgrade import newest_source

    source, args = place.source, place.args
    try:
        known = find_installed_as(place, name)
    except ForbiddenError:  # who may not list Secrets everywhere has modules all the same, and charts with -n
        known = None
    if not source.is_catalog or source.repository:
        return source, place.namespace or (known.namespace if known is not None else "")
    if known is None or not known.chart:
        return source, place.namespace
    try:
        found = newest_source(known, place.blobs, version=source.version, devel=getattr(args, "devel", False))
    except RefusedError as error:
        raise RefusedError(f"{name}: {error}", hint=error.hint) from error
    return replace(source, chart=found.chart, repository=found.repository, version=found.version), known.namespace
