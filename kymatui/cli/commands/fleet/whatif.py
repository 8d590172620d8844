"""`kymatui whatif -f NEW.yaml`: what a change of catalog, Kymas or settings does to a fleet, before it is made."""

from __future__ import annotations

import argparse
import time
from typing import TYPE_CHECKING, Final

from msgspec.structs import replace

from kymatui.actions.modules.version_content import VersionReader
from kymatui.actions.modules.version_report import compare_contents
from kymatui.cli.cluster_options import add_cluster_options, add_remote_options
from kymatui.cli.commands.fleet.sync import read_labels
from kymatui.cli.commands.fleet.whatif_output import MoveReport, forecast_text
from kymatui.cli.options.fetching import add_fetching, fetch_options
from kymatui.cli.options.fleet_filters import add_fleet_filters, choose_listed, require_drift
from kymatui.cli.options.listing import add_list_output, add_list_timeout, read_again
from kymatui.cli.output.listing import ListPrinter
from kymatui.cli.session_arguments import remote_options_of
from kymatui.domain.fleet.runtimes import build_fleet
from kymatui.domain.kyma.versions import same_version
from kymatui.domain.whatif.catalog_change import CatalogChange, without_other_kymas
from kymatui.domain.whatif.fleet_objects import RELEASE_META, FleetObjects
from kymatui.domain.whatif.forecast import Forecast, foresee
from kymatui.domain.whatif.groups import GROUPS
from kymatui.domain.whatif.summary import change_notes, forecast_notes
from kymatui.domain.whatif.version_moves import version_moves
from kymatui.errors import PartlyDoneError, RefusedError, UnknownNameError, UsageError
from kymatui.sessions.fetching import LazyFetcher

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from kymatui.engine.cluster.ports import Cluster

_FAILING: Final = ("uninstall", "downgrade-refused", "error")
_FAIL_ON: Final = (*_FAILING, "downgrade", "not-installed", "await-window", "upgrade", "install", "any", "never")
_EARLIER: Final = {"held-back": "downgrade-refused", "wait": "await-window"}


def configure(parser: argparse.ArgumentParser) -> None:
    change = parser.add_argument_group("the change")
    change.add_argument(
        "-f",
        "--filename",
        dest="files",
        action="append",
        metavar="FILE",
        default=[],
        help="file or folder with new or changed ModuleReleaseMetas, ModuleTemplates and Kymas; repeatable; - is stdin",
    )
    change.add_argument(
        "--git",
        nargs=2,
        metavar=("BASE..HEAD", "DIR"),
        help="what differs between two git revisions of a folder; what only BASE has is deleted",
    )
    change.add_argument(
        "--delete",
        dest="deleted",
        action="append",
        metavar="KIND/NAME",
        default=[],
        help="ModuleReleaseMeta or ModuleTemplate that is deleted; repeatable",
    )
    change.add_argument(
        "--label",
        action="append",
        metavar="KEY=VALUE",
        default=[],
        help="set this label on the Kymas of the selected runtimes; KEY- removes it; repeatable",
    )
    change.add_argument(
        "--policy", metavar="FILE", default="", help="maintenance policy to use instead of the current one"
    )
    change.add_argument(
        "--restricted",
        action="append",
        metavar="MODULE",
        help='all modules that are restricted after the change; repeatable; "" for none',
    )
    answer = parser.add_argument_group("output")
    answer.add_argument("--group", choices=GROUPS, default="", help="count runtimes by this property")
    answer.add_argument("--each", action="store_true", help="list each runtime (--module and --runtime do so, too)")
    answer.add_argument("--canaries", action="store_true", help="list the runtimes to try the change on first")
    answer.add_argument(
        "--manifests",
        action="store_true",
        help="also compare both versions of each upgrade: risks, images, rights, CRDs (fetches them)",
    )
    answer.add_argument(
        "--fail-on",
        action="append",
        choices=(*_FAIL_ON, *_EARLIER),
        metavar="OUTCOME",
        help=f"outcome that sets exit status 2; repeatable: {', '.join(_FAIL_ON)} (default: {', '.join(_FAILING)})",
    )
    add_list_output(parser, "html", "sarif", watch=False)
    add_list_timeout(parser)
    add_fetching(answer)
    add_fleet_filters(parser.add_argument_group("the runtimes"))
    parser.add_argument(
        "--fleet",
        dest="fleet_file",
        metavar="FILE",
        default="",
        help="read a file of `kymatui fleet export`, not a cluster",
    )
    add_cluster_options(parser)
    add_remote_options(parser)


