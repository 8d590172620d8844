"""All channels side by side: a column per channel, a line per module."""

from __future__ import annotations

from typing import ClassVar

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType

from kymatui.domain.catalog.channel_matrix import ChannelCell as Place
from kymatui.domain.catalog.channel_matrix import ChannelMatrix, MatrixRow, build_matrix
from kymatui.domain.catalog.rows import Catalog
from kymatui.domain.kubernetes.terminal_text import sanitize
from kymatui.lists.catalog_cells import GAP_TONES, version_cell
from kymatui.lists.columns import ABSENT, Cell, Column
from kymatui.ui.base.framed_screen import ListScreen
from kymatui.ui.viewmodels.row_list import Row
from kymatui.ui.viewmodels.sorting import SortOrder
from kymatui.ui.widgets.live_table import LiveTable
from kymatui.ui.widgets.row_table import RowTable


class ChannelMatrixScreen(ListScreen):
    """Matrix of versions by channel, with the distance from the Kyma's own channel."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("ctrl+z", "differences", "Show only differences", id="channels.differences")
    ]

    KIND = "channels"
    name_in_help: ClassVar[str] = "Channels"

    def __init__(self) -> None:
        super().__init__()
        self._only_differences = False
        self._channels: tuple[str, ...] | None = None

    def body(self) -> ComposeResult:
        yield LiveTable(id="matrix", sort=SortOrder(), copied="name")

    def show_catalog(self) -> None:
        catalog = self.kymatui.catalog
        if catalog is None or not self.query(LiveTable):
            return
        matrix, lines = channel_rows(catalog, only_differences=self._only_differences)
        table = self.main_widget()
        if matrix.channels != self._channels:
            self._channels = matrix.channels
            table.set_columns(channel_columns(matrix))
        table.show(lines)

    def action_differences(self) -> None:
        self._only_differences = not self._only_differences
        self.show_catalog()

    @on(RowTable.Chosen)
    def _chosen(self, event: RowTable.Chosen) -> None:
        self.open_module(event.key, "versions")


def channel_columns(matrix: ChannelMatrix) -> tuple[Column, ...]:
    """Return the name, one column per channel, the installed version, and the difference."""
    channels = (Column(f"channel:{name}", _title(matrix, name), 20, flex=1) for name in matrix.channels)
    return (
        Column("name", "NAME", 20, flex=1),
        *channels,
        Column("installed", "INSTALLED", 10, priority=1),
        Column("agrees", "CHANNELS", 10, priority=2),
    )


def _title(matrix: ChannelMatrix, channel: str) -> str:
    return sanitize(channel.upper()) + (" (yours)" if channel == matrix.reference and matrix.is_own else "")


def channel_rows(catalog: Catalog, *, only_differences: bool = False) -> tuple[ChannelMatrix, list[Row]]:
    """Return the matrix and its rows; distances count from the Kyma's own channel."""
    matrix = build_matrix(catalog)
    return matrix, [_row(matrix, row) for row in matrix.rows if row.differs or not only_differences]


def _row(matrix: ChannelMatrix, row: MatrixRow) -> Row:
    cells = {"name": Cell(sanitize(row.module), "strong"), "installed": _installed(row)}
    for channel in matrix.channels:
        cells[f"channel:{channel}"] = _cell(row.cells.get(channel))
    cells["agrees"] = Cell("differ", "warning") if row.differs else Cell("agree", "muted")
    return Row(row.module, cells)


def _installed(row: MatrixRow) -> Cell:
    why = row.unknown_installed
    return version_cell(row.installed) if why is None else Cell(why.gap.value, GAP_TONES[why.gap])


def _cell(cell: Place | None) -> Cell:
    """Return a cell such as `1.3.0  +1 minor`; mark a version that cannot be installed."""
    if cell is None:
        return Cell(ABSENT, "muted")
    if cell.template is None and cell.unknown is None:
        return Cell(f"{sanitize(cell.version)}  no template", "error")
    text = sanitize(cell.version)
    if cell.distance is not None:
        text += f"  {'+' if cell.ahead else '−'}{cell.distance}"
    if cell.installed:
        return Cell(f"{text} ←", "ready")
    return Cell(text, "accent" if cell.distance is not None else "")
