"""What documents, pages and the operator answer about one runtime, in the form of `tests.domain.agreement`."""

from __future__ import annotations

import re
import threading
from collections.abc import Iterable, Iterator, Sequence
from types import SimpleNamespace
from typing import Any, Final, cast
from unittest.mock import patch
from xml.etree import ElementTree

import yaml

from kymatui.cli.commands.fleet.sync import _json as sync_json
from kymatui.cli.commands.fleet.sync import _listing as sync_listing
from kymatui.cli.commands.fleet.watchers import _listing as watcher_listing
from kymatui.cli.commands.inspect.audit import _rows as finding_rows
from kymatui.cli.commands.inspect.checks import checks_json
from kymatui.cli.commands.inspect.diagnose import _explained as diagnosed_module
from kymatui.cli.commands.inspect.diagnose import _module as diagnosed_cells
from kymatui.cli.commands.inspect.diagnose import _problems as diagnosed_problems
from kymatui.cli.commands.inspect.module import facts, module_json
from kymatui.cli.output.audit_formats import as_html, as_json, as_junit, as_sarif
from kymatui.cli.output.listing import render_document
from kymatui.domain.audit.fleet_rules import chain_findings
from kymatui.domain.audit.report import AuditReport
from kymatui.domain.catalog.rows import Catalog
from kymatui.domain.kyma.template_index import index_templates
from kymatui.domain.kyma_edit.label_effects import synced_objects
from kymatui.domain.modules.module_outcomes import Outcome
from kymatui.domain.plans.kyma_manifest import ModuleContent
from kymatui.domain.plans.manifest_body import ManifestLayer
from kymatui.domain.remote.catalog_sync import SyncEntry, SyncStatus, catalog_writes, plan_pair_sync
from kymatui.domain.remote.differences import LineArea, LineVerdict
from kymatui.domain.remote.runtime_pair import RuntimePair
from kymatui.domain.remote.side_by_side import compare_sides
from kymatui.domain.remote.watcher_chains import WatcherChain, chain_json
from kymatui.lists.audit import FINDING_COLUMNS
from kymatui.lists.catalog import COLUMNS, REMOTE_COLUMNS
from kymatui.lists.catalog_cells import CatalogEntry
from kymatui.lists.columns import cells_of
from kymatui.lists.control_plane import COMPARISON_COLUMNS, SYNC_COLUMNS, WATCHER_COLUMNS, LinkEntry
from kymatui.operator.kymas import module_planning
from kymatui.operator.kymas.kyma_context import KymaContext
from kymatui.operator.kymas.module_planning import ModulePlanner
from kymatui.operator.kymas.runtime_kyma import with_runtime_spec
from kymatui.ui.presenters.fleet.control_plane_reports import sync_report, watchers_report
from tests.domain import builders as b
from tests.domain.agreed_worlds import Answer, Json, without_mark

_LAYER: Final = ManifestLayer("http://reg.example", "kyma-project.io/module/mod", "sha256:1", True)
_CONTENT: Final = ModuleContent("kyma-project.io/module/mod", "1.0.0", _LAYER, ())
_LOADER: Final = getattr(yaml, "CSafeLoader", yaml.SafeLoader)  # a third of the time was PyYAML's own parser


# the catalog's tables, checks, and the archive of `diagnose`


def catalog_answers(catalog: Catalog) -> Iterator[Answer]:
    for row in catalog.rows:
        name = row.name
        for surface, columns in (("catalog -o wide", COLUMNS), ("catalog --remote", REMOTE_COLUMNS)):
            cells = cells_of(columns, CatalogEntry(row))
            yield Answer(surface, name, "reason", cells["reason"].plain)
            for key in {"installed", "desired"} - {fact.value for fact in row.unknown}:
                yield Answer(surface, name, key, without_mark(cells[key].plain))
            if row.state_words == row.state.value:
                yield Answer(surface, name, "state", cells["state"].plain)
        yield Answer("catalog -o wide", name, "actor", cells_of(COLUMNS, CatalogEntry(row))["actor"].plain)
        yield from _checks(row)
        yield from _diagnosis(row)


