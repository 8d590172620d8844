"""A report for other programs and for browsers: JSON, SARIF 2.1.0, JUnit's XML, and one page of HTML."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from html import escape
from typing import TYPE_CHECKING, Any
from xml.etree import ElementTree

from kymatui import __version__
from kymatui.cli.output.html_page import html_page, html_rows, html_section, html_text
from kymatui.domain.audit.findings import AuditFinding, AuditKind, AuditResult
from kymatui.domain.catalog.catalog_json import unknown_json
from kymatui.domain.kubernetes.object_meta import format_time
from kymatui.domain.kubernetes.terminal_text import sanitize
from kymatui.domain.kyma.problems import Severity
from kymatui.lists.audit import (
    FINDING_COLUMNS,
    FindingEntry,
    about_audit,
    changing_sections,
    count_findings,
    fixed_sections,
)
from kymatui.lists.columns import row_document

if TYPE_CHECKING:
    from kymatui.domain.audit.findings import Trend
    from kymatui.domain.audit.report import AuditReport

Json = dict[str, Any]
_SARIF_SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"
_SARIF_LEVELS = {"error": "error", "warning": "warning", "info": "note"}
_NO_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_COLOURS = {"error": "#b3261e, #ff8a80", "warning": "#8a5a00, #ffcc66", "info": "#3a5a78, #9ecbff"}
"""Colours on a light and on a dark page."""


def stamp(seconds: float | None) -> str | None:
    """Return a time in UTC, RFC 3339."""
    return None if seconds is None else format_time(seconds)


def as_json(report: AuditReport) -> Json:
    """Return `{"cluster", "kyma", "takenAt", "findings": […], "ignored": […]}` and all that the audit is about.

    Findings of a fleet have their `runtime`, those of contexts their `context`.
    """
    name = _source(report)
    return {
        "cluster": report.cluster,
        "kyma": report.kyma or None,
        "unknown": {} if report.kyma_unknown is None else {"kyma": unknown_json(report.kyma_unknown)},
        "takenAt": stamp(report.taken_at),
        "findings": [_finding(item, name) for item in report.findings],
        "ignored": [
            {**_finding(item, name), "ignoredUntil": entry.until.isoformat(), "ignoredBecause": entry.reason}
            for item, entry in report.ignored
        ],
        **_about(report),
    }


def _source(report: AuditReport) -> str:
    """Return the key of a finding's source."""
    return "context" if report.scope.kind is AuditKind.CONTEXTS else "runtime"


def _about(report: AuditReport) -> Json:
    """Return scope, versions, requests, results of rules and the trend: what SARIF has as properties of the run."""
    scope, name, used = report.scope, _source(report), Counter(id(entry) for _, entry in report.ignored)
    findings = {severity.value: report.count(severity) for severity in Severity}
    return {
        "version": __version__,
        "rulesVersion": report.rules_version,
        "scope": {
            "kind": scope.kind.value,
            f"{name}s": list(scope.names),
            "objects": scope.has_objects,
            "modules": list(scope.modules),
            "rules": list(scope.rules),
            "severity": scope.severity.value,
        },
        "users": list(scope.users),
        "requests": {"reads": scope.reads, "writes": scope.writes},
        "counts": {**findings, "ignored": len(report.ignored)},
        "rules": [
            {
                "id": outcome.rule.id,
                "severity": outcome.rule.severity.value,
                "result": outcome.result.value,
                "findings": outcome.findings,
                "ignored": outcome.ignored,
                "why": outcome.why or None,
            }
            for outcome in report.outcomes
        ],
        "notRead": [_finding(item, name) for item in report.not_read],
        "ignoreEntries": [
            {
                "rule": entry.rule,
                "module": entry.module,
                "object": entry.object,
                "reason": entry.reason,
                "until": entry.until.isoformat(),
                "findings": used[id(entry)],
            }
            for entry in report.entries
        ],
        "trend": None if report.trend is None else _trend(report.trend, len(report.findings), name),
    }


def _trend(trend: Trend, new: int, name: str) -> Json:
    parts = {"unchanged": trend.unchanged, "gone": trend.gone, "unknown": trend.unknown}
    return {
        "file": trend.baseline.path,
        "cluster": trend.baseline.cluster,
        "takenAt": trend.baseline.taken_at or None,
        "new": new,
        **{part: [_finding(item, name) for item in findings] for part, findings in parts.items()},
    }


def _finding(item: AuditFinding, name: str) -> Json:
    runtime = {name: item.runtime} if item.runtime else {}
    return {**row_document(FINDING_COLUMNS, FindingEntry(item)), **runtime}


def as_sarif(report: AuditReport) -> Json:
    """Return one run, with each finding as a result at a logical location: a cluster has no lines of files."""
    applied = (outcome.rule for outcome in report.outcomes if outcome.result is not AuditResult.NOT_APPLIED)
    rules = {rule.id: rule for rule in (*applied, *(item.rule for item in report.findings))}
    described = [
        {
            "id": rule.id,
            "shortDescription": {"text": rule.title},
            "fullDescription": {"text": rule.why},
            "help": {"text": rule.remedy},
            "defaultConfiguration": {"level": _SARIF_LEVELS[rule.severity.value]},
        }
        for rule in rules.values()
    ]
    results = [_result(report, item, list(rules)) for item in report.findings]
    return sarif_log(described, results, report.taken_at, _about(report))