def run(args: argparse.Namespace) -> int:
    from kymatui.sessions.reports.what_if import ChangeRequest, read_change, read_fleet_of, single_cluster

    request = ChangeRequest(
        args.files, args.deleted, read_labels(args.label), args.policy, args.restricted, tuple(args.git or ()) or None
    )
    if request.empty:
        raise UsageError("no change given", hint="use -f FILE, --git, --delete, --label, --policy or --restricted")
    if args.fleet_file and args.selector:
        raise UsageError("--selector cannot be combined with --fleet FILE", hint="use --plan, --region or --runtime")
    if args.manifests and args.output == "sarif":
        raise UsageError("--manifests cannot print SARIF", hint="use -o table, md, json or yaml")
    control = remote_options_of(args, read_only=True)[0].control
    now = time.time()
    args.watch = False
    printer = ListPrinter(args)
    for fleet, notes in read_again(args, lambda: read_fleet_of(args.fleet_file, control, args.selector, now)):
        printer.note(*notes)
        if not fleet.kymas:
            raise UsageError(f"{fleet.cluster} has no Kyma that matches", hint="`kymatui fleet` lists the runtimes")
        narrowed = _narrowed(fleet, args)
        change, left_out = read_change(request, fleet)
        printer.note(*left_out, *change_notes(change, fleet))
        if narrowed is not fleet or args.selector:
            change = without_other_kymas(change, narrowed)
        forecast = _of_module(foresee(narrowed, change, now), args.module)
        printer.note(*forecast_notes(forecast))
        moves: list[MoveReport] = []
        if args.manifests:
            with single_cluster(control, narrowed, args.fleet_file) as connect:
                moves = _compared(narrowed, change, forecast, args, connect)
        printer.put(forecast_text(forecast, args, narrowed, moves))
        unread = [f"not compared: {one}" for move in moves for one in move.unread]
        printer.note(*unread)
        if _fails(forecast, args.fail_on or _FAILING):
            return RefusedError.exit_code
        return PartlyDoneError.exit_code if unread else 0
    return 0


def _narrowed(fleet: FleetObjects, args: argparse.Namespace) -> FleetObjects:
    """Return the fleet with the runtimes that the words choose; --module chooses outcomes, not runtimes."""

    filters = argparse.Namespace(**{**vars(args), "module": None})
    if not any((args.runtime, args.plan, args.region, args.state, args.in_channel, args.drifting)):
        return fleet
    metas = [raw for key, raw in fleet.catalog.items() if key[0] == RELEASE_META]
    whole = build_fleet(fleet.kymas.values(), metas)
    require_drift(whole, filters)
    chosen = {(one.ref.namespace, one.name) for one in choose_listed(whole, filters)}
    if not chosen:
        raise UsageError("no runtime matches", hint="`kymatui fleet` lists the runtimes")
    return replace(fleet, kymas={key: raw for key, raw in fleet.kymas.items() if key in chosen})


def _of_module(forecast: Forecast, wanted: str | None) -> Forecast:

    if not wanted:
        return forecast
    name, _, version = wanted.partition("@")
    known = {entry.module for entry in forecast.entries}
    if name not in known:
        raise UnknownNameError.near("module", name, known, where="in these runtimes")
    found = (one for one in forecast.entries if one.module == name)
    return replace(forecast, entries=tuple(one for one in found if not version or same_version(one.installed, version)))


def _compared(
    fleet: FleetObjects,
    change: CatalogChange,
    forecast: Forecast,
    args: argparse.Namespace,
    connect: Callable[[], Cluster] | None,
) -> list[MoveReport]:
    """Compare the versions of each move; `connect` is the cluster to ask who is affected, None for none."""
    reader = VersionReader(LazyFetcher(fetch_options(args)))
    return [
        MoveReport(one, compare_contents(reader, connect, one.before, one.after) if one.before and one.after else None)
        for one in version_moves(fleet, change, forecast)
    ]


def _fails(forecast: Forecast, outcomes: Iterable[str]) -> bool:
    wanted = {_EARLIER.get(outcome, outcome) for outcome in outcomes}
    if "never" in wanted:
        return False
    kinds = {entry.kind.value for entry in forecast.changed}
    return bool(kinds) if "any" in wanted else bool(kinds & wanted)
