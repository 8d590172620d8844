"""`kymatui whatif -f NEW.yaml`: what a change of catalog, Kymas or settings does to a fleet, before it is made."""

from __future__ import annotations

import argparse
import shlex
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from typing import TYPE_CHECKING, Any, Final

from msgspec import Struct
from msgspec.structs import replace

from kymatui.actions.modules.version_content import VersionReader, VersionReport, compare_contents
from kymatui.cli.cluster_options import (
    add_cluster_options,
    add_contexts,
    add_fetching,
    add_option,
    add_options,
    add_remote_options,
    fetch_options,
    uses_contexts,
)
from kymatui.cli.commands.fleet.sync import read_labels
from kymatui.cli.options.fleet_filters import add_fleet_filters, choose_listed, require_drift
from kymatui.cli.options.listing import add_list_output, add_list_timeout, read_again
from kymatui.cli.output.audit_formats import sarif_log, stamp
from kymatui.cli.output.html_page import html_page, html_section, html_table, html_text
from kymatui.cli.output.listing import Listing, ListPrinter, render
from kymatui.cli.output.plan_changes import affected_json, change_json
from kymatui.cli.output.printing import document, markdown, print_message, table
from kymatui.cli.session_arguments import remote_options_of, session_options_of
from kymatui.domain.fleet.runtimes import build_fleet
from kymatui.domain.kubernetes.terminal_text import format_count, with_subject
from kymatui.domain.kyma.versions import same_version
from kymatui.domain.versions.manifest_diff import DiffSection
from kymatui.domain.whatif.fleet_objects import RELEASE_META, CatalogChange, FleetObjects, without_other_kymas
from kymatui.domain.whatif.forecast import Forecast, ModuleForecast, foresee
from kymatui.domain.whatif.module_results import ModuleResult, ResultKind, state_after
from kymatui.domain.whatif.summary import (
    GROUPS,
    Canary,
    CanaryEdit,
    ForecastGroup,
    VersionMove,
    canary_edits,
    change_notes,
    count_kinds,
    forecast_notes,
    forecast_summary,
    group_forecast,
    kind_label,
    propose_canaries,
    reason_words,
    result_words,
    version_moves,
)
from kymatui.engine.cluster.ports import Cluster
from kymatui.errors import PartlyDoneError, RefusedError, UnknownNameError, UsageError
from kymatui.lists.columns import text_columns
from kymatui.sessions.fetching import LazyFetcher

if TYPE_CHECKING:
    from kymatui.sessions.cluster.catalog_session import CatalogSession
    from kymatui.sessions.cluster.session_options import SessionOptions
    from kymatui.sessions.reports.what_if import ChangeRequest


_FAILING: Final = ("uninstall", "downgrade-refused", "error")
_FAIL_ON: Final = (*_FAILING, "downgrade", "not-installed", "await-window", "upgrade", "install", "any", "never")
_EARLIER: Final = {"held-back": "downgrade-refused", "wait": "await-window"}


