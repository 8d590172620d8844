"""Columns and views of the catalog table, all that the first paint needs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from kymatui.domain.catalog.catalog_columns import START_COLUMNS
from kymatui.ui.viewmodels.columns import Column

if TYPE_CHECKING:
    from kymatui.domain.catalog.rows import Catalog, ModuleRow

# On 60 columns DRIFT says what DESIRED does, and has to be read in full.
COLUMNS: tuple[Column, ...] = (
    Column("name", "NAME", 20, flex=3),
    Column("source", "SRC", 5, priority=5),
    Column("channel", "CHANNEL", 9, flex=1, priority=2),
    Column("installed", "INSTALLED", 9),
    Column("desired", "DESIRED", 8, priority=1),
    Column("newest", "NEWEST", 8, priority=4),
    Column("drift", "DRIFT", 18, flex=1),
    Column("state", "STATE", 15, flex=1),
    Column("checks", "CHECKS", 7, priority=3),
    Column("age", "AGE", 4, priority=6, right=True),
    Column("manager", "MANAGER", 20, flex=2, priority=7),
    Column("signed", "SIGNED", 8, priority=4),
    Column("reason", "REASON", 30, flex=4, priority=7),
)


OFFERED = Column("offered", "OFFERED", 8, flex=1)
"""The version of the channel on show; only the view of a channel has it."""


def choose_columns(names: Sequence[str]) -> tuple[Column, ...]:
    """Return the named columns in this order; those of the start if every name is unknown."""
    known = {column.id: column for column in COLUMNS}
    return tuple(known[name] for name in names if name in known) or tuple(known[name] for name in START_COLUMNS)


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


def columns_of(view: CatalogView, columns: Sequence[Column]) -> tuple[Column, ...]:
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
