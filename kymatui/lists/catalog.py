"""The columns of the catalog, on screens and in commands: one cluster's, a runtime's, and those that drift.

The first paint, the configuration and the help need titles only, so that cells (`catalog_cells`) are imported late.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from kymatui.lists.columns import Cell, ListColumn, pick

if TYPE_CHECKING:
    from kymatui.lists.catalog_cells import CatalogEntry


CatalogColumn: TypeAlias = "ListColumn[CatalogEntry]"


def _column(
    name: str, title: str, width: int = 0, *, help: str = "", json: Iterable[str] = (), **layout: Any
) -> CatalogColumn:
    fields = {key: partial(_field, key) for key in json}
    return ListColumn(name, title, width, cell=partial(_cell, name), help=help, json=fields, **layout)


def _cell(name: str, entry: CatalogEntry) -> Cell:
    from kymatui.lists.catalog_cells import CELLS

    return CELLS[name](entry)


def _field(key: str, entry: CatalogEntry) -> Any:
    from kymatui.domain.catalog.catalog_json import MODULE_FIELDS

    return MODULE_FIELDS[key].read(entry.module)


# On 60 columns DRIFT says what DESIRED does, and has to be read in full.
COLUMNS: Final = (
    _column("name", "NAME", 20, flex=3, help="the module", json=["name"]),
    _column(
        "source",
        "SOURCE",
        6,
        priority=5,
        help="which catalog it comes from; mandatory, beta, internal",
        json=["origin", "mandatory", "beta", "internal"],
    ),
    _column(
        "channel",
        "CHANNEL",
        9,
        flex=1,
        priority=2,
        help="the channel that applies to it",
        json=["channel", "channelSource"],
    ),
    _column("installed", "INSTALLED", 9, help="the running version", json=["installed", "installedSource"]),
    _column("desired", "DESIRED", 8, priority=1, help="the expected version", json=["desired"]),
    _column("newest", "NEWEST", 8, priority=4, help="the newest release (a pre-release if none)", json=["newest"]),
    _column(
        "drift", "DRIFT", 18, flex=1, help="the distance between the running and the expected version", json=["drift"]
    ),
    _column("state", "STATE", 15, flex=1, help="the module's state", json=["state"]),
    _column(
        "presence",
        "PRESENCE",
        14,
        priority=7,
        help="whether it is installed, and by which owner; not shown at start",
        json=["presence"],
        wide=True,
    ),
    _column(
        "checks",
        "CHECKS",
        7,
        priority=3,
        help="what decided the state: rules that match (2/4 of customStateCheck), manager, status",
        json=["stateSource", "checks"],
        also=("DECIDED BY",),
        wide=True,
    ),
    _column(
        "tags",
        "TAGS",
        9,
        priority=7,
        help="managed, mandatory, beta, internal; not shown at start",
        json=["managed", "mandatory", "beta", "internal"],
        wide=True,
    ),
    _column("age", "AGE", 4, priority=6, right=True, help="how long it has been in the cluster", wide=True),
    _column(
        "manager",
        "MANAGER",
        20,
        flex=2,
        priority=7,
        help="the workload that runs its manager; not shown at start",
        wide=True,
    ),
    _column("signed", "SIGNED", 8, priority=4, help="whether its component is signed; not shown at start"),
    _column(
        "reason",
        "REASON",
        30,
        flex=4,
        priority=7,
        help="why it is in this state; on terminals of 160 columns and more",
        json=["reason", "cause", "effect", "blockedBy", "advice", "adviceKind", "command"],
        wide=True,
    ),
    _column("actor", "WHO ACTS", 12, priority=7, help="who acts next; not shown at start", json=["actor"], wide=True),
    _column(
        "channels",
        "CHANNELS",
        16,
        flex=2,
        priority=7,
        help="its version in each channel; not shown at start",
        json=["channels"],
        wide=True,
    ),
    _column(
        "by",
        "BY",
        12,
        priority=7,
        help="who installed it and keeps it up to date; not shown at start",
        json=["installedBy"],
        wide=True,
    ),
    _column(
        "from",
        "FROM",
        16,
        flex=2,
        priority=7,
        help="the address that it was installed or fetched from; not shown at start",
        json=["installation"],
        wide=True,
    ),
)
START_COLUMNS: Final = tuple(
    column.id
    for column in COLUMNS
    if column.id not in {"presence", "tags", "manager", "signed", "actor", "channels", "by", "from"}
)
"""The columns of the screen without a choice: "signed" sends requests to registries, the others are wide or rare."""
COLUMN_NAMES: Final = tuple(column.id for column in COLUMNS)
OFFERED: Final = _column("offered", "OFFERED", 8, flex=1, help="the version of the channel; only in its view")
REMOTE_COLUMNS: Final = (
    *pick(COLUMNS, "name", "channel", "installed", "desired", "drift", "state"),
    _column("kyma", "KYMA", help="the state that the Kyma reports"),
    _column("manifest", "MANIFEST", help="the state that the Manifest reports"),
    _column("resource", "MODULE CR", help="the state of the module CR"),
    _column("workload", "MANAGER", help="the state of the module's manager"),
    *pick(COLUMNS, "tags", "reason"),
    _column("manifest-name", "MANIFEST NAME", help="the Manifest on the control plane", wide=True),
    _column("conditions", "MANIFEST CONDITIONS", help="the conditions of the Manifest", wide=True),
)
"""A runtime's catalog: who reports what of each module."""
DRIFT_COLUMNS: Final = (
    *pick(COLUMNS, "name", "installed", "desired"),
    _column("explained-drift", "DRIFT", help="the distance, or why it is unknown"),
    *pick(COLUMNS, "actor"),
)


def choose_columns(names: Sequence[str]) -> tuple[CatalogColumn, ...]:
    """Return the named columns in this order; those of the start if every name is unknown."""
    return pick(COLUMNS, *([name for name in names if name in COLUMN_NAMES] or START_COLUMNS))