def configure(parser: argparse.ArgumentParser) -> None:
    change = parser.add_argument_group("the change")
    add_option(
        change,
        "-f --filename FILE…",
        "file or folder with new or changed ModuleReleaseMetas, ModuleTemplates and Kymas; repeatable; - is stdin",
        dest="files",
    )
    add_option(
        change,
        "--git",
        "what differs between two git revisions of a folder; what only BASE has is deleted",
        nargs=2,
        metavar=("BASE..HEAD", "DIR"),
    )
    add_option(
        change, "--delete KIND/NAME…", "ModuleReleaseMeta or ModuleTemplate that is deleted; repeatable", dest="deleted"
    )
    options = {
        "--label KEY=VALUE…": "set this label on the Kymas of the selected runtimes; KEY- removes it; repeatable",
        "--policy FILE": "maintenance policy to use instead of the current one",
    }
    add_options(change, options, "")
    add_option(
        change,
        "--restricted MODULE…",
        'all modules that are restricted after the change; repeatable; "" for none',
        default=None,
    )
    answer = parser.add_argument_group("output")
    add_option(answer, "--group", "count runtimes by this property", choices=GROUPS, default="")
    options = {
        "--each": "list each runtime (--module and --runtime do so, too)",
        "--canaries": "list the runtimes to try the change on first",
        "--manifests": "also compare both versions of each upgrade: risks, images, rights, CRDs (fetches them)",
    }
    add_options(answer, options)
    add_option(
        answer,
        "--fail-on OUTCOME…",
        f"outcome that sets exit status 2; repeatable: {', '.join(_FAIL_ON)} (default: {', '.join(_FAILING)})",
        choices=(*_FAIL_ON, *_EARLIER),
        default=None,
    )
    add_list_output(parser, "html", "sarif", watch=False)
    add_list_timeout(parser)
    add_fetching(answer)
    add_fleet_filters(parser.add_argument_group("the runtimes"))
    add_option(
        parser, "--fleet FILE", "read a file of `kymatui fleet export`, not a cluster", dest="fleet_file", default=""
    )
    add_contexts(parser, "forecast for each of these contexts of the kubeconfig")
    add_cluster_options(parser)
    add_remote_options(parser)


def run(args: argparse.Namespace) -> int:
    from kymatui.sessions.reports.what_if import ChangeRequest, read_fleet_of

    request = ChangeRequest(
        args.files, args.deleted, read_labels(args.label), args.policy, args.restricted, tuple(args.git or ()) or None
    )
    if request.empty:
        raise UsageError("no change given", hint="use -f FILE, --git, --delete, --label, --policy or --restricted")
    if args.fleet_file and args.selector:
        raise UsageError("--selector cannot be combined with --fleet FILE", hint="use --plan, --region or --runtime")
    if args.manifests and args.output == "sarif":
        raise UsageError("--manifests cannot print SARIF", hint="use -o table, md, json or yaml")
    now = time.time()
    args.watch = False
    if uses_contexts(args):
        return _show_contexts(args, request, now)
    control = remote_options_of(args, read_only=True)[0].control
    printer = ListPrinter(args)
    fleet, notes = next(read_again(args, lambda: read_fleet_of(args.fleet_file, control, args.selector, now)))
    printer.note(*notes)
    answer = _foreseen(args, request, fleet, control, now)
    printer.note(*answer.notes)
    printer.put(forecast_text(answer.forecast, args, answer.fleet, answer.moves))
    printer.note(*answer.unread)
    return answer.status(args)


def _show_contexts(args: argparse.Namespace, request: ChangeRequest, now: float) -> int:
    """Print the forecasts of all contexts as one list; return the worst exit status."""
    from kymatui.cli.options.contexts import show_contexts
    from kymatui.sessions.reports.what_if import read_changed_files, read_fleet_of

    if args.fleet_file or "-" in args.files or args.output in ("html", "sarif"):
        raise UsageError("--contexts excludes --fleet FILE, -f - and the formats html and sarif")
    read_changed_files(request)  # what is wrong with a file is wrong once, and not in each context
    options = replace(session_options_of(args)[0], read_only=True)

    def listing_of(session: CatalogSession) -> tuple[Listing[Any], int]:
        own = replace(options, context=session.name)
        fleet, notes = read_fleet_of("", own, args.selector, now)
        answer = _foreseen(args, request, fleet, own, now)
        for note in (*notes, *answer.notes, *answer.unread):
            print_message(with_subject(session.name, note))
        return _listing(answer.forecast, args, answer.fleet, answer.moves), answer.status(args)

    return show_contexts(args, listing_of)


