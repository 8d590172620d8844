"""The channel matrix: modules by channels, with each version and the differences."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Struct

from kymatui.domain.catalog.rows import Catalog, CatalogOrigin, ModuleRow
from kymatui.domain.kubernetes.refs import ObjectRef
from kymatui.domain.kyma.kymas import DEFAULT_CHANNEL
from kymatui.domain.kyma.versions import Distance, parse_version, same_version, version_distance
from kymatui.domain.snapshot.missing_lists import RowFact, UnknownFact


class ChannelCell(Struct, frozen=True):
    """One module in one channel.

    `template` is None if the version has none and so cannot be installed, or if `unknown` says why that is not
    known. `distance` is the distance to the reference channel, None if equal or not comparable; `ahead` is its
    direction.
    """

    version: str
    template: ObjectRef | None
    installed: bool
    current: bool
    distance: Distance | None = None
    ahead: bool = False
    unknown: UnknownFact | None = None


class MatrixRow(Struct, frozen=True):
    """One module of the matrix; a channel without the module has no cell."""

    module: str
    cells: Mapping[str, ChannelCell]
    installed: str
    unknown_installed: UnknownFact | None = None

    @property
    def differs(self) -> bool:
        """Return whether the channels that have the module have different versions."""
        versions = [cell.version for cell in self.cells.values()]
        return any(not same_version(version, versions[0]) for version in versions)


class ChannelMatrix(Struct, frozen=True):
    """All modules that are in channels, and the channels in order; distances are relative to `reference`."""

    channels: tuple[str, ...]
    reference: str
    is_own: bool  # the reference is the Kyma's own channel
    rows: tuple[MatrixRow, ...]


def build_matrix(catalog: Catalog) -> ChannelMatrix:
    """Return the matrix; the reference is the Kyma's channel.

    Community modules are in no channel and have no row.
    """
    chosen = (catalog.kyma.channel if catalog.kyma is not None else "") or DEFAULT_CHANNEL
    rows = tuple(_row(row, chosen) for row in catalog.rows if row.origin is CatalogOrigin.KYMA and row.channels)
    return ChannelMatrix(catalog.channels, chosen, catalog.kyma_unknown is None, rows)


def _row(row: ModuleRow, reference: str) -> MatrixRow:
    base = row.channels.get(reference, "")
    cells = {channel: _cell(row, channel, version, base) for channel, version in row.channels.items()}
    return MatrixRow(row.name, cells, row.installed, row.unknown.get(RowFact.INSTALLED))


def _cell(row: ModuleRow, channel: str, version: str, base: str) -> ChannelCell:
    offer = next(
        (offer for offer in row.offers if offer.origin is CatalogOrigin.KYMA and same_version(offer.version, version)),
        None,
    )
    here, base_version = parse_version(version), parse_version(base)
    return ChannelCell(
        version=version,
        template=offer.template if offer is not None else None,
        installed=bool(row.installed) and same_version(row.installed, version),
        current=channel == row.channel,
        distance=version_distance(version, base) if base else None,
        ahead=here is not None and base_version is not None and here > base_version,
        unknown=row.unknown.get(RowFact.NEWEST) if offer is None else None,
    )
