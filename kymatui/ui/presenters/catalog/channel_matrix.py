"""Modules by channel: the version in each channel, and where the channels differ."""

from __future__ import annotations

from kymatui.domain.catalog.channel_matrix import ChannelCell as Place
from kymatui.domain.catalog.channel_matrix import ChannelMatrix, MatrixRow, build_matrix
from kymatui.domain.catalog.rows import Catalog
from kymatui.domain.kubernetes.terminal_text import sanitize
from kymatui.ui.presenters.catalog.catalog_rows import ABSENT, GAP_TONES, version_cell
from kymatui.ui.viewmodels.columns import Column
from kymatui.ui.viewmodels.row_list import Cell, Row


def channel_columns(found: ChannelMatrix) -> tuple[Column, ...]:
    """Return the name, one column per channel, the installed version, and the difference."""
    channels = (Column(f"channel:{name}", _title(found, name), 20, flex=1) for name in found.channels)
    return (
        Column("name", "NAME", 20, flex=1),
        *channels,
        Column("installed", "INSTALLED", 10, priority=1),
        Column("agrees", "CHANNELS", 10, priority=2),
    )


def _title(found: ChannelMatrix, channel: str) -> str:
    return sanitize(channel.upper()) + (" (yours)" if channel == found.reference and found.is_own else "")


def channel_rows(catalog: Catalog, *, only_differences: bool = False) -> tuple[ChannelMatrix, list[Row]]:
    """Return the matrix and its rows; distances count from the Kyma's own channel."""
    found = build_matrix(catalog)
    return found, [_row(found, one) for one in found.rows if one.differs or not only_differences]


def _row(found: ChannelMatrix, one: MatrixRow) -> Row:
    cells = {"name": Cell(sanitize(one.module), "strong"), "installed": _installed(one)}
    for channel in found.channels:
        cells[f"channel:{channel}"] = _cell(one.cells.get(channel))
    cells["agrees"] = Cell("differ", "warning") if one.differs else Cell("agree", "muted")
    return Row(one.module, cells)


def _installed(one: MatrixRow) -> Cell:
    why = one.unknown_installed
    return version_cell(one.installed) if why is None else Cell(why.gap.value, GAP_TONES[why.gap])


def _cell(place: Place | None) -> Cell:
    """Return a cell such as `1.3.0  +1 minor`; mark a version that cannot be installed."""
    if place is None:
        return Cell(ABSENT, "muted")
    if place.template is None and place.unknown is None:
        return Cell(f"{sanitize(place.version)}  no template", "error")
    text = sanitize(place.version)
    if place.distance is not None:
        text += f"  {'+' if place.ahead else '−'}{place.distance}"
    if place.installed:
        return Cell(f"{text} ←", "ready")
    return Cell(text, "accent" if place.distance is not None else "")