class _Answer(Struct, frozen=True):
    """The forecast of a fleet, with what is to be known of it."""

    forecast: Forecast
    fleet: FleetObjects
    moves: Sequence[MoveReport]
    notes: Sequence[str]

    @property
    def unread(self) -> list[str]:
        return [f"not compared: {reason}" for move in self.moves for reason in move.unread]

    def status(self, args: argparse.Namespace) -> int:
        if _fails(self.forecast, args.fail_on or _FAILING):
            return RefusedError.exit_code
        return PartlyDoneError.exit_code if self.unread else 0


def _foreseen(
    args: argparse.Namespace, request: ChangeRequest, fleet: FleetObjects, control: SessionOptions, now: float
) -> _Answer:
    from kymatui.sessions.reports.what_if import read_change, single_cluster

    if not fleet.kymas:
        raise UsageError(f"{fleet.cluster} has no Kyma that matches", hint="`kymatui fleet` lists the runtimes")
    narrowed = _narrowed(fleet, args)
    change, left_out = read_change(request, fleet)
    notes = (*left_out, *change_notes(change, fleet))
    if narrowed is not fleet or args.selector:
        change = without_other_kymas(change, narrowed)
    forecast = _of_module(foresee(narrowed, change, now), args.module)
    moves: list[MoveReport] = []
    if args.manifests:
        with single_cluster(control, narrowed, args.fleet_file) as connect:
            moves = _compared(narrowed, change, forecast, args, connect)
    return _Answer(forecast, narrowed, moves, (*notes, *forecast_notes(forecast)))


def _narrowed(fleet: FleetObjects, args: argparse.Namespace) -> FleetObjects:
    """Return the fleet with the runtimes that the words choose; --module chooses outcomes, not runtimes."""

    filters = argparse.Namespace(**{**vars(args), "module": None})
    if not any((args.runtime, args.plan, args.region, args.state, args.in_channel, args.drifting)):
        return fleet
    metas = [raw for key, raw in fleet.catalog.items() if key[0] == RELEASE_META]
    listed = build_fleet(fleet.kymas.values(), metas)
    require_drift(listed, filters)
    chosen = {(runtime.ref.namespace, runtime.name) for runtime in choose_listed(listed, filters)}
    if not chosen:
        raise UsageError("no runtime matches", hint="`kymatui fleet` lists the runtimes")
    return replace(fleet, kymas={key: raw for key, raw in fleet.kymas.items() if key in chosen})


def _of_module(forecast: Forecast, selection: str | None) -> Forecast:

    if not selection:
        return forecast
    name, _, version = selection.partition("@")
    known = {entry.module for entry in forecast.entries}
    if name not in known:
        raise UnknownNameError.near("module", name, known, where="in these runtimes")
    entries = (entry for entry in forecast.entries if entry.module == name)
    return replace(
        forecast, entries=tuple(entry for entry in entries if not version or same_version(entry.installed, version))
    )


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
        MoveReport(
            move, compare_contents(reader, connect, move.before, move.after) if move.before and move.after else None
        )
        for move in version_moves(fleet, change, forecast)
    ]


def _fails(forecast: Forecast, outcomes: Iterable[str]) -> bool:
    refused = {_EARLIER.get(outcome, outcome) for outcome in outcomes}
    if "never" in refused:
        return False
    kinds = {entry.kind.value for entry in forecast.changed}
    return bool(kinds) if "any" in refused else bool(kinds & refused)


# A forecast as `kymatui whatif` prints it: numbers, runtimes, canaries, and SARIF for a check of a pull request.


Json = dict[str, Any]
_LEVELS: Final = {ResultKind.UNINSTALL: "error", ResultKind.ERROR: "error", ResultKind.HELD_BACK: "warning"}
_SECTIONS: Final = (DiffSection.IMAGES, DiffSection.RBAC, DiffSection.CRDS)
_TITLES: Final = {
    ResultKind.UNINSTALL: "A module is uninstalled",
    ResultKind.ERROR: "A module has no usable version",
    ResultKind.NOT_INSTALLED: "A requested module is not installed",
    ResultKind.HELD_BACK: "A downgrade is refused",
    ResultKind.DOWNGRADE: "A module is downgraded",
    ResultKind.WAIT: "An upgrade awaits a maintenance window",
    ResultKind.UPGRADE: "A module is upgraded",
    ResultKind.INSTALL: "A module is installed",
    ResultKind.RECOVER: "An error or a refused downgrade ends",
}