def sarif_log(rules: list[Json], results: list[Json], taken_at: float, properties: Json | None = None) -> Json:
    """Return a log of one run; `taken_at` is in seconds of the Unix clock."""
    return {
        "$schema": _SARIF_SCHEMA,
        "version": "2.1.0",
        "runs": [
            {
                "tool": {"driver": {"name": "kymatui", "version": __version__, "rules": rules}},
                "invocations": [{"executionSuccessful": True, "endTimeUtc": stamp(taken_at)}],
                "results": results,
                **({"properties": properties} if properties is not None else {}),
            }
        ],
    }


def _result(report: AuditReport, item: AuditFinding, rules: list[str]) -> Json:
    qualified_name = "/".join(
        part for part in (report.cluster, item.runtime, item.module, item.object, item.path) if part
    )
    return {
        "ruleId": item.rule.id,
        "ruleIndex": rules.index(item.rule.id),
        "level": _SARIF_LEVELS[item.severity.value],
        "message": {"text": ": ".join(filter(None, (item.runtime, item.module, item.message)))},
        "locations": [{"logicalLocations": [{"fullyQualifiedName": qualified_name, "kind": "resource"}]}],
        "partialFingerprints": {"kymatui/v1": item.fingerprint},
        "properties": {
            key: value
            for key, value in _finding(item, _source(report)).items()
            if key not in ("rule", "fingerprint", "message")
        },
    }


def as_junit(report: AuditReport) -> str:
    """Return one test case for each rule; it fails with each finding of the rule."""
    findings: dict[str, list[AuditFinding]] = {outcome.rule.id: [] for outcome in report.outcomes}
    for item in report.findings:
        findings[item.rule.id].append(item)
    skipped = {outcome.rule.id: outcome for outcome in report.outcomes if outcome.result is not AuditResult.PASSED}
    suite = ElementTree.Element(
        "testsuite",
        name=_NO_XML.sub("", sanitize(f"kymatui audit {report.cluster}")),
        tests=str(len(findings)),
        failures=str(sum(bool(items) for items in findings.values())),
        skipped=str(sum(not findings[rule] for rule in skipped)),
        timestamp=stamp(report.taken_at) or "",
    )
    properties = ElementTree.SubElement(suite, "properties")
    for name, value in about_audit(report).rows:
        ElementTree.SubElement(properties, "property", name=name.lower(), value=_NO_XML.sub("", sanitize(value)))
    for identifier, items in findings.items():
        case = ElementTree.SubElement(suite, "testcase", classname="kymatui.audit", name=identifier)
        if items:
            failure = ElementTree.SubElement(case, "failure", type=items[0].severity.value, message=items[0].rule.title)
            failure.text = "\n".join(_line(item) for item in items)
        elif identifier in skipped:
            outcome = skipped[identifier]
            ElementTree.SubElement(case, "skipped", message=outcome.why or outcome.result.value)
    return ElementTree.tostring(suite, encoding="unicode", xml_declaration=True)


def _line(item: AuditFinding) -> str:
    where = " ".join(part for part in (item.runtime, item.module, item.object, item.path) if part)
    value = f" = {item.value}" if item.value else ""
    since = f" (since {stamp(item.since)})" if item.since is not None else ""
    location = f"{where}{value}: " if where else ""
    who = f"; who acts: {item.actor.value}" if item.actor.value else ""
    # what XML 1.0 has no way to write is taken out with the control characters
    return _NO_XML.sub("", sanitize(f"{item.severity.value} {location}{item.message}{since}; {item.rule.remedy}{who}"))


def as_html(report: AuditReport) -> str:
    """Return a page that needs nothing else, for people who are sent one."""
    runtime = _source(report).capitalize() if any(item.runtime for item in report.findings) else ""
    header = ("Severity", "Rule", *filter(None, (runtime,)), "Module", "Finding", "What to do")
    rows = [_row(item, has_runtimes=bool(runtime)) for item in report.findings]
    parts = [
        html_section(about_audit(report)),
        f"<h2>Findings: {html_text(count_findings(report))}</h2>",
        html_rows(header, rows) if rows else "<p>none</p>",
        *map(html_section, (*changing_sections(report), *fixed_sections(report))),
    ]
    return html_page(f"Audit of {report.cluster}", parts)


def _row(item: AuditFinding, *, has_runtimes: bool) -> Sequence[str]:
    colour = _COLOURS[item.severity.value]
    value = f"= {item.value}" if item.value else ""
    since = f"since {stamp(item.since)}".replace("T", " ") if item.since is not None else ""
    place = " ".join(filter(None, (item.object, item.path, value)))
    details = "".join(f"<br><small>{escape(sanitize(text))}</small>" for text in (place, since) if text)
    who = f"<br><small>who acts: {escape(item.actor.value)}</small>" if item.actor.value else ""
    return (
        f'<strong style="color:light-dark({colour})">{item.severity.value}</strong>',
        f"<code>{escape(item.rule.id)}</code>",
        *([escape(sanitize(item.runtime))] if has_runtimes else []),
        escape(sanitize(item.module)),
        escape(sanitize(item.message)) + details,
        escape(item.rule.remedy) + who,
    )
