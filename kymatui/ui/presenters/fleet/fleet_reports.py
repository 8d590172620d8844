"""Three reports on a fleet: counts of module versions, pending actions, and recent changes."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from types import MappingProxyType

from msgspec import Struct
from msgspec.structs import replace

from kymatui.domain.catalog.rows import Catalog
from kymatui.domain.fleet.clusters import FleetCluster
from kymatui.domain.fleet.fleet_tracker import MANIFEST, FleetChange, FleetSnapshot, RuntimeKey
from kymatui.domain.fleet.pending_actions import Catalogs, PendingAction, malformed_action, runtime_reason
from kymatui.domain.fleet.runtimes import Runtime, VersionCounts, version_matrix
from kymatui.domain.fleet.short_names import short_names
from kymatui.domain.kubernetes.terminal_text import sanitize
from kymatui.domain.kyma.problems import Actor
from kymatui.domain.kyma.states import State, state_rank
from kymatui.lists.catalog_cells import version_cell
from kymatui.lists.columns import ABSENT, SIGNS, Cell, Column, cells_of, natural_key, on_screen
from kymatui.lists.fleet import VERSION_COLUMNS, WAIT_COLUMNS, WaitEntry, runtime_state_cell
from kymatui.ui.presenters.catalog.change_rows import value_cell
from kymatui.ui.presenters.fleet.runtime_rows import RuntimeFilter, actor_words, key_text
from kymatui.ui.viewmodels.display_text import clock_time
from kymatui.ui.viewmodels.row_list import Row

_SEPARATOR = "\0"
_SHARED = on_screen(VERSION_COLUMNS)


class VersionTable(Struct, frozen=True):
    """Version matrix with the fleet filter of each cell, by module from left to right."""

    rows: tuple[Row, ...]
    cells: dict[str, tuple[RuntimeFilter, ...]]


def matrix_columns(counts: VersionTable, first: int = 0) -> tuple[Column, ...]:
    """Return the columns from number `first` on; column 0 is the newest version of each module."""
    most = max((len(filters) for filters in counts.cells.values()), default=1)
    titles = ("NEWEST REPORTED", *(f"{number} OLDER" for number in range(1, most)))
    columns = (
        Column(f"place:{n}", titles[n], 18, flex=1, priority=n - first, falls=True) for n in range(first, len(titles))
    )
    return (*_SHARED, *columns)


def matrix_rows(runtimes: Sequence[Runtime]) -> VersionTable:
    """Return the matrix of module by version with counts over these runtimes."""
    version_counts = version_matrix(runtimes)
    cells = {
        counts.module: tuple(RuntimeFilter("module", counts.module, version) for version, _ in counts.counts)
        for counts in version_counts
    }
    return VersionTable(tuple(map(_matrix_row, version_counts)), cells)


def _matrix_row(counts: VersionCounts) -> Row:
    cells = cells_of(_SHARED, counts)
    most = max((count for _, count in counts.counts), default=0)
    for index, (version, count) in enumerate(counts.counts):
        tone = "ready" if count == most else ""
        cells[f"place:{index}"] = Cell(f"{sanitize(version) or 'unknown'}: {count}", tone, order=count)
    return Row(counts.module, cells)


def with_cell(row: Row, index: int) -> Row:
    """Return the row with a marked cell, visible without colour too."""
    name = f"place:{index}"
    cell = row.cells.get(name)
    if cell is None:
        return row
    return replace(row, cells={**row.cells, name: Cell(f"[{cell.text}]", "accent", cell.order)})


def context_columns(clusters: Iterable[FleetCluster], first: int = 0) -> tuple[Column, ...]:
    """Return a column for each module of any context, from number `first` on."""
    modules = sorted({row.name for cluster in clusters for row in cluster.modules})
    shown = modules[min(first, max(len(modules) - 1, 0)) :]
    columns = (
        Column(f"module:{name}", sanitize(name).upper(), min(max(len(name), 8), 14), priority=number + 1)
        for number, name in enumerate(shown)
    )
    return (Column("name", "CONTEXT", 16, flex=1), *columns)


def context_rows(clusters: Iterable[FleetCluster]) -> list[Row]:
    """Return the installed versions of each context that has modules; those that drift are marked."""
    return [
        Row(
            key_text(("", cluster.context)),
            {
                "name": Cell(sanitize(cluster.context), "strong", order=natural_key(cluster.context)),
                **{
                    f"module:{row.name}": version_cell(row.installed, "warning" if row.drift.is_drift else "")
                    for row in cluster.modules
                },
            },
        )
        for cluster in clusters
        if cluster.modules
    ]


def wait_rows(waits: Iterable[PendingAction], now: float) -> list[Row]:
    """Return the pending actions, worst first."""
    listed = list(waits)
    short = short_names(wait.runtime[1] for wait in listed)
    return [_wait_row(wait, now, short.get(wait.runtime[1], "")) for wait in listed]


def _wait_row(wait: PendingAction, now: float, short: str) -> Row:
    distinct = "" if wait.module else wait.reason  # a runtime may wait for several things, a module has one reason
    key = _SEPARATOR.join((key_text(wait.runtime), wait.module, distinct))
    return Row(key, cells_of(WAIT_COLUMNS, WaitEntry(wait, short), now))


PROBLEM_COLUMNS = (
    Column("runtime", "RUNTIME", 12, flex=2),
    Column("state", "STATE", 17),
    Column("reason", "PROBLEM", 24, flex=5, wraps=True),
    Column("on", "WHO ACTS", 18, flex=1, priority=1),
)


def problem_rows(picture: FleetSnapshot, catalogs: Catalogs = MappingProxyType({})) -> list[Row]:
    """Return the runtimes with a problem, each with its worst reason, and the Kymas that cannot be read.

    `catalogs` are those of connected runtimes.
    """
    runtimes = [(key, runtime) for key, runtime in picture.runtimes.items() if picture.has_problem(key)]
    short = short_names(name for _, name in picture.runtimes)
    rows = [_problem_row(key, runtime, picture, short.get(key[1], ""), catalogs.get(key)) for key, runtime in runtimes]
    return [*rows, *map(_malformed_row, map(malformed_action, picture.malformed))]


def _malformed_row(action: PendingAction) -> Row:
    cells = {
        "runtime": Cell(sanitize(action.runtime[1]), "strong"),
        "state": Cell(f"{SIGNS.get('error', '')} malformed", "error", order=state_rank(State.ERROR)),
        "reason": Cell(sanitize(action.reason)),
        "on": Cell(action.actor.value, "accent"),
    }
    return Row(_SEPARATOR.join((key_text(action.runtime), "")), cells)


def _problem_row(key: RuntimeKey, runtime: Runtime, picture: FleetSnapshot, short: str, catalog: Catalog | None) -> Row:
    why = runtime_reason(runtime, picture.manifests_of(key), picture.unknown_drift, catalog)
    worst = runtime.worst.name if runtime.worst is not None else ""
    cells = {
        "runtime": Cell(sanitize(runtime.name), "strong", short=sanitize(short)),
        "state": runtime_state_cell(runtime),
        "reason": Cell(sanitize(why.text)),
        "on": Cell(why.actor.value, "accent" if why.actor is Actor.YOU else ""),
    }
    return Row(_SEPARATOR.join((key_text(key), worst)), cells)


def format_problem(row: Row) -> str:
    """Return the problem of a runtime as a sentence."""
    texts = {name: cell.text for name, cell in row.cells.items()}
    return "   ".join(filter(None, (f"{texts['runtime']}  {texts['reason']}", actor_words(texts["on"]))))


CHANGE_COLUMNS = (
    Column("time", "UTC", 8, falls=True),
    Column("runtime", "RUNTIME", 12, flex=2),
    Column("module", "MODULE", 16, flex=1),
    Column("what", "WHAT", 10, priority=1),
    Column("before", "BEFORE", 12, flex=1, priority=2),
    Column("after", "AFTER", 14, flex=1),
)


def change_rows(changes: Iterable[FleetChange]) -> list[Row]:
    listed = list(changes)
    short = short_names(change.runtime[1] for change in listed)
    return [_change_row(change, short.get(change.runtime[1], "")) for change in listed]


def _change_row(change: FleetChange, short: str) -> Row:
    cells = {
        "time": Cell(clock_time(change.at), "muted", order=change.at),
        "runtime": Cell(sanitize(change.runtime[1]), "strong", short=sanitize(short)),
        "module": Cell(sanitize(change.module) or "(the runtime)"),
        "what": Cell(sanitize(change.what)),
        "before": Cell(sanitize(change.before) or ABSENT, "muted"),
        "after": value_cell(change.after),
    }
    return Row(_SEPARATOR.join((key_text(change.runtime), change.module, change.what, str(change.at))), cells)


def format_wait(row: Row) -> str:
    """Return a pending action as a sentence."""
    texts = {name: cell.text for name, cell in row.cells.items()}
    since = f", for {texts['since']}" if texts["since"] else ""
    return f"{texts['module']} on {texts['runtime']}: {texts['reason']}   {actor_words(texts['on'])}{since}"


def format_runtime_change(row: Row) -> str:
    """Return a change as a sentence."""
    texts = {name: cell.text for name, cell in row.cells.items()}
    what = f"{texts['module']} on {texts['runtime']}"
    if texts["what"] == MANIFEST:
        return f"{what}: {texts['after']} at {texts['time']} UTC, reported by its Manifest"
    return f"{what}: {texts['what']} {texts['before']} → {texts['after']} at {texts['time']} UTC"


def runtime_of(row_key: str) -> str:
    return row_key.partition(_SEPARATOR)[0]


def module_of(row_key: str) -> str:
    """Return the module of a line, "" where it is about the whole runtime."""
    return row_key.split(_SEPARATOR)[1]


class MatrixCursor:
    """Cursor of the matrix: the table moves it between modules, the keys between versions of a module."""

    def __init__(self) -> None:
        self._counts = VersionTable((), {})
        self._place = 0
        self._first = 0

    @property
    def columns(self) -> tuple[Column, ...]:
        return matrix_columns(self._counts, self._first)

    def count(self, runtimes: Sequence[Runtime]) -> None:
        """Count the versions anew; the chosen cell keeps its place."""
        self._counts = matrix_rows(runtimes)

    def cells(self, module: str | None) -> Sequence[RuntimeFilter]:
        """Return the cells of a module from its newest version on."""
        return self._counts.cells.get(module or "", ())

    def place(self, module: str | None) -> int:
        """Return the number of the chosen cell, limited to the module's versions; -1 without versions."""
        return min(self._place, len(self.cells(module)) - 1)

    def turn(self, module: str | None, by: int) -> None:
        """Choose an older or a newer version of the module."""
        self._place = max(0, min(self.place(module) + by, len(self.cells(module)) - 1))

    def rows(self, module: str | None) -> list[Row]:
        """Return the rows with the chosen cell of one module marked; of the first one for None."""
        key = module or (self._counts.rows[0].key if self._counts.rows else "")
        return [with_cell(row, self.place(key)) if row.key == key else row for row in self._counts.rows]

    def scroll(self, module: str | None, shown: Sequence[str]) -> None:
        """Scroll the columns until the chosen cell is among those `shown`; a module may have more than fit."""
        width = sum(name.startswith("place:") for name in shown)
        index = self.place(module)
        if width and index >= 0:
            last = self._first + width - 1
            self._first = min(index, self._first) if index <= last else self._first + index - last

    def hint(self, module: str | None) -> str:
        """Return what enter does on the chosen cell."""
        cells, index = self.cells(module), self.place(module)
        if not cells:
            return ""
        of = f"   version {index + 1} of {len(cells)}" if len(cells) > 1 else ""
        return f"enter shows the runtimes with {cells[index]}{of}"