class MoveReport(Struct, frozen=True):
    """What differs between the versions of a move, None if a template of them is in no catalog."""

    move: VersionMove
    report: VersionReport | None

    @property
    def unread(self) -> tuple[str, ...]:
        """Return what could not be compared, and why."""
        if self.report is not None:
            return tuple(f"{self.move.module} {reason}" for reason in self.report.unread)
        lacking = self.move.installed if self.move.before is None else self.move.version
        return (f"{self.move.module} {lacking}: no ModuleTemplate",)


def forecast_text(
    forecast: Forecast, args: argparse.Namespace, fleet: FleetObjects, moves: Sequence[MoveReport] = ()
) -> str:
    """Return the forecast of a fleet in the format of `-o`; `moves` are the compared versions."""
    if args.output == "sarif":
        return document(_sarif(forecast), "json")
    if args.output == "html":
        return forecast_page(forecast, forecast_summary(forecast), args.group, _tables(moves))
    return render(_listing(forecast, args, fleet, moves), args)


def _listing(
    forecast: Forecast, args: argparse.Namespace, fleet: FleetObjects, moves: Sequence[MoveReport]
) -> Listing[Any]:
    is_each = args.each or args.runtime or args.module
    groups: Listing[Any] = _each(forecast) if is_each else _groups(forecast, args.group)
    listing = _canaries(forecast, fleet) if args.canaries else groups
    return _with_moves(listing, moves, args.output) if args.manifests else listing


def _with_moves(listing: Listing[Any], moves: Sequence[MoveReport], form: str) -> Listing[Any]:
    draw = markdown if form == "md" else table
    compared = [_move_json(report) for report in moves]
    return replace(
        listing,
        below=(*(draw(header, rows) for _, header, rows in _tables(moves)), *listing.below),
        document=lambda listed: {**listing.document(listed), "versions": compared},
    )


def _tables(moves: Sequence[MoveReport]) -> list[Table]:
    """Return what the versions of the moves differ in, without empty tables."""
    tables: list[Table] = [
        (
            "Risks",
            ("MODULE", "FROM", "TO", "RISK", "OBJECT", "WHAT"),
            [row for report in moves for row in _risk_rows(report)],
        ),
        (
            "Versions",
            ("MODULE", "FROM", "TO", "SECTION", "CHANGE", "WHAT", "VALUE"),
            [row for report in moves for row in _move_rows(report)],
        ),
    ]
    return [entry for entry in tables if entry[2]]


# lists

_WIDE: Final = ("PLAN", "REGION", "CHANNEL")


def _groups(forecast: Forecast, by: str) -> Listing[ForecastGroup]:
    groups = group_forecast(forecast, by)
    return Listing(
        columns=text_columns(
            *((by.upper(),) if by else ()), "OUTCOME", "MODULE", "INSTALLED", "VERSION", "RUNTIMES", "WHY"
        ),
        entries=groups,
        rows=lambda group: ((*((group.group,) if by else ()), *_group_row(group)),),
        document=lambda listed: _json(forecast, by, listed),
        item=lambda group: _group_json(group, by),
        name=lambda group: group.module,
        below=(forecast_summary(forecast),),
        empty=forecast_summary(forecast),
    )


def _group_row(group: ForecastGroup) -> Sequence[str]:
    why = reason_words(group.example, group.window)
    return kind_label(group.kind), group.module, group.installed, group.version, str(len(group.entries)), why


