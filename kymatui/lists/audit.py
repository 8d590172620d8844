"""The columns of an audit, its findings and its rules; and the other parts of its report."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Final, NamedTuple

from msgspec import Struct

from kymatui import __version__
from kymatui.domain.audit.findings import AuditFinding, AuditKind, AuditResult, AuditRule, severity_rank
from kymatui.domain.catalog.catalog_json import actor_json
from kymatui.domain.kubernetes.object_meta import format_time
from kymatui.domain.kubernetes.terminal_text import format_count
from kymatui.domain.kyma.problems import Severity
from kymatui.lists.columns import Cell, ListColumn
from kymatui.moments import format_duration

if TYPE_CHECKING:
    from kymatui.domain.audit.report import AuditReport


class FindingEntry(Struct, frozen=True):
    """A line about a finding of an audit: the finding, with or without its place, or its place alone.

    `place` is where exactly, and what is there; `is_place` is the line below the finding.
    """

    finding: AuditFinding
    taken_at: float = 0.0
    place: str = ""
    is_place: bool = False


def finding_sentence(finding: AuditFinding) -> str:
    """Return the message, with the object where it does not say which one it is about."""
    message, about = finding.message, finding.object
    is_named = not about or about in message or about.rpartition("/")[2] in message
    words = message if is_named else f"{about}: {message}"
    return f"{finding.runtime}: {words}" if finding.runtime else words


def _finding(entry: FindingEntry) -> Cell:
    if entry.is_place:
        return Cell(f"  {entry.place}")
    place = f" ({entry.place})" if entry.place else ""
    return Cell(f"{finding_sentence(entry.finding)}{place}")


def _since(entry: FindingEntry) -> Cell:
    since = entry.finding.since
    return Cell("") if since is None else Cell(format_duration(entry.taken_at - since), order=-since)


def _first(cell: Callable[[FindingEntry], Cell]) -> Callable[[FindingEntry], Cell]:
    """Return the cell of a finding's first line; the line of its place has blanks."""
    return lambda entry: Cell(" ") if entry.is_place else cell(entry)


FINDING_COLUMNS: Final = (
    ListColumn[FindingEntry](
        "severity",
        "SEVERITY",
        cell=_first(lambda entry: Cell(entry.finding.severity.value, order=severity_rank(entry.finding.severity))),
        json={"severity": lambda entry: entry.finding.severity.value},
    ),
    ListColumn[FindingEntry](
        "rule",
        "RULE",
        cell=_first(lambda entry: Cell(entry.finding.rule.id)),
        json={
            "rule": lambda entry: entry.finding.rule.id,
            "remedy": lambda entry: entry.finding.rule.remedy,
            "fingerprint": lambda entry: entry.finding.fingerprint,
        },
    ),
    ListColumn[FindingEntry](
        "module",
        "MODULE",
        cell=_first(lambda entry: Cell(entry.finding.module)),
        json={"module": lambda entry: entry.finding.module or None},
    ),
    ListColumn[FindingEntry](
        "finding",
        "FINDING",
        cell=_finding,
        json={
            "object": lambda entry: entry.finding.object or None,
            "path": lambda entry: entry.finding.path or None,
            "value": lambda entry: entry.finding.value or None,
            "message": lambda entry: entry.finding.message,
        },
    ),
    ListColumn[FindingEntry](
        "since",
        "SINCE",
        cell=_first(_since),
        json={"since": lambda entry: None if entry.finding.since is None else format_time(entry.finding.since)},
    ),
    ListColumn[FindingEntry](
        "actor",
        "WHO ACTS",
        cell=_first(lambda entry: Cell(entry.finding.actor.value)),
        json={
            "actor": lambda entry: actor_json(entry.finding.actor),
            "whoActs": lambda entry: actor_json(entry.finding.actor),  # deprecated: `actor`
        },
    ),
)
RULE_COLUMNS: Final = (
    ListColumn[AuditRule]("rule", "RULE", cell=lambda rule: Cell(rule.id), json={"id": lambda rule: rule.id}),
    ListColumn[AuditRule](
        "severity",
        "SEVERITY",
        cell=lambda rule: Cell(rule.severity.value, order=severity_rank(rule.severity)),
        json={"severity": lambda rule: rule.severity.value},
    ),
    ListColumn[AuditRule](
        "title",
        "LOOKS FOR",
        cell=lambda rule: Cell(rule.title),
        json={"title": lambda rule: rule.title, "why": lambda rule: rule.why, "remedy": lambda rule: rule.remedy},
    ),
)

# the other parts of a report

