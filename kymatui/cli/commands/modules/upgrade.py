"""`kymatui upgrade`: everything that is outdated as one plan, and where a chart's newer version comes from."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

from msgspec.structs import replace

from kymatui.cli.options.direct_install import CommandContext, install_request
from kymatui.cli.output.printing import print_line
from kymatui.domain.gitops import git_source
from kymatui.domain.inventories import Inventory
from kymatui.engine.cluster.request_scope import optional_requests
from kymatui.errors import ForbiddenError, RefusedError

if TYPE_CHECKING:
    from kymatui.actions.modules.install_plan import InstallRequest
    from kymatui.actions.modules.module_sources import ModuleSource
    from kymatui.actions.modules.upgrade import SkippedUpgrade


def upgrade_all(context: CommandContext) -> int:
    """Upgrade what is outdated as one plan; what is left out is named with the reason."""
    from kymatui.actions.modules.install import plan_installs
    from kymatui.cli.commands.modules.install_run import apply_installs

    requests, left_out = outdated_modules(context)
    for skipped in left_out:
        where = f" in {skipped.namespace}" if skipped.namespace else ""
        print_line(f"skipped: {skipped.name} {skipped.version}".rstrip() + f"{where}: {skipped.reason}", sys.stderr)
    if not requests and context.args.output in ("table", "md"):
        far = f" ({len(left_out)} skipped)" if left_out else ""
        print_line(f"no directly installed module is outdated{far}")
        return 0
    items = plan_installs(context.port, requests)
    return apply_installs(context, "upgrade", items, requests, everything=True, left_out=left_out)


def outdated_modules(context: CommandContext) -> tuple[dict[str, InstallRequest], Sequence[SkippedUpgrade]]:
    """Return modules of the catalog and charts whose place can be asked, by the names of their items; and the rest."""
    from kymatui.actions.modules.install_plan import Adoption
    from kymatui.actions.modules.upgrade import survey_upgrades

    args = context.args
    survey = survey_upgrades(
        context.cluster,
        context.session.snapshot(),
        context.blobs,
        context.port.artifacts,
        devel=args.devel,
        direct=args.direct,
    )
    names = [module.name for module in survey.outdated]
    requests = {}
    for new in survey.outdated:
        known = new.known
        shown = f"{known.namespace}/{new.name}" if known is not None and names.count(new.name) > 1 else new.name
        source = replace(new.source, keeps_values=args.keeps_values, checks_values=not args.skip_schema_validation)
        namespace = known.chosen_namespace if known is not None else ""
        requests[shown] = install_request(context, new.name, source, namespace, Adoption.UPGRADE)
    return requests, survey.left_out


def find_installed_as(context: CommandContext, name: str) -> Inventory | None:
    """Return the installation of a name in the given namespace, which for the catalog may be its template's."""
    from kymatui.actions.modules.module_sources import find_installed

    inventory = find_installed(context.cluster, name, context.namespace)
    if inventory is None and context.namespace and context.source.is_catalog:
        return find_installed(context.cluster, name)
    return inventory


def recorded_sources(context: CommandContext, names: Sequence[str]) -> list[tuple[str, ModuleSource, str]]:
    """Return the source of each upgrade and its namespace, by the options and the record of the installation."""
    return [(name, *recorded_source(context, name)) for name in names]


def recorded_source(context: CommandContext, name: str, verb: str = "upgrade") -> tuple[ModuleSource, str]:
    from kymatui.actions.modules.upgrade import newest_source

    source, args = context.source, context.args
    try:
        with optional_requests():
            known = find_installed_as(context, name)
    except ForbiddenError:  # who may not list Secrets everywhere has modules all the same, and charts with -n
        known = None
    if not source.is_catalog or source.repository:
        return source, context.namespace or (known.namespace if known is not None else "")
    if known is None or not (known.chart or known.from_component):
        return source, context.namespace
    version, devel = source.version, getattr(args, "devel", False)
    try:
        artifacts = context.port.artifacts
        newest = newest_source(known, context.blobs, artifacts, version=version, devel=devel, verb=verb)
    except RefusedError as error:
        words, hint = str(error), error.hint
        first = known.items[0].ref if known.chart and known.items and verb == "upgrade" else None
        if first is not None and (git := git_source(context.cluster.get(first))) is not None:
            words = f"{git} has its source; make the upgrade in Git"
            hint = f"`kymatui upgrade {name} --chart … -n {known.namespace} --override-gitops` makes it here"
        raise RefusedError(f"{name}: {words}", hint=hint) from error
    if known.from_component:
        return newest, known.namespace
    return replace(source, chart=newest.chart, repository=newest.repository, version=newest.version), known.namespace
