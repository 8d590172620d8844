"""The columns of a module's lists: its events, its versions, and the rules that decide its state."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from kymatui.domain.catalog.module_events import Event
from kymatui.domain.catalog.rows import ModuleRow, Offer, OfferMark
from kymatui.domain.kubernetes.terminal_text import sanitize
from kymatui.domain.modules.state_checks import (
    Evaluation,
    PathResult,
    PathResultKind,
    RuleOutcome,
    RuleResult,
    StateDecision,
)
from kymatui.lists.catalog_cells import version_cell
from kymatui.lists.columns import Cell, ListColumn, text_cell

# events


def event_subject(event: Event) -> str:
    return f"{event.kind}/{event.name}"


EVENT_COLUMNS: Final = (
    ListColumn[Event](
        "age",
        "LAST SEEN",
        9,
        right=True,
        cell=lambda event: Cell("", "muted", -event.last_seen, since=event.last_seen or None),
        json={
            "lastSeen": lambda event: (
                datetime.fromtimestamp(event.last_seen, UTC).isoformat() if event.last_seen else None
            )
        },
    ),
    ListColumn[Event](
        "type",
        "TYPE",
        8,
        cell=lambda event: Cell(sanitize(event.type), "warning" if event.is_warning else "muted"),
        json={"type": lambda event: event.type},
    ),
    ListColumn[Event].of_value("reason", "REASON", 18, lambda event: event.reason, "strong", flex=1),
    ListColumn[Event](
        "object",
        "OBJECT",
        24,
        flex=1,
        priority=1,
        cell=lambda event: Cell(sanitize(event_subject(event))),
        json={"object": lambda event: {"kind": event.kind, "namespace": event.namespace or None, "name": event.name}},
    ),
    ListColumn[Event](
        "count",
        "COUNT",
        5,
        right=True,
        priority=2,
        falls=True,
        cell=lambda event: Cell(str(event.count or ""), "muted", order=event.count),
        json={"count": lambda event: event.count or None},
    ),
    ListColumn[Event](
        "message",
        "MESSAGE",
        20,
        flex=4,
        wraps=True,
        cell=lambda event: Cell(" ".join(sanitize(event.message).split())),
        json={"message": lambda event: event.message},
    ),
)

# versions


class OfferEntry(Struct, frozen=True):
    """A version that a catalog offers of a module; `is_base` is the one that comparisons start from."""

    module: ModuleRow
    offer: Offer
    is_base: bool = False

    @property
    def marks(self) -> tuple[OfferMark, ...]:
        return self.module.offer_marks(self.offer)


def _here(entry: OfferEntry) -> Cell:
    marks = entry.marks
    words = [*marks, *(["base"] if entry.is_base else [])]
    return Cell(", ".join(words), "ready" if OfferMark.INSTALLED in marks else "accent", full=", ".join(marks))


VERSION_COLUMNS: Final = (
    ListColumn[OfferEntry](
        "version",
        "VERSION",
        14,
        flex=1,
        cell=lambda entry: version_cell(entry.offer.version, "strong"),
        json={"version": lambda entry: entry.offer.version},
    ),
    ListColumn[OfferEntry](
        "channels",
        "CHANNELS",
        16,
        flex=2,
        cell=lambda entry: text_cell(", ".join(entry.offer.channels)),
        json={"channels": lambda entry: list(entry.offer.channels)},
    ),
    ListColumn[OfferEntry](
        "source",
        "SOURCE",
        10,
        priority=1,
        cell=lambda entry: Cell(sanitize(entry.offer.source) or entry.offer.origin.value, "muted"),
        json={"origin": lambda entry: entry.offer.origin.value, "source": lambda entry: entry.offer.source or None},
    ),
    ListColumn[OfferEntry].of_value(
        "template", "TEMPLATE", 24, lambda entry: entry.offer.template.path, "muted", flex=2, priority=2
    ),
    ListColumn[OfferEntry](
        "here",
        "HERE",
        24,
        cell=_here,
        json={
            "installed": lambda entry: OfferMark.INSTALLED in entry.marks,
            "desired": lambda entry: OfferMark.DESIRED in entry.marks,
        },
    ),
)

# rules


class RuleEntry(Struct, frozen=True):
    """A rule of customStateCheck with its number, evaluated for one module CR."""

    number: int
    outcome: RuleOutcome
    evaluation: Evaluation


_RESULT_TONES: Final = {
    RuleResult.MATCH: "ready",
    RuleResult.NO_MATCH: "",
    RuleResult.SKIPPED: "muted",
    RuleResult.ERROR: "error",
    RuleResult.NOT_REACHED: "muted",
}


def path_cell(value: PathResult) -> Cell:
    """Return the value; a missing path, no string, an empty string and a value are four answers."""
    if value.kind is PathResultKind.VALUE:
        return Cell(sanitize(value.text))
    if value.kind is PathResultKind.EMPTY:
        return Cell('""  (empty)')
    if value.kind is PathResultKind.NOT_TEXT:
        return Cell(sanitize(f"{value.type} {value.text}".strip()), "error")
    return Cell(f"({value.kind})", "muted")


def _found(entry: RuleEntry) -> str:
    value = entry.outcome.value
    return value.text if value.found else f"({value.kind.value})"


def _group(entry: RuleEntry) -> Cell:
    """Return the result of the rule's group, and whether it decides."""
    state, evaluation = entry.outcome.rule.mapped_state, entry.evaluation
    value = next((group.value for group in evaluation.groups if group.state == state), None)
    if value is None:
        return Cell("not evaluated", "muted")
    if value and evaluation.decision is StateDecision.GROUP and state == str(evaluation.state):
        return Cell("true ← decides", "accent")
    return Cell(str(value).lower(), "" if value else "muted")


RULE_COLUMNS: Final = (
    ListColumn[RuleEntry]("number", "#", 3, cell=lambda entry: Cell(str(entry.number), "muted", order=entry.number)),
    ListColumn[RuleEntry](
        "path",
        "PATH",
        20,
        flex=2,
        cell=lambda entry: Cell(
            sanitize(entry.outcome.rule.path) + ("" if entry.outcome.klm_reads else " *"), full=entry.outcome.rule.path
        ),
        json={"path": lambda entry: entry.outcome.rule.path},
    ),
    ListColumn[RuleEntry].of_value(
        "want", "EXPECTED", 12, lambda entry: entry.outcome.rule.value, key="wanted", flex=1
    ),
    ListColumn[RuleEntry](
        "got",
        "ACTUAL",
        14,
        flex=1,
        cell=lambda entry: replace(path_cell(entry.outcome.value), full=_found(entry)),
        json={"found": _found},
    ),
    ListColumn[RuleEntry](
        "result",
        "RESULT",
        11,
        cell=lambda entry: Cell(entry.outcome.result.value, _RESULT_TONES[entry.outcome.result]),
        json={"result": lambda entry: entry.outcome.result.value},
    ),
    ListColumn[RuleEntry].of_value("maps", "MAPS TO", 10, lambda entry: entry.outcome.rule.mapped_state, key="mapsTo"),
    ListColumn[RuleEntry]("group", "GROUP", 16, priority=1, cell=_group, wide=True),
)
