"""Entries that ignore findings, each with a reason and an end date."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, date, datetime
from fnmatch import fnmatchcase

from msgspec import Struct

from kymatui.domain.audit.findings import EARLIER_IDS, AuditFinding, AuditRule
from kymatui.domain.kyma.problems import Actor, Severity
from kymatui.errors import ConfigurationError

EXPIRED = AuditRule(
    "audit.expired",
    "an entry that ignores findings has expired",
    Severity.INFO,
    "The ignored findings count again.",
    "Remove the entry, or set a new date with a new reason.",
)
_KEYS = ("rule", "module", "object", "reason", "until")


class IgnoreEntry(Struct, frozen=True):
    """An entry that ignores findings.

    `rule`, `module` and `object` are patterns with `*` and `?`; `until` is the last day, in UTC.
    """

    rule: str
    reason: str
    until: date
    module: str = "*"
    object: str = "*"

    def covers(self, finding: AuditFinding) -> bool:
        """Return whether the patterns match a finding; the date does not count."""
        return (
            fnmatchcase(finding.rule.id, EARLIER_IDS.get(self.rule, self.rule))
            and fnmatchcase(finding.module, self.module)
            and fnmatchcase(finding.object, self.object)
        )

    def counts(self, now: float) -> bool:
        """Return whether the entry has not expired."""
        return datetime.fromtimestamp(now, UTC).date() <= self.until


def find_ignore(finding: AuditFinding, ignores: Sequence[IgnoreEntry], now: float) -> IgnoreEntry | None:
    """Return the first unexpired entry that covers a finding."""
    return next((entry for entry in ignores if entry.counts(now) and entry.covers(finding)), None)


def expired_findings(ignores: Sequence[IgnoreEntry], now: float) -> Iterator[AuditFinding]:
    """Yield a finding for each expired entry."""
    for entry in ignores:
        if not entry.counts(now):
            words = f"{entry.rule} was ignored until {entry.until}: {entry.reason}"
            yield AuditFinding(EXPIRED, words, "", f"{entry.rule} {entry.module} {entry.object}", actor=Actor.YOU)


def read_ignores(document: object, where: str) -> tuple[IgnoreEntry, ...]:
    """Read `{"ignore": [{"rule", "reason", "until", "module"?, "object"?}]}`.

    Raises ConfigurationError with the index of the invalid entry.
    """
    listed = document.get("ignore") if isinstance(document, Mapping) else None
    if not isinstance(listed, list) or (isinstance(document, Mapping) and set(document) != {"ignore"}):
        raise ConfigurationError(
            f"{where} has no list of findings to ignore", hint="write one key, `ignore`, with a list"
        )
    return tuple(_entry(item, f"{where}: ignore[{index}]") for index, item in enumerate(listed))


def _entry(item: object, where: str) -> IgnoreEntry:
    if not isinstance(item, Mapping):
        raise ConfigurationError(f"{where} is not a mapping")
    if unknown := sorted(str(key) for key in item if key not in _KEYS):
        raise ConfigurationError(f"{where} has unknown keys: {', '.join(unknown)}", hint=f"use {', '.join(_KEYS)}")
    return IgnoreEntry(
        rule=_text(item, "rule", where),
        reason=_text(item, "reason", where),
        until=_day(item.get("until"), where),
        module=_text(item, "module", where, "*"),
        object=_text(item, "object", where, "*"),
    )


def _text(item: Mapping[object, object], key: str, where: str, absent: str = "") -> str:
    text = item.get(key, absent)
    if not isinstance(text, str) or not text.strip():
        raise ConfigurationError(f"{where}.{key} must be a non-empty string")
    return text


def _day(value: object, where: str) -> date:
    try:
        return date.fromisoformat(value if isinstance(value, str) else "")
    except ValueError:
        raise ConfigurationError(
            f"{where}.until must be a date", hint="for example 2026-12-31; every entry expires"
        ) from None