def _checks(row: Any) -> Iterator[Answer]:
    document, archived = module_json(row), diagnosed_module(row)["checks"]
    resources = document["resources"]
    for number, checked in enumerate(row.checked):
        subject, question = f"{row.name}: {checked.resource}", "state of the module CR"
        yield Answer("checks -o json", subject, question, checks_json(str(checked.resource), checked.klm)["state"])
        yield Answer("diagnose", subject, question, archived[number]["klm"]["state"])
        if resources is not None:
            yield Answer("module -o json", subject, question, resources[number]["klm"])
        if number == 0:
            yield Answer("module -o json, reports", subject, question, document["reports"]["resource"])
            cells = cells_of(REMOTE_COLUMNS, CatalogEntry(row))
            yield Answer("catalog --remote", subject, question, cells["resource"].plain)
    words = [value for label, value in facts(row) if label == "module CR"]
    for checked, text in zip(row.checked, words, strict=True):
        state = text.removeprefix(f"{checked.resource}: ").partition(":")[0]
        yield Answer("module", f"{row.name}: {checked.resource}", "state of the module CR", state)


def _diagnosis(row: Any) -> Iterator[Answer]:
    document = diagnosed_module(row)
    titles = ("name", "state", "reason", "installed", "desired", "drift", "actor")
    cells = dict(zip(titles, diagnosed_cells(document), strict=True))
    for key in ("state", "reason", "installed", "desired", "drift", "actor", "advice", "command", "blockedBy"):
        if key not in document["unknown"]:
            yield Answer("diagnose", row.name, key, document[key] or "")
            if key in cells:
                yield Answer("diagnose, page", row.name, key, cells[key])
    severities = [label for label, _ in facts(row) if label in ("error", "warning", "info")]
    yield Answer("module", row.name, "how many problems", len(severities))
    yield Answer("module -o json", row.name, "how many problems", len(module_json(row)["problems"]))
    yield Answer("diagnose, page", row.name, "how many problems", len(list(diagnosed_problems([document]))))


# the audit's formats


def audit_answers(report: AuditReport) -> Iterator[Answer]:
    """Yield what each format says of each finding."""
    document = as_json(report)
    assert yaml.load(render_document(document, "yaml"), Loader=_LOADER) == document
    yield from _of_findings("audit -o json", document["findings"])
    yield from _of_findings("audit -o sarif", [_of_sarif(result) for result in as_sarif(report)["runs"][0]["results"]])
    tables = {"audit": "table", "audit -o md": "md"}
    for surface, form in tables.items():
        lines = [finding_rows(report, finding, form)[0] for finding in report.findings]
        cells = [cells_of(FINDING_COLUMNS, line) for line in lines]
        for finding, shown in zip(report.findings, cells, strict=True):
            fields = {"severity": shown["severity"].plain, "module": shown["module"].plain or None}
            fields |= {"rule": shown["rule"].plain, "actor": shown["actor"].plain or None}
            fields["message"] = finding.message if finding.message in shown["finding"].plain else shown["finding"].plain
            yield from _of_findings(surface, [{**fields, "fingerprint": finding.fingerprint}])
    yield from _of_findings("audit -o html", _of_page(as_html(report), report))
    yield from _of_findings("audit -o junit", _of_junit(as_junit(report), report))
    for surface, number in (
        ("audit -o json", len(document["findings"])),
        ("audit -o html", len(_rows_of_page(as_html(report)))),
        ("audit -o junit", sum(len((one.text or "").splitlines()) for one in _failures(as_junit(report)))),
    ):
        yield Answer(surface, "", "how many findings", number)


_QUESTIONS: Final = ("severity", "module", "rule", "actor", "message")


def _of_findings(surface: str, findings: Iterable[Json]) -> Iterator[Answer]:
    for finding in findings:
        for question in _QUESTIONS:
            if question in finding:
                yield Answer(surface, f"finding {finding['fingerprint']}", question, finding[question] or "")


def _of_sarif(result: Json) -> Json:
    properties = result["properties"]
    prefix = "".join(f"{part}: " for part in (properties.get("runtime"), properties["module"]) if part)
    level = {"note": "info"}.get(result["level"], result["level"])
    return {
        **properties,
        "severity": level,
        "rule": result["ruleId"],
        "message": result["message"]["text"].removeprefix(prefix),
        "fingerprint": result["partialFingerprints"]["kymatui/v1"],
    }


def _of_page(page: str, report: AuditReport) -> Iterator[Any]:
    for finding, row in zip(report.findings, _rows_of_page(page), strict=True):
        cells = {
            title: _unescaped(re.sub(r"<small>.*?</small>|<[^>]*>", "", cell))
            for title, cell in re.findall(r'<td data-title="([^"]*)">(.*?)</td>', row)
        }
        who = re.search(r"<small>who acts: ([^<]*)</small>", row)
        yield {
            "severity": cells["Severity"],
            "rule": cells["Rule"],
            "module": cells["Module"],
            "message": cells["Finding"],
            "actor": _unescaped(who[1]) if who else None,
            "fingerprint": finding.fingerprint,
        }