_GATE = "an audit refuses every request that can write"
_FINDING = ("Severity", "Rule", "Module", "Finding")


class Section(NamedTuple):
    """A titled table of texts."""

    title: str
    header: Sequence[str]
    rows: Sequence[Sequence[str]]


def count_findings(report: AuditReport) -> str:
    """Return the number of findings of each severity, and of the ignored ones."""
    nouns = ((Severity.ERROR, "error", ""), (Severity.WARNING, "warning", ""), (Severity.INFO, "info", "info"))
    counts = ", ".join(format_count(report.count(severity), *names) for severity, *names in nouns)
    return f"{counts}, {len(report.ignored)} ignored" if report.ignored else counts


def about_audit(report: AuditReport) -> Section:
    """Return scope, time, user, versions, requests, and how many rules have which result."""
    scope, results = report.scope, Counter(outcome.result for outcome in report.outcomes)
    counts = ", ".join(f"{results[result]} {result.value}" for result in AuditResult if results[result])
    rows = [
        ("Scope", _scope(report)),
        ("When", format_time(report.taken_at)),
        ("User", ", ".join(scope.users) or "unknown"),
        ("Version", f"kymatui {__version__}, rules {report.rules_version}"),
        ("Requests", f"{format_count(scope.reads, 'read')}, {format_count(scope.writes, 'write')}; {_GATE}"),
        ("Rules", counts),
    ]
    if (trend := report.trend) is not None:
        parts = (
            (report.findings, "new"),
            (trend.unchanged, "unchanged"),
            (trend.gone, "gone"),
            (trend.unknown, "unknown"),
        )
        known = ", ".join(f"{len(findings)} {name}" for findings, name in parts if findings) or "no findings"
        rows.append(("Since", f"{trend.baseline.moment} ({trend.baseline.path}): {known}"))
    return Section("About this audit", ("", ""), rows)


def _scope(report: AuditReport) -> str:
    scope = report.scope
    kyma = report.kyma or report.no_kyma
    names = ", ".join(scope.names)
    subject = {
        AuditKind.CLUSTER: f"cluster {report.cluster}, {kyma}",
        AuditKind.RUNTIME: f"runtime {names} ({report.cluster})",
        AuditKind.FLEET: f"{format_count(len(scope.names), 'runtime')}, control plane {report.cluster}",
        AuditKind.CONTEXTS: f"{report.cluster}: {names}",
    }[scope.kind]
    chosen = (
        f"modules {', '.join(scope.modules)}" if scope.modules else "",
        f"rules {', '.join(scope.rules)}" if scope.rules else "",
        f"severity {scope.severity.value} and higher" if scope.severity is not Severity.INFO else "",
        "" if scope.has_objects else "without single objects and rights",
    )
    return "; ".join(filter(None, (subject, *chosen)))


def changing_sections(report: AuditReport) -> Iterator[Section]:
    """Yield what became of the findings of the baseline, and the entries that ignore findings."""
    if (trend := report.trend) is not None:
        since = f"since {trend.baseline.moment}"
        named = ((trend.gone, f"Gone {since}"), (trend.unknown, f"Unknown {since}"))
        for findings, title in named:
            if findings:
                yield Section(title, _FINDING, _finding_rows(findings))
    if report.entries:
        used = Counter(id(entry) for _, entry in report.ignored)
        rows = [
            (entry.rule, entry.module, entry.object, entry.reason, entry.until.isoformat(), str(used[id(entry)]))
            for entry in report.entries
        ]
        yield Section("Ignored", ("Rule", "Module", "Object", "Reason", "Until", "Findings"), rows)


def fixed_sections(report: AuditReport) -> Iterator[Section]:
    """Yield the unchanged and ignored findings, what was not read, and the result of each rule."""
    if report.trend is not None and report.trend.unchanged:
        yield Section(
            f"Unchanged since {report.trend.baseline.moment}", _FINDING, _finding_rows(report.trend.unchanged)
        )
    if report.ignored:
        yield Section("Ignored findings", _FINDING, _finding_rows(finding for finding, _ in report.ignored))
    yield Section("Not read", _FINDING, _finding_rows(report.not_read) or [("", "", "", "nothing")])
    results = [
        (outcome.rule.id, outcome.rule.title, outcome.result.value, str(outcome.findings or ""), outcome.why)
        for outcome in report.outcomes
    ]
    yield Section("Rules", ("Rule", "Looks for", "Result", "Findings", "Why"), results)


def _finding_rows(findings: Iterable[AuditFinding]) -> list[tuple[str, ...]]:
    return [(item.severity.value, item.rule.id, item.module, finding_sentence(item)) for item in findings]
