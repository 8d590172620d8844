"""Names that nothing has."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kymatui.errors import UnknownNameError

if TYPE_CHECKING:
    from kymatui.domain.catalog.rows import Catalog


def unknown_module(catalog: Catalog, name: str) -> UnknownNameError:
    """Return the error of a module that neither the catalog nor the cluster has."""
    return UnknownNameError.near(
        "module", name, [row.name for row in catalog.rows], where=f"in {catalog.cluster}", hint="run `kymatui catalog`"
    )