def _rows_of_page(page: str) -> list[str]:
    findings = page.split("<h2>Findings")[1].split("<h2>")[0]
    return re.findall(r"<tr><td.*?</tr>", findings)


def _unescaped(text: str) -> str:
    return ElementTree.fromstring(f"<x>{text}</x>").text or ""


def _failures(text: str) -> list[ElementTree.Element]:
    return list(ElementTree.fromstring(text).iter("failure"))


def _of_junit(text: str, report: AuditReport) -> Iterator[Any]:
    order = [one for case in ElementTree.fromstring(text).iter("testcase") for one in _lines(case)]
    by_rule: dict[str, list[Any]] = {}
    for finding in report.findings:
        by_rule.setdefault(finding.rule.id, []).append(finding)
    for rule, line in order:
        finding = by_rule[rule].pop(0)
        who = re.search(r"; who acts: (.*)$", line)
        yield {
            "severity": line.partition(" ")[0],
            "rule": rule,
            "message": finding.message if finding.message in line else line,
            "actor": who[1] if who else None,
            "fingerprint": finding.fingerprint,
        }


def _lines(case: ElementTree.Element) -> list[tuple[str, str]]:
    failure = case.find("failure")
    text = failure.text or "" if failure is not None else ""
    return [(case.get("name", ""), line) for line in text.splitlines()]


# the catalog sync, beside the comparison and the operator's writes


def sync_answers(pair: RuntimePair) -> Iterator[Answer]:
    plan = plan_pair_sync(pair)
    if plan is None or pair.control_kyma is None:
        return
    report, listing = sync_report(plan), sync_listing(pair, plan)
    rows = {row.key: row for row in report.rows}
    assert len(rows) == len(plan.entries)
    for row in rows.values():
        yield from _sync(row.cells["kind"].text, row.cells["name"].text, "sync, screen", row.cells["standing"].plain)
    for entry in listing.entries:
        document, cells = sync_json(entry, plan), cells_of(SYNC_COLUMNS, entry)
        for surface, standing in (("sync -o json", document["standing"]), ("sync", cells["standing"].plain)):
            yield from _sync(entry.ref.kind.kind, entry.ref.name, surface, standing)
        yield Answer("sync -o json", _copy(entry), "why", document["why"])
        yield Answer("sync", _copy(entry), "why", cells["why"].plain)
        if plan.unknown is None and not entry.is_old:
            yield Answer("sync -o json", _copy(entry), "expected in the runtime", document["wanted"])
    yield Answer("sync", "", "how many copies", _copy_counts(listing.below[0].partition(": ")[2]))
    yield Answer("sync, screen", "", "how many copies", _copy_counts(report.counts))
    if plan.unknown is None:
        yield from _writes(plan.entries, pair)
    yield from _compared(pair, plan.entries)


def _copy_counts(text: str) -> list[tuple[str, str]]:
    return sorted((word, number) for number, word in re.findall(r"(\d+) ([a-z' ]+?)(?:   |, |$)", text))


def _copy(entry: SyncEntry) -> str:
    return f"{entry.ref.kind.kind} {entry.ref.name}"


def _sync(kind: str, name: str, surface: str, standing: str) -> Iterator[Answer]:
    yield Answer(surface, f"{kind} {name}", "in the runtime", standing)


def _writes(entries: Sequence[SyncEntry], pair: RuntimePair) -> Iterator[Answer]:
    """What the operator writes, and what a preview of labels counts as there."""
    plan = plan_pair_sync(pair)
    assert plan is not None
    assert pair.control_kyma is not None
    written = {(one["kind"], one["metadata"]["name"]) for one in catalog_writes(plan).applied}
    counted = {(one.ref.kind.kind, one.ref.name) for one in synced_objects(pair, pair.control_kyma).values()}
    for entry in entries:
        if entry.original is None or entry.is_old:
            continue
        key = entry.ref.kind.kind, entry.ref.name
        yield Answer("operator's writes", _copy(entry), "expected in the runtime", key in written)
        if not pair.control_kyma.meta.deleting:
            yield Answer("label", _copy(entry), "expected in the runtime", key in counted)


