"""The chosen cell of the version matrix, and the columns that are scrolled to it."""

from __future__ import annotations

from collections.abc import Sequence

from kymatui.domain.fleet.runtimes import Runtime
from kymatui.ui.presenters.fleet.fleet_reports import VersionTable, matrix_columns, matrix_rows, with_cell
from kymatui.ui.presenters.fleet.runtime_rows import RuntimeFilter
from kymatui.ui.viewmodels.columns import Column
from kymatui.ui.viewmodels.row_list import Row


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
        place = self.place(module)
        if width and place >= 0:
            last = self._first + width - 1
            self._first = min(place, self._first) if place <= last else self._first + place - last

    def hint(self, module: str | None) -> str:
        """Return what enter does on the chosen cell."""
        cells, place = self.cells(module), self.place(module)
        if not cells:
            return ""
        of = f"   version {place + 1} of {len(cells)}" if len(cells) > 1 else ""
        return f"enter shows the runtimes with {cells[place]}{of}"
