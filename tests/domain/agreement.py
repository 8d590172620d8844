"""What every surface answers to the same questions about one runtime, and random worlds to ask about.

An answer is effective (of what is there) or reported (of what a Kyma alone says); the surface says which. Two
different answers of one kind to one question are a contradiction. None is an unknown that the surface explains.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import Final

from kymatui.cli.commands.fleet.compare import as_json as compare_json
from kymatui.cli.commands.fleet.fleet import _runtimes as fleet_listing
from kymatui.cli.commands.fleet.windows import _json as window_json
from kymatui.cli.commands.inspect.drift import _json as drift_json
from kymatui.cli.commands.inspect.module import facts, module_json
from kymatui.cli.output.audit_formats import as_json as audit_json
from kymatui.domain.audit.report import audit_runtime, judge_findings
from kymatui.domain.catalog.catalog import build_catalog
from kymatui.domain.catalog.catalog_json import catalog_to_json
from kymatui.domain.catalog.channel_matrix import build_matrix
from kymatui.domain.catalog.module_inputs import CatalogOptions
from kymatui.domain.catalog.rows import NAMING_LISTS, Catalog, ModuleRow
from kymatui.domain.fleet.fleet_tracker import FleetSnapshot, RuntimeKey
from kymatui.domain.fleet.maintenance import UpgradeStatus, fleet_maintenance, runtime_maintenance
from kymatui.domain.fleet.manifest_summary import read_summary
from kymatui.domain.fleet.pending_actions import pending_actions
from kymatui.domain.fleet.runtimes import Runtime, metas_by_module, read_runtime, version_matrix
from kymatui.domain.kyma.kymas import Kyma, read_kyma
from kymatui.domain.kyma.problems import Actor, AdviceKind, Severity
from kymatui.domain.kyma.template_index import index_templates
from kymatui.domain.remote.differences import LineVerdict
from kymatui.domain.remote.runtime_pair import RuntimePair, join_snapshots
from kymatui.domain.remote.side_by_side import compare_sides
from kymatui.domain.snapshot.snapshots import Feed, FeedState
from kymatui.domain.versions.drift import DriftKind
from kymatui.domain.versions.refusals import WaitsForWindow, WindowsUnreadable
from kymatui.domain.whatif.fleet_objects import CatalogChange, build_fleet_objects
from kymatui.domain.whatif.forecast import foresee
from kymatui.domain.whatif.module_results import ResultKind, ResultReason
from kymatui.lists.catalog import DRIFT_COLUMNS
from kymatui.lists.catalog_cells import CatalogEntry, explain_row
from kymatui.lists.columns import ABSENT, cells_of, row_document
from kymatui.lists.module import VERSION_COLUMNS, OfferEntry
from kymatui.ui.presenters.catalog.catalog_rows import table_rows
from kymatui.ui.presenters.catalog.catalog_views import ALL_MODULES
from kymatui.ui.presenters.catalog.problem_rows import count_problems, problem_rows
from kymatui.ui.presenters.fleet.fleet_reports import problem_rows as fleet_problem_rows
from kymatui.ui.presenters.fleet.fleet_reports import wait_rows
from kymatui.ui.presenters.fleet.runtime_rows import count_runtimes, explain_runtime
from kymatui.ui.presenters.module.module_facts import declared, findings, observed
from tests.domain import builders as b
from tests.domain.agreed_documents import audit_answers, catalog_answers, operator_answers, sync_answers
from tests.domain.agreed_worlds import REPORTED, Answer, Json, World, without_mark


def contradictions(answers: Sequence[Answer]) -> list[str]:
    """Return the questions with two answers."""
    known: dict[tuple[str, str, str], dict[str, list[str]]] = defaultdict(lambda: defaultdict(list))
    for one in answers:
        if one.value not in (None, Actor.UNKNOWN):
            known[one.subject, one.question, one.kind][repr(one.value)].append(one.surface)
    return [
        f"{subject or 'the runtime'}: {question} ({kind}): "
        + "; ".join(f"{value}: {', '.join(sorted(set(surfaces)))}" for value, surfaces in values.items())
        for (subject, question, kind), values in sorted(known.items())
        if len(values) > 1
    ]


def ask(world: World) -> list[Answer]:
    """Ask every surface every question."""
    return ask_pair(world.pair)


def ask_pair(pair: RuntimePair) -> list[Answer]:
    """Ask every surface every question about a runtime whose both sides are read."""
    assert pair.runtime is not None
    world = World(pair.control, pair.runtime)
    options = CatalogOptions(rules=pair.rules)
    catalog = build_catalog(join_snapshots(pair), b.NOW, options)
    kyma = read_kyma(world.control.kymas[0])
    assert isinstance(kyma, Kyma)
    return [
        *_catalog(catalog),
        *_tables(catalog),
        *_problems(catalog),
        *_compare(pair),
        *_audit(pair, catalog),
        *_risks(pair, catalog),
        *_fleet(world, kyma, catalog),
        *_windows(world, kyma, pair),
        *_whatif(world, catalog),
        *catalog_answers(catalog),
        *audit_answers(judge_findings(pair.name, pair.name, b.NOW, audit_runtime(pair, b.NOW))),
        *sync_answers(pair),
        *operator_answers(pair, catalog),
    ]


# one runtime's surfaces


def _catalog(catalog: Catalog) -> Iterator[Answer]:
    document = catalog_to_json(catalog)
    for row, entry in zip(catalog.rows, document["modules"], strict=True):
        name = row.name
        for key in _QUESTIONS:
            unknown = key in entry["unknown"]
            value = None if unknown else entry[key] or ""
            yield Answer("catalog -o json", name, key, value)
            yield Answer("module -o json", name, key, None if unknown else module_json(row)[key] or "")
        if entry["blockedBy"]:
            yield Answer(
                "catalog -o json", name, "is a blocked deletion wrong", row.reason.severity is not Severity.INFO
            )
            yield Answer("catalog -o json", name, "what blocks it first", entry["blockedBy"][0])
        yield Answer("catalog -o json", name, "is its deletion blocked", bool(entry["blockedBy"]))
        reports = module_json(row)["reports"]
        yield Answer("module -o json", name, "state", reports["kyma"], REPORTED)
        yield Answer("module -o json", name, "installed", reports["kymaVersion"], REPORTED)
        for offer in row.offers:
            marks = row_document(VERSION_COLUMNS, OfferEntry(row, offer))
            for key in ("installed", "desired"):
                if marks[key]:
                    yield Answer("versions -o json", name, key, entry[key] and offer.version)
        if row.drift.is_drift:
            found = drift_json(row)
            yield Answer("drift -o json", name, "drift", found["drift"])
            for key in ("installed", "desired", "actor"):
                yield Answer("drift -o json", name, key, found[key] or "")
            yield Answer("drift", name, "actor", cells_of(DRIFT_COLUMNS, CatalogEntry(row))["actor"].plain)
    for line in build_matrix(catalog).rows:
        if line.unknown_installed is None:
            yield Answer("channels side by side", line.module, "installed", line.installed)


_QUESTIONS: Final = (
    *("installed", "desired", "newest", "channel", "channelSource", "state", "drift"),
    *("reason", "actor", "advice", "command", "blockedBy"),
)


def _tables(catalog: Catalog) -> Iterator[Answer]:
    """The module command's table, the catalog's table on the screen, and the module page."""
    rows = {row.key: row for row in table_rows(catalog, ALL_MODULES, b.NOW)}
    for row in catalog.rows:
        unknown = {fact.value for fact in row.unknown}
        fields = dict(facts(row))
        page = {fact.label: fact.text for fact in (*declared(row, catalog), *observed(row, b.NOW))}
        for key in {"installed", "desired", "newest"} - unknown:
            words = {f"module, {key}": fields[key], f"screen, {key}": rows[row.name].cells[key].text, "page": page[key]}
            for surface, text in words.items():
                value = without_mark(text).removeprefix(ABSENT)
                yield Answer(surface, row.name, key, value)
        found = {fact.label: fact.text for fact in findings(row)}
        for surface, text in (("module", fields["blocked by"]), ("page", found.get("blocked by", ""))):
            yield Answer(surface, row.name, "blockedBy", text.split(", ") if text else "")
        yield Answer("module", row.name, "actor", fields["who acts"])
        yield Answer("module", row.name, "reason", fields["reason"])
        line = explain_row(row)
        yield Answer("the line under the catalog", row.name, "reason", line.text)
        if line.actor:
            yield Answer("the line under the catalog", row.name, "actor", line.actor.removeprefix("who acts: "))


def _problems(catalog: Catalog) -> Iterator[Answer]:
    document, rows = catalog_to_json(catalog), {row.name: row for row in catalog.rows}
    for problem in catalog.problems:
        if problem.advice is not None and problem.advice.kind is AdviceKind.RENAME and problem.ref is not None:
            question = "advice on a template that the sync overwrites"
            yield Answer("problems", problem.ref.name, question, problem.text)
        row = rows.get(problem.module)
        if row is not None and problem.message == row.reason.statement:
            yield Answer("problems", row.name, "actor", problem.actor.value)
            yield Answer("problems", row.name, "severity of the reason", problem.severity.value)
            if row.reason.blocked_by:
                yield Answer("problems", row.name, "what blocks it first", problem.object)
            if problem.advice is not None and row.reason.advice is not None:
                yield Answer("problems", row.name, "command", problem.advice.command)
    listed = [row for row in problem_rows(catalog) if row.cells["severity"].text != "info"]
    for surface, number in (
        ("header", _problem_count(count_problems(catalog))),
        ("problems", len(listed)),
        ("catalog -o json", document["counts"]["problems"]),
        ("catalog -o json, list", sum(one["severity"] != "info" for one in document["problems"])),
    ):
        yield Answer(surface, "", "how many problems", number)


def _problem_count(header: str) -> int:
    count = re.search(r"problems (\d+)", header)
    assert count is not None
    return int(count[1])


def _compare(pair: RuntimePair) -> Iterator[Answer]:
    compared = compare_sides(pair, b.NOW)
    for line in compare_json(compared, compared.lines)["lines"]:
        if line["field"] == "created by":
            yield Answer("compare", line["subject"], "advice on a template that the sync overwrites", line["why"])
        if line["about"] not in ("module", "module CR", "resource") or line["verdict"] == "unknown":
            continue
        if line["field"] in ("version", "state") and line["skr"] != "?":
            key = {"version": "installed", "state": "state"}[line["field"]]
            yield Answer("compare", line["subject"], key, line["skr"] or "")
        if "blocked" in (line["why"] or ""):
            yield Answer("compare", line["subject"], "is its deletion blocked", value=True)
            if line["field"] == "Manifest":
                yield Answer(
                    "compare", line["subject"], "is a blocked deletion wrong", line["verdict"] != LineVerdict.UNDER_WAY
                )
        if line["verdict"] not in ("same", "intended"):
            yield Answer("compare", line["subject"], "actor", line["actor"] or "")


def _audit(pair: RuntimePair, catalog: Catalog) -> Iterator[Answer]:
    report = judge_findings(pair.name, pair.name, b.NOW, audit_runtime(pair, b.NOW))
    document = audit_json(report)
    reasons = {row.name: row.reason for row in catalog.rows}
    for one in document["findings"]:
        reason = reasons.get(one["module"] or "")
        is_normal = reason is not None and reason.severity is Severity.INFO  # and takes too long
        if reason is not None and one["message"] == reason.text and one["rule"] not in _LONG * is_normal:
            yield Answer(f"audit {one['rule']}", one["module"], "severity of the reason", one["severity"])
        if one["rule"].startswith(("state.", "drift.")) and one["rule"] not in _OTHER_SUBJECT:
            yield Answer(f"audit {one['rule']}", one["module"], "actor", one["actor"] or "")
        if one["rule"] in ("state.error", "state.warning", "state.deleting", "state.processing"):
            yield Answer(f"audit {one['rule']}", one["module"], "reason", one["message"])
            yield Answer(f"audit {one['rule']}", one["module"], "state", one["value"])
            if reason is not None and reason.blocked_by:
                yield Answer(f"audit {one['rule']}", one["module"], "what blocks it first", one["object"])
        if one["rule"].startswith("kyma."):
            yield Answer(f"audit {one['rule']}", "", "actor of the Kyma", one["actor"] or "")


def _risks(pair: RuntimePair, catalog: Catalog) -> Iterator[Answer]:
    """What lifecycle-manager is known to do with a module: who acts, and by which command."""
    findings_of = defaultdict(list)
    for one in audit_json(judge_findings(pair.name, pair.name, b.NOW, audit_runtime(pair, b.NOW)))["findings"]:
        findings_of[one["module"], one["rule"]].append(one)
    for row in catalog.rows:
        document, listed = module_json(row), catalog_to_json(catalog)["problems"]
        for risk in row.foreseen:
            subject = f"{row.name}: {risk.risk}"
            for surface, problems in (("module -o json", document["problems"]), ("problems", listed)):
                for one in problems:
                    if one["message"] == risk.message and one["module"] == row.name:
                        yield Answer(surface, subject, "actor", one["actor"])
                        yield Answer(surface, subject, "severity", one["severity"])
                        yield Answer(surface, subject, "command", one["command"] or "")
            if row.reason.cause == risk.message:
                yield Answer("module -o json, reason", subject, "actor", document["actor"])
                yield Answer("module -o json, reason", subject, "command", document["command"] or "")
            told = [one for one in findings_of[row.name, "module.risk"] if one["path"] == risk.risk]
            for one in told:
                yield Answer("audit module.risk", subject, "actor", one["actor"])
                yield Answer("audit module.risk", subject, "severity", one["severity"])
                yield Answer("audit module.risk", subject, "text", one["message"])
            yield Answer("module", subject, "text", _text_of(row, risk.message))


def _text_of(row: ModuleRow, message: str) -> str | None:
    """Return the line of `module` about a risk, None if its reason says it."""
    return next((text for label, text in facts(row) if label in tuple(Severity) and text.startswith(message)), None)


_LONG: Final = ("state.deleting", "state.processing")
_OTHER_SUBJECT: Final = ("state.disagree", "drift.unknown", "drift.fields")


# the fleet's surfaces


def _key(runtime: Runtime) -> RuntimeKey:
    return runtime.ref.namespace, runtime.name


def fleet_of(world: World, kyma: Kyma) -> tuple[Runtime, FleetSnapshot]:
    """Return the runtime and the snapshot of a fleet that has read Kymas, release metas and Manifests."""
    runtime = read_runtime(kyma, metas_by_module(world.control.release_metas))
    key = _key(runtime)
    summaries = tuple(one for one in map(read_summary, world.control.manifests) if one is not None)
    waiting = any(one.mandatory and one.is_waiting for one in summaries)
    feeds = {name: Feed(FeedState.LIVE, b.NOW) for name in NAMING_LISTS}
    snapshot = FleetSnapshot(
        "kcp", {key: runtime}, {key: summaries}, feeds=feeds, mandatory=frozenset({key}) if waiting else frozenset()
    )
    return runtime, snapshot


def _fleet(world: World, kyma: Kyma, catalog: Catalog) -> Iterator[Answer]:
    runtime, picture = fleet_of(world, kyma)
    key = _key(runtime)
    listing = fleet_listing("kcp", [runtime], None)
    (document,) = listing.document(listing.entries)["runtimes"]
    counts = {one.module: dict(one.counts) for one in version_matrix([runtime])}
    problems = listing.document(listing.entries)["counts"]["withProblems"]
    shown = re.search(r", (\d+)\+? with problems", listing.below[0])
    yield Answer("fleet -o json", "", "how many runtimes with problems", problems, "fleet of Kymas")
    yield Answer("fleet", "", "how many runtimes with problems", shown and int(shown[1]), "fleet of Kymas")
    for module in document["modules"]:
        name = module["name"]
        assert (module["installedSource"] in (None, REPORTED), module["stateSource"]) == (True, "kyma")
        yield Answer("fleet -o json", name, "installed", module["installed"], REPORTED)
        if kyma.report(name) is not None:
            yield Answer("fleet -o json", name, "state", module["state"], REPORTED)
        yield Answer("matrix", name, "installed", next(iter(counts[name])) or None, REPORTED)
        yield from _fleet_module(module, catalog)
    cells = cells_of(listing.columns, listing.entries[0])
    yield Answer("fleet -o wide", "", "actor of the runtime", cells["actor"].plain, "fleet of Kymas")
    yield Answer("fleet -o json", "", "actor of the runtime", document["actor"] or "", "fleet of Kymas")
    yield from _screens(runtime, picture, None, "fleet of Kymas and Manifests")
    yield from _screens(runtime, picture, catalog, "connected fleet")
    for wait in pending_actions(picture, {key: catalog}):
        row = catalog.row(wait.module)
        if row is not None:
            yield Answer("waits of a connected fleet", wait.module, "actor", wait.actor.value)
            yield Answer("waits of a connected fleet", wait.module, "reason", wait.reason)
            yield Answer("waits of a connected fleet", wait.module, "state", wait.state.value)
    for wait in pending_actions(picture):
        if wait.module and not wait.reason.startswith("mandatory"):
            yield Answer("waits", wait.module, "state", wait.state.value, REPORTED)


def _fleet_module(module: Json, catalog: Catalog) -> Iterator[Answer]:
    """What only its Kyma reports must be what the row has, where it follows the reported channel."""
    row = catalog.row(module["name"])
    assert row is not None
    assert module["channelSource"] == REPORTED
    if module["channel"] == row.channel and module["desired"]:
        yield Answer("fleet -o json", row.name, "desired", module["desired"])
    assert module["actorSource"] == REPORTED
    assert bool(module["unknown"]) is (module["actor"] == Actor.UNKNOWN)
    yield Answer("fleet -o json", row.name, "actor", module["actor"] or "", REPORTED)


def _screens(runtime: Runtime, picture: FleetSnapshot, catalog: Catalog | None, kind: str) -> Iterator[Answer]:
    key = _key(runtime)
    catalogs = {} if catalog is None else {key: catalog}
    text, who, _ = explain_runtime(runtime, picture, catalog)
    yield Answer("line under the fleet", "", "reason of the runtime", text, kind)
    actor = who.removeprefix("who acts: ").removesuffix(" until the runtime is read (enter)")
    yield Answer("line under the fleet", "", "actor of the runtime", actor, kind)
    rows = fleet_problem_rows(picture, catalogs)
    if catalog is None:
        counted = re.search(r"with problems (\d+)", count_runtimes(picture, ()))
        yield Answer("header of the fleet", "", "how many runtimes with problems", counted and int(counted[1]), kind)
        yield Answer("problems of the fleet", "", "how many runtimes with problems", len(rows), kind)
    for row in rows:
        yield Answer("problems of the fleet", "", "reason of the runtime", row.cells["reason"].text, kind)
        yield Answer("problems of the fleet", "", "actor of the runtime", row.cells["on"].text, kind)
    waits = pending_actions(picture, catalogs)
    for wait, row in zip(waits, wait_rows(waits, b.NOW), strict=True):
        assert (row.cells["on"].text, row.cells["reason"].text) == (wait.actor.value, wait.reason)


def _windows(world: World, kyma: Kyma, pair: RuntimePair) -> Iterator[Answer]:
    index = index_templates(world.control.templates, world.control.release_metas, kyma.meta.namespace)
    found = window_json(runtime_maintenance(kyma, index, pair.rules, b.NOW))
    for upgrade in found["upgrades"]:
        yield Answer("windows -o json", upgrade["module"], "installed", upgrade["installed"], REPORTED)
    runtime, picture = fleet_of(world, kyma)
    awaiting = {upgrade.module for upgrade in fleet_maintenance(runtime, pair.rules, b.NOW).upgrades}
    reported = [upgrade for upgrade in found["upgrades"] if upgrade["standing"] == UpgradeStatus.REPORTED.value]
    waiting = {wait.module for wait in pending_actions(picture)}
    for module in {*awaiting, *(upgrade["module"] for upgrade in reported)}:
        yield Answer("windows, screen", module, "awaits a window", module in awaiting, REPORTED)
        yield Answer("waits", module, "awaits a window", module in waiting or runtime.deleting, REPORTED)
    catalog = build_catalog(join_snapshots(pair), b.NOW, CatalogOptions(rules=pair.rules))
    connected = {wait.module for wait in pending_actions(picture, {_key(runtime): catalog})}
    for row in catalog.rows:
        refused = isinstance(row.resolution.refusal, WaitsForWindow | WindowsUnreadable) and row.managed
        is_unknown = row.drift.kind is DriftKind.UNKNOWN
        if row.drift.kind is DriftKind.AWAITING_WINDOW or (refused and is_unknown):
            yield Answer("catalog", row.name, "awaits a window", "yes")
            listed = "yes" if row.name in connected else "no"
            yield Answer("waits of a connected fleet", row.name, "awaits a window", listed)


def _whatif(world: World, catalog: Catalog) -> Iterator[Answer]:
    objects = (*world.control.templates, *world.control.release_metas)
    forecast = foresee(build_fleet_objects("kcp", world.control.kymas, objects, {}, b.NOW), CatalogChange(()), b.NOW)
    yield Answer("whatif of no change", "", "changes", [one.module for one in forecast.changed])
    yield Answer("definition", "", "changes", [])
    reported = read_kyma(world.control.kymas[0])
    assert isinstance(reported, Kyma)
    for entry in forecast.entries:
        report = reported.report(entry.module)
        if report is not None and report.version and not _is_mandatory(world, entry.module):
            yield Answer("whatif", entry.module, "installed", entry.installed, REPORTED)
        row, today = catalog.row(entry.module), entry.today
        is_resolved = today.kind in _RESOLVED and today.reason is ResultReason.NONE and bool(today.version)
        if row is not None and is_resolved and today.channel == row.channel:
            yield Answer("whatif", entry.module, "desired", today.version)


_RESOLVED: Final = (ResultKind.KEEP, ResultKind.INSTALL, ResultKind.UPGRADE, ResultKind.DOWNGRADE)


def _is_mandatory(world: World, module: str) -> bool:
    return any("mandatory" in raw["spec"] for raw in world.control.release_metas if raw["spec"]["moduleName"] == module)