def _compared(pair: RuntimePair, entries: Sequence[SyncEntry]) -> Iterator[Answer]:
    """The comparison's lines of copies, and its table beside its JSON."""
    if pair.runtime is None:
        return
    wrong = (SyncStatus.MISSING, SyncStatus.LEFT_OVER)
    standings = {_copy(entry): entry.standing for entry in entries}
    kinds = {LineArea.RELEASE: "ModuleReleaseMeta", LineArea.TEMPLATE: "ModuleTemplate"}
    for number, line in enumerate(compare_sides(pair, b.NOW).lines):
        cells = cells_of(COMPARISON_COLUMNS, line)
        document = {key: read(line) for column in COMPARISON_COLUMNS for key, read in column.json.items()}
        for key in ("verdict", "why", "actor"):
            yield Answer("compare", f"line {number}", key, cells[key].plain)
            yield Answer("compare -o json", f"line {number}", key, document[key] or "")
        if line.area in kinds and line.field == "presence" and not pair.is_one_cluster:
            subject = f"{kinds[line.area]} {line.subject}"
            standing = standings[subject]
            if standing is not SyncStatus.UNKNOWN:
                yield Answer("compare", subject, "is the copy wrong", line.verdict is LineVerdict.WRONG)
                yield Answer("sync", subject, "is the copy wrong", standing in wrong)


# Watchers


def watcher_answers(chains: Sequence[WatcherChain]) -> Iterator[Answer]:
    listing, report = watcher_listing(chains), watchers_report(chains, b.NOW, in_runtime=True)
    broken = [*chain_findings(chains), *chain_findings(chains, "r1")]
    documents = [chain_json(chain) for chain in chains]
    for chain, document in zip(chains, documents, strict=True):
        for link, entry in zip(chain.links, document["links"], strict=True):
            subject = f"{chain.watcher} {link.what} {link.object}"
            cells = cells_of(WATCHER_COLUMNS, LinkEntry(chain, link))
            row = next(row for row in report.rows if row.key == "\0".join((chain.watcher, link.what, link.object)))
            for surface, health, why in (
                ("watchers -o json", entry["health"], entry["why"] or ""),
                ("watchers", cells["health"].plain, cells["why"].plain),
                ("watchers, screen", row.cells["health"].plain, row.cells["why"].plain),
            ):
                yield Answer(surface, subject, "health", health)
                yield Answer(surface, subject, "why", why)
            found = [one for one in broken if one.object == f"{link.what} {link.object}".strip()]
            if found:
                yield Answer("audit", subject, "health", {"watcher.broken": "broken"}.get(found[0].rule.id, "unknown"))
                yield Answer(
                    "audit",
                    subject,
                    "why",
                    found[0].message.rpartition(f"{link.what} {link.object}".strip())[2].partition(": ")[2],
                )
            elif entry["health"] != "healthy":
                yield Answer("audit", subject, "health", "healthy")
    healthy = sum(document["health"] == "healthy" for document in documents)
    yield Answer("watchers -o json", "", "how many are healthy", healthy)
    yield Answer("watchers", "", "how many are healthy", int(listing.below[0].split()[0]))
    yield Answer("watchers, screen", "", "how many are healthy", int(report.counts.split()[0]))


# the operator


def operator_answers(pair: RuntimePair, catalog: Catalog) -> Iterator[Answer]:
    """What kymatui's operator would write of each module that the runtime's Kyma requests."""
    if pair.control_kyma is None or pair.runtime_kyma is None or pair.control_kyma.meta.deleting:
        return
    kyma = with_runtime_spec(pair.control_kyma, pair.runtime_kyma.raw)
    namespace = pair.control_kyma.meta.namespace
    index = index_templates(pair.control.templates, pair.control.release_metas, namespace)
    context = SimpleNamespace(
        templates=SimpleNamespace(read=lambda cancel: index),
        clock=SimpleNamespace(now=lambda: b.NOW),
        settings=pair.rules,
    )
    with patch.object(module_planning, "module_content", _content):
        planned = ModulePlanner(cast(KymaContext, context)).plan(kyma, threading.Event())
    for module in planned:
        row = catalog.row(module.item.name)
        if row is None or not module.item.enabled or row.mandatory or module.body is None:
            continue
        if module.outcome is Outcome.ACCEPTED and module.item.managed and not row.resolution.notes:
            yield Answer("operator", row.name, "desired", module.body["spec"]["version"])
            yield Answer("operator", row.name, "channel", module.channel)


def _content(context: KymaContext, template: Any, component: str, version: str) -> ModuleContent:
    del context, component
    return ModuleContent(_CONTENT.component, version or template.version, _LAYER, ())
