"""A forecast as lines: versions today and then with what moves, and the runtimes behind a number."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from kymatui.domain.fleet.runtimes import Runtime
from kymatui.domain.fleet.short_names import short_names
from kymatui.domain.kubernetes.terminal_text import format_count, sanitize
from kymatui.domain.kyma.versions import version_order
from kymatui.domain.whatif.forecast import BY_RISK, Forecast, ModuleForecast
from kymatui.domain.whatif.module_results import ResultKind
from kymatui.domain.whatif.summary import count_kinds, kind_label, reason_words, result_words
from kymatui.domain.whatif.version_lines import CellKind, VersionLine, version_lines
from kymatui.lists.columns import ABSENT, Cell, Column
from kymatui.lists.fleet import count_cell
from kymatui.ui.presenters.fleet.runtime_rows import key_text
from kymatui.ui.viewmodels.row_list import Row

CELLS: Final = tuple(CellKind)
_SEPARATOR: Final = "\0"
_TONES: Final = {
    ResultKind.UNINSTALL: "error",
    ResultKind.ERROR: "error",
    ResultKind.NOT_INSTALLED: "warning",
    ResultKind.HELD_BACK: "warning",
    ResultKind.DOWNGRADE: "warning",
    ResultKind.WAIT: "processing",
    ResultKind.KEEP: "muted",
}
VERSION_COLUMNS: Final = (
    Column("module", "MODULE", 12, flex=2),
    Column("version", "VERSION", 13, flex=1),
    Column("today", "TODAY", 7, right=True, falls=True),
    Column("then", "THEN", 7, right=True, falls=True),
    Column("moves", "MOVES", 9, right=True, falls=True),
    Column("outcomes", "OUTCOMES", 24, flex=4, priority=1, wraps=True),
)
RUNTIME_COLUMNS: Final = (
    Column("runtime", "RUNTIME", 12, flex=2),
    Column("outcome", "OUTCOME", 12),
    Column("today", "TODAY", 12, flex=1),
    Column("then", "THEN", 14, flex=1),
    Column("why", "WHY", 20, flex=4, priority=1, wraps=True),
    Column("plan", "PLAN", 8, priority=2),
    Column("region", "REGION", 10, priority=3),
    Column("channel", "CHANNEL", 8, priority=4),
    Column("module", "MODULE", 12, priority=5),
)


class OpenedNumber(Struct, frozen=True):
    """The number whose runtimes are listed."""

    module: str
    version: str
    kind: CellKind

    def __str__(self) -> str:
        named = f"{self.module} {self.version}" if self.version else f"no {self.module}"
        if self.kind is CellKind.MOVES:
            return f"{named}, moved by the change"
        return f"{named} {self.kind.value}"


class ForecastLines:
    """The lines of one forecast; made in a thread, since a fleet has thousands of runtimes."""

    def __init__(self, forecast: Forecast) -> None:
        self._forecast = forecast
        self._lines = {(line.module, line.version): line for line in version_lines(forecast)}
        every = self._lines.values()
        self.versions = tuple(_version_row(line, order) for order, line in enumerate(every))
        self.moving = tuple(row for row, line in zip(self.versions, every, strict=True) if line.moves)

    def runtimes(self, opened: OpenedNumber) -> tuple[Row, ...]:
        """Return the runtimes behind a number; none if its line is gone."""
        line = self._lines.get((opened.module, opened.version))
        entries = line.entries(opened.kind) if line is not None else ()
        short = short_names(entry.runtime[1] for entry in entries)
        return tuple(
            _runtime_row(entry, self._forecast.runtimes[entry.runtime], short.get(entry.runtime[1], ""))
            for entry in entries
        )


def number_of(row_key: str, kind: CellKind) -> OpenedNumber:
    """Return the number of a line."""
    module, _, version = row_key.partition(_SEPARATOR)
    return OpenedNumber(module, version, kind)


def subject_of(row_key: str) -> tuple[str, str]:
    """Return runtime and module of a line, the runtime as `namespace/name`."""
    runtime, _, module = row_key.partition(_SEPARATOR)
    return runtime, module


def with_number(row: Row, kind: CellKind) -> Row:
    """Return the row with a marked number, visible without colour too."""
    cell = row.cells[kind.value]
    return replace(row, cells={**row.cells, kind.value: replace(cell, text=f"[{cell.text}]", tone="accent")})


def _version_row(line: VersionLine, order: int) -> Row:
    tone = (
        _TONES.get(min((forecast.kind for forecast in line.moves), key=BY_RISK.index), "ready")
        if line.moves
        else "muted"
    )
    cells = {
        "module": Cell(sanitize(line.module), "strong", order=line.module),
        "version": Cell(
            sanitize(line.version) or "not installed", "" if line.version else "muted", version_order(line.version)
        ),
        "today": count_cell(len(line.today)),
        "then": count_cell(len(line.then), tone if line.arrivals or line.departures else ""),
        "moves": Cell(_moves(line), tone, order=len(line.moves)),
        "outcomes": Cell(_outcomes(line.moves), tone, order=line.worst),
    }
    return Row(f"{line.module}{_SEPARATOR}{line.version}", {**cells, "order": Cell("", order=order)})


def _moves(line: VersionLine) -> str:
    """Return what arrives, leaves, and stays with another outcome: `+8`, `-9 ~1`."""
    stays = len(line.moves) - line.arrivals - line.departures
    parts = ((line.arrivals, "+"), (line.departures, "-"), (stays, "~"))
    return " ".join(f"{sign}{number}" for number, sign in parts if number) or ABSENT


def _outcomes(entries: Iterable[ModuleForecast]) -> str:
    return ", ".join(f"{kind_label(kind)} in {number}" for kind, number in count_kinds(entries).items())


def _runtime_row(entry: ModuleForecast, runtime: Runtime, short: str) -> Row:
    cells = {
        "runtime": Cell(sanitize(runtime.name), "strong", short=sanitize(short)),
        "outcome": Cell(kind_label(entry.kind), _TONES.get(entry.kind, "ready"), order=BY_RISK.index(entry.kind)),
        "today": Cell(sanitize(result_words(entry.today))),
        "then": Cell(sanitize(result_words(entry.then))),
        "why": Cell(sanitize(reason_words(entry)) or ABSENT),
        "plan": Cell(sanitize(runtime.plan) or ABSENT),
        "region": Cell(sanitize(runtime.region) or ABSENT),
        "channel": Cell(sanitize(runtime.channel) or ABSENT),
        "module": Cell(sanitize(entry.module)),
    }
    return Row(f"{key_text(entry.runtime)}{_SEPARATOR}{entry.module}", cells, labels=runtime.labels)


def version_hint(row: Row, kind: CellKind) -> str:
    """Return what enter does on a number of a line, and the line's outcomes."""
    number = row.cells[kind.value].order
    count = number if isinstance(number, int) else 0
    opened = number_of(row.key, kind)
    outcomes = row.cells["outcomes"].text
    hint = f"enter lists {format_count(count, 'runtime')}: {opened}" if count else f"no runtimes: {opened}"
    return sanitize(f"{hint}   {outcomes}" if outcomes else hint)


def runtime_sentence(row: Row) -> str:
    """Return a runtime's forecast as a sentence."""
    texts = {name: cell.text for name, cell in row.cells.items()}
    why = f" ({texts['why']})" if texts["why"] != ABSENT else ""
    return f"{texts['module']} on {texts['runtime']}: {texts['today']} → {texts['then']}: {texts['outcome']}{why}"
