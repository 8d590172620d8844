"""A report for other programs and for browsers: JSON, SARIF 2.1.0, JUnit's XML, and one page of HTML."""

from __future__ import annotations

import re
from html import escape
from typing import TYPE_CHECKING, Any
from xml.etree import ElementTree

from kymatui import __version__
from kymatui.cli.output.html_page import html_page, html_rows, html_text
from kymatui.domain.audit.findings import AuditFinding
from kymatui.domain.catalog.catalog_json import unknown_json
from kymatui.domain.kubernetes.object_meta import format_time
from kymatui.domain.kubernetes.terminal_text import format_count, sanitize
from kymatui.lists.audit import FINDING_COLUMNS, FindingEntry
from kymatui.lists.columns import row_document

if TYPE_CHECKING:
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


def as_json(report: AuditReport, *, of_contexts: bool = False) -> Json:
    """Return `{"cluster", "kyma", "takenAt", "findings": […], "ignored": […]}`.

    Findings of a fleet have their `runtime`, those of contexts their `context`.
    """
    name = "context" if of_contexts else "runtime"
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
    }


def _finding(item: AuditFinding, name: str) -> Json:
    runtime = {name: item.runtime} if item.runtime else {}
    return {**row_document(FINDING_COLUMNS, FindingEntry(item)), **runtime}


def as_sarif(report: AuditReport) -> Json:
    """Return one run, with each finding as a result at a logical location: a cluster has no lines of files."""
    rules = {item.rule.id: item.rule for item in report.findings}
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
    return sarif_log(described, [_result(report, item, list(rules)) for item in report.findings], report.taken_at)


def sarif_log(rules: list[Json], results: list[Json], taken_at: float) -> Json:
    """Return a log of one run; `taken_at` is in seconds of the Unix clock."""
    return {
        "$schema": _SARIF_SCHEMA,
        "version": "2.1.0",
        "runs": [
            {
                "tool": {"driver": {"name": "kymatui", "version": __version__, "rules": rules}},
                "invocations": [{"executionSuccessful": True, "endTimeUtc": stamp(taken_at)}],
                "results": results,
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
        "message": {"text": f"{item.module}: {item.message}" if item.module else item.message},
        "locations": [{"logicalLocations": [{"fullyQualifiedName": qualified_name, "kind": "resource"}]}],
        "partialFingerprints": {"kymatui/v1": item.fingerprint},
        "properties": {
            key: value
            for key, value in _finding(item, "runtime").items()
            if key not in ("rule", "fingerprint", "message")
        },
    }


def as_junit(report: AuditReport) -> str:
    """Return one test case for each rule; it fails with each finding of the rule."""
    from kymatui.domain.audit.report import RULES

    findings: dict[str, list[AuditFinding]] = {rule.id: [] for rule in RULES}
    for item in report.findings:
        findings[item.rule.id].append(item)
    failed = sum(bool(items) for items in findings.values())
    suite = ElementTree.Element(
        "testsuite",
        name=_NO_XML.sub("", sanitize(f"kymatui audit {report.cluster}")),
        tests=str(len(findings)),
        failures=str(failed),
        timestamp=stamp(report.taken_at) or "",
    )
    for identifier, items in findings.items():
        case = ElementTree.SubElement(suite, "testcase", classname="kymatui.audit", name=identifier)
        if items:
            failure = ElementTree.SubElement(case, "failure", type=items[0].severity.value, message=items[0].rule.title)
            failure.text = "\n".join(_line(item) for item in items)
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
    has_runtimes = any(item.runtime for item in report.findings)
    runtime = ("Runtime",) if has_runtimes else ()
    header = ("Severity", "Rule", *runtime, "Module", "Finding", "Since", "What to do")
    rows = "\n".join(_row(item, has_runtimes=has_runtimes) for item in report.findings)
    rows = rows or f'<tr><td colspan="{len(header)}">no findings</td></tr>'
    parts = [f"<p>{html_text(report.kyma or report.no_kyma)}, {stamp(report.taken_at)}</p>", html_rows(header, rows)]
    if report.ignored:
        parts.append(f"<p>{format_count(len(report.ignored), 'finding')} ignored.</p>")
    return html_page(f"Audit of {report.cluster}", parts)


def _row(item: AuditFinding, *, has_runtimes: bool) -> str:
    colour = _COLOURS[item.severity.value]
    value = f"= {item.value}" if item.value else ""
    location = f"<br><small>{escape(sanitize(' '.join(filter(None, (item.object, item.path, value)))))}</small>"
    who = f"<br><small>who acts: {escape(item.actor.value)}</small>" if item.actor.value else ""
    cells = (
        f'<strong style="color:light-dark({colour})">{item.severity.value}</strong>',
        f"<code>{escape(item.rule.id)}</code>",
        *([escape(sanitize(item.runtime))] if has_runtimes else []),
        escape(sanitize(item.module)),
        escape(sanitize(item.message)) + (location if item.object or item.path or value else ""),
        (stamp(item.since) or "").replace("T", " "),
        escape(item.rule.remedy) + who,
    )
    return "<tr>" + "".join(f"<td>{cell}</td>" for cell in cells) + "</tr>"
