"""Views of the catalog behind the number keys, and their columns."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from kymatui.lists.catalog import OFFERED, CatalogColumn

if TYPE_CHECKING:
    from kymatui.domain.catalog.rows import Catalog, ModuleRow


def is_community(module: ModuleRow) -> bool:
    """Return whether the module comes from outside Kyma's own catalog."""
    return module.origin == "community"


class CatalogView(Struct, frozen=True):
    """View of the catalog behind a number key; `channel` is "" for views without a channel.

    `releases` has the Helm releases of other tools, which are no modules.
    """

    key: str
    label: str
    channel: str = ""
    community: bool = False
    releases: bool = False

    def shows(self, module: ModuleRow) -> bool:
        if self.community:
            return is_community(module)
        return not self.channel or self.channel in module.channels


ALL_MODULES = CatalogView("0", "all")


def columns_of(view: CatalogView, columns: Sequence[CatalogColumn]) -> tuple[CatalogColumn, ...]:
    """Return the columns of a view.

    A channel's view has OFFERED after DESIRED, or at the end without DESIRED.
    """
    if not view.channel:
        return tuple(columns)
    ids = [column.id for column in columns]
    index = ids.index("desired") if "desired" in ids else len(ids)
    # DRIFT is about DESIRED: without it, "up to date" beside another OFFERED would be read as false
    desired = [replace(column, priority=0) for column in columns[index : index + 1]]
    return (*columns[:index], *desired, OFFERED, *columns[index + 1 :])


def catalog_views(catalog: Catalog | None) -> tuple[CatalogView, ...]:
    """Return the views: all modules, one per channel, then community modules and other tools' Helm releases."""
    views = [ALL_MODULES]
    for channel in catalog.channels if catalog else ():
        views.append(CatalogView(str(len(views)), channel, channel))
    if catalog and any(map(is_community, catalog.rows)):
        views.append(CatalogView(str(len(views)), "community", community=True))
    if catalog and catalog.releases:
        views.append(CatalogView(str(len(views)), "helm", releases=True))
    return tuple(views[:10])
