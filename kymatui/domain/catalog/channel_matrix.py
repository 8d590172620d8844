"""Modules by channels, side by side: which version each channel has, and where they differ."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from kymatui.domain.catalog.rows import Catalog, CatalogOrigin, ModuleRow
from kymatui.domain.kubernetes.refs import ObjectRef
from kymatui.domain.kyma.kymas import DEFAULT_CHANNEL
from kymatui.domain.kyma.versions import Distance, parse_version, same_version, version_distance
from kymatui.domain.snapshot.missing_lists import RowFact, UnknownFact


@dataclass(frozen=True, slots=True)
class ChannelCell:
    """One module in one channel.

    `template` is None where the version has none, so that it cannot be installed, unless `unknown` says why that is not
    known; `version_distance` is the one to the
    reference channel, None where they are equal or cannot be compared, and `ahead` its direction.
    """

    version: str
    template: ObjectRef | None
    installed: bool
    current: bool
    distance: Distance | None = None
    ahead: bool = False
    unknown: UnknownFact | None = None


@dataclass(frozen=True, slots=True)
class MatrixRow:
    """One module; a channel that it is not in has no cell."""

    module: str
    cells: Mapping[str, ChannelCell]
    installed: str
    unknown_installed: UnknownFact | None = None

    @property
    def differs(self) -> bool:
        """Whether the channels that have the module do not all have the same version."""
        versions = [cell.version for cell in self.cells.values()]
        return any(not same_version(version, versions[0]) for version in versions)


@dataclass(frozen=True, slots=True)
class ChannelMatrix:
    """All modules that are in channels, and the channels in order; distances are counted from `reference`."""

    channels: tuple[str, ...]
    reference: str
    is_own: bool  # whether the reference is the Kyma's own channel
    rows: tuple[MatrixRow, ...]


def build_matrix(catalog: Catalog, reference: str = "") -> ChannelMatrix:
    """Community modules are in no channel and have no row; the reference is the Kyma's channel where none is asked."""
    chosen = reference or (catalog.kyma.channel if catalog.kyma is not None else "") or DEFAULT_CHANNEL
    rows = tuple(_row(row, chosen) for row in catalog.rows if row.origin is CatalogOrigin.KYMA and row.channels)
    is_own = catalog.kyma_unknown is None and not reference
    return ChannelMatrix(catalog.channels, chosen, is_own, rows)


def _row(row: ModuleRow, reference: str) -> MatrixRow:
    base = row.channels.get(reference, "")
    cells = {channel: _cell(row, channel, version, base) for channel, version in row.channels.items()}
    return MatrixRow(row.name, cells, row.installed, row.unknown.get(RowFact.INSTALLED))


def _cell(row: ModuleRow, channel: str, version: str, base: str) -> ChannelCell:
    offer = next(
        (offer for offer in row.offers if offer.origin is CatalogOrigin.KYMA and same_version(offer.version, version)),
        None,
    )
    here, there = parse_version(version), parse_version(base)
    return ChannelCell(
        version=version,
        template=offer.template if offer is not None else None,
        installed=bool(row.installed) and same_version(row.installed, version),
        current=channel == row.channel,
        distance=version_distance(version, base) if base else None,
        ahead=here is not None and there is not None and here > there,
        unknown=row.unknown.get(RowFact.NEWEST) if offer is None else None,
    )
