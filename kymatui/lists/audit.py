"""The columns of an audit: its findings, and its rules."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from msgspec import Struct

from kymatui.domain.audit.findings import AuditFinding, AuditRule, severity_rank
from kymatui.domain.catalog.catalog_json import actor_json
from kymatui.domain.kubernetes.object_meta import format_time
from kymatui.lists.columns import Cell, ListColumn
from kymatui.moments import format_duration


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
