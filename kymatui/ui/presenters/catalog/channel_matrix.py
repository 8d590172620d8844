"""Modules by channel: the version in each channel, and where the channels differ."""

from __future__ import annotations

from kymatui.domain.catalog.channel_matrix import ChannelCell as Place
from kymatui.domain.catalog.channel_matrix import ChannelMatrix, MatrixRow, build_matrix
from kymatui.domain.catalog.rows import Catalog
from kymatui.domain.kubernetes.terminal_text import sanitize
from kymatui.lists.catalog_cells import GAP_TONES, version_cell
from kymatui.lists.columns import ABSENT, Cell, Column
from kymatui.ui.viewmodels.row_list import Row


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