def _each(forecast: Forecast) -> Listing[ModuleForecast]:
    return Listing(
        columns=text_columns(
            "RUNTIME", "PLAN", "REGION", "CHANNEL", "OUTCOME", "MODULE", "INSTALLED", "VERSION", "WHY", wide=_WIDE
        ),
        entries=[entry for group in group_forecast(forecast) for entry in group.entries],
        rows=lambda entry: (_entry_row(forecast, entry),),
        document=lambda listed: {**_head(forecast), "changes": [_entry_json(entry) for entry in listed]},
        item=_entry_json,
        name=lambda entry: entry.runtime[1],
        below=(forecast_summary(forecast),),
        empty=forecast_summary(forecast),
    )


def _entry_row(forecast: Forecast, entry: ModuleForecast) -> Sequence[str]:
    runtime = forecast.runtimes[entry.runtime]
    runtime_cells = (runtime.name, runtime.plan, runtime.region, runtime.channel)
    return (
        *runtime_cells,
        kind_label(entry.kind),
        entry.module,
        entry.installed,
        entry.then.version,
        reason_words(entry),
    )


def _canaries(forecast: Forecast, fleet: FleetObjects) -> Listing[Canary]:
    canaries = propose_canaries(forecast)
    edits = canary_edits(fleet, canaries)
    return Listing(
        columns=text_columns("RUNTIME", "PLAN", "REGION", "CHANNEL", "REPRESENTS", "CHANGES"),
        entries=canaries,
        rows=lambda canary: (_canary_row(canary),),
        document=lambda listed: {
            **_head(forecast),
            "canaries": [_canary_json(canary) for canary in listed],
            "edits": [_edit_json(edit) for edit in edits],
        },
        item=_canary_json,
        name=lambda canary: canary.runtime.name,
        below=(_canary_hint(canaries, edits), forecast_summary(forecast)),
        empty=forecast_summary(forecast),
    )


def _canary_hint(canaries: Sequence[Canary], edits: Sequence[CanaryEdit]) -> str:
    """Return the commands that try the change on the canaries, else the options that limit an edit to them."""
    if not edits:
        return f"To limit an edit (`kymatui channel`, `enable` …) to these runtimes, add: {_chosen(canaries)}"
    first = "A channel has the version already. To try it on the canaries, one by one until one fails:"
    return "\n".join([first, *(f"  {_edit_command(edit)}" for edit in edits)])


def _chosen(canaries: Sequence[Canary]) -> str:
    return shlex.join(["--fleet", *(word for canary in canaries for word in ("--runtime", canary.runtime.name))])


def _edit_command(edit: CanaryEdit) -> str:
    """Return the campaign of an edit: every runtime is a canary of it, so that the first failure stops it."""
    words = ["kymatui", "channel", edit.module, edit.channel, "--fleet", "--allow-fleet-writes"]
    names = [word for name in edit.runtimes for word in ("--runtime", name)]
    return shlex.join([*words, "--canaries", str(len(edit.runtimes)), *names])


def _canary_row(canary: Canary) -> Sequence[str]:
    changes = ", ".join(
        f"{kind_label(entry.kind)} {entry.module} {entry.then.version}".strip() for entry in canary.entries
    )
    runtime_cells = (canary.runtime.name, canary.runtime.plan, canary.runtime.region, canary.runtime.channel)
    return (*runtime_cells, format_count(canary.alike, "runtime"), changes)


def _risk_rows(report: MoveReport) -> list[Sequence[str]]:
    """Return the risks, then the objects of the cluster that lose something, if it was asked."""
    if report.report is None:
        return []
    versions = report.move.module, report.move.installed, report.move.version
    risks = [(*versions, risk.label, risk.object, risk.what) for risk in report.report.risks]
    affected = [
        (*versions, entry.label, entry.crd, " ".join(filter(None, (entry.what, entry.message))))
        for entry in report.report.affected
    ]
    return [*risks, *affected]


def _move_rows(report: MoveReport) -> list[Sequence[str]]:
    """Return images, rights and CRDs; JSON has all sections."""
    if report.report is None:
        return []
    sections = report.report.sections
    return [
        (
            report.move.module,
            report.move.installed,
            report.move.version,
            str(name),
            str(change.kind),
            change.path,
            change.values,
        )
        for name in _SECTIONS
        for change in sections.get(name, ())
    ]


# JSON


def _head(forecast: Forecast) -> Json:
    return {
        "cluster": forecast.cluster,
        "takenAt": stamp(forecast.taken_at),
        "runtimes": len(forecast.runtimes),
        "counts": {kind.value: number for kind, number in count_kinds(forecast.changed).items()},
        "added": [f"{namespace}/{name}" for namespace, name in forecast.added],
        "malformed": [item.ref.path for item in forecast.malformed],
    }


def _json(forecast: Forecast, by: str, groups: Sequence[ForecastGroup]) -> Mapping[str, Any]:
    return {
        **_head(forecast),
        "groups": [_group_json(group, by) for group in groups],
        "changes": [_entry_json(entry) for entry in forecast.changed],
    }


def _group_json(group: ForecastGroup, by: str) -> Json:
    group_document: Json = {
        "outcome": group.kind.value,
        "module": group.module,
        "installed": group.installed or None,
        "version": group.version or None,
        "reason": group.reason.value or None,
        "message": reason_words(group.example, group.window) or None,
        "runtimes": len(group.entries),
    }
    return {by: group.group, **group_document} if by else group_document


def _entry_json(entry: ModuleForecast) -> Json:
    namespace, name = entry.runtime
    return {
        "runtime": name,
        "namespace": namespace,
        "module": entry.module,
        "outcome": entry.kind.value,
        "installed": entry.installed or None,
        "today": _result_json(entry.today),
        "then": _result_json(entry.then),
        "message": reason_words(entry) or None,
    }


def _result_json(result: ModuleResult) -> Json:
    state, window = state_after(result), result.window
    return {
        "result": result.kind.value,
        "version": result.version or None,
        "channel": result.channel or None,
        "reason": result.reason.value or None,
        "state": state.value if state is not None else None,
        "dropsVersion": result.drops_version,
        "downtime": result.downtime,
        "window": {"begin": stamp(window.begin), "end": stamp(window.end)} if window is not None else None,
    }


def _move_json(report: MoveReport) -> Json:
    sections = report.report.sections if report.report is not None else {}
    return {
        "module": report.move.module,
        "from": report.move.installed,
        "to": report.move.version,
        "runtimes": report.move.runtimes,
        "differences": {str(name): [change_json(change) for change in changes] for name, changes in sections.items()},
        "risks": [
            {"risk": risk.kind.value, "object": risk.object, "what": risk.what or None}
            for risk in (report.report.risks if report.report is not None else ())
        ],
        "affected": [
            affected_json(affected) for affected in (report.report.affected if report.report is not None else ())
        ],
        "unread": list(report.unread),
    }


def _canary_json(canary: Canary) -> Json:
    return {
        "runtime": canary.runtime.name,
        "namespace": canary.runtime.ref.namespace,
        "plan": canary.runtime.plan or None,
        "region": canary.runtime.region or None,
        "channel": canary.runtime.channel or None,
        "standsFor": canary.alike,
        "changes": [_entry_json(entry) for entry in canary.entries],
    }


def _edit_json(edit: CanaryEdit) -> Json:
    return {
        "module": edit.module,
        "version": edit.version,
        "channel": edit.channel,
        "runtimes": list(edit.runtimes),
        "command": _edit_command(edit),
    }


def _sarif(forecast: Forecast) -> Json:
    """Return one result for each group of runtimes: thousands of equal results hide the others."""
    groups = group_forecast(forecast)
    kinds = list(dict.fromkeys(group.kind for group in groups))
    rules = [
        {
            "id": f"whatif.{kind.value}",
            "shortDescription": {"text": _TITLES[kind]},
            "defaultConfiguration": {"level": _LEVELS.get(kind, "note")},
        }
        for kind in kinds
    ]
    return sarif_log(rules, [_sarif_result(forecast, group, kinds) for group in groups], forecast.taken_at)


def _sarif_result(forecast: Forecast, group: ForecastGroup, kinds: Sequence[ResultKind]) -> Json:
    versions = " → ".join(filter(None, (group.installed, group.version)))
    why = reason_words(group.example, group.window)
    text = f"{group.module} {versions}: {kind_label(group.kind)} in {format_count(len(group.entries), 'runtime')}"
    qualified_name = "/".join((forecast.cluster, group.module))
    return {
        "ruleId": f"whatif.{group.kind.value}",
        "ruleIndex": kinds.index(group.kind),
        "level": _LEVELS.get(group.kind, "note"),
        "message": {"text": f"{text} ({why})" if why else text},
        "locations": [{"logicalLocations": [{"fullyQualifiedName": qualified_name, "kind": "resource"}]}],
        "properties": {**_group_json(group, ""), "names": [name for _, name in group.runtimes[:100]]},
    }


MOST_RUNTIMES: Final = 1000
"""Runtimes that one number opens; a browser is slow with more, and JSON has all."""
Table = tuple[str, Sequence[str], Sequence[Sequence[str]]]
"""Title, header and rows."""


def forecast_page(forecast: Forecast, summary: str, by: str, tables: Sequence[Table] = ()) -> str:
    """Return the page; `by` groups runtimes, `tables` follow the numbers."""
    return html_page(f"What if: {forecast.cluster}", _parts(forecast, summary, by, tables))


def _parts(forecast: Forecast, summary: str, by: str, tables: Sequence[Table]) -> Iterator[str]:
    yield f"<p>{html_text(summary)}<br><small>{stamp(forecast.taken_at)}</small></p>"
    for group, groups in groupby(group_forecast(forecast, by), key=lambda item: item.group):
        yield f"<h2>{html_text(f'{by}: {group}')}</h2>" if by else "<h2>Changes</h2>"
        for entry in groups:
            yield _number(forecast, entry)
    for title, header, rows in tables:
        yield html_section((title, [name.capitalize() for name in header], rows))
    canaries = propose_canaries(forecast)
    if canaries:
        rows = [
            (canary.runtime.name, canary.runtime.plan, canary.runtime.region, canary.runtime.channel, str(canary.alike))
            for canary in canaries
        ]
        yield html_section(("Canaries", ("Runtime", "Plan", "Region", "Channel", "Represents"), rows))


def _number(forecast: Forecast, group: ForecastGroup) -> str:
    count = format_count(len(group.entries), "runtime")
    versions = " → ".join(filter(None, (group.installed, group.version)))
    why = reason_words(group.example, group.window)
    head = " ".join(filter(None, (group.module, versions)))
    title = f"<strong>{html_text(kind_label(group.kind))}</strong> {html_text(head)}: {count}"
    rest = len(group.entries) - MOST_RUNTIMES
    more = f"<p>{format_count(rest, 'more runtime')}: `-o json` has all.</p>" if rest > 0 else ""
    header = ("Runtime", "Plan", "Region", "Channel", "Today", "Then", "Why")
    body = html_table(header, [_row(forecast, entry) for entry in group.entries[:MOST_RUNTIMES]])
    small = f"<br><small>{html_text(why)}</small>" if why else ""
    return f"<details><summary>{title}{small}</summary>{body}{more}</details>"


def _row(forecast: Forecast, entry: ModuleForecast) -> Sequence[str]:
    runtime = forecast.runtimes[entry.runtime]
    runtime_cells = (runtime.name, runtime.plan, runtime.region, runtime.channel)
    return (*runtime_cells, result_words(entry.today), result_words(entry.then), reason_words(entry))
