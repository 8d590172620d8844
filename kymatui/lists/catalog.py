"""The columns of the catalog, on screens and in commands: one cluster's, a runtime's, and those that drift.

The first paint, the configuration and the help need titles only, so that cells (`catalog_cells`) are imported late.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from kymatui.lists.columns import Cell, ListColumn, pick

if TYPE_CHECKING:
    from kymatui.lists.catalog_cells import CatalogEntry


CatalogColumn: TypeAlias = "ListColumn[CatalogEntry]"


def _column(name: str, width: int, help: str, json: str = "", *, title: str = "", **layout: Any) -> CatalogColumn:
    """Return a column; `json` has the keys of a module's document that hold its value."""
    title, fields = title or name.upper().replace("-", " "), {key: partial(_field, key) for key in json.split()}
    return ListColumn(name, title, width, cell=partial(_cell, name), help=help, json=fields, **layout)


_rare = partial(_column, priority=7, wide=True)


def _cell(name: str, entry: CatalogEntry) -> Cell:
    from kymatui.lists.catalog_cells import CELLS

    return CELLS[name](entry)


def _field(key: str, entry: CatalogEntry) -> Any:
    from kymatui.domain.catalog.catalog_json import MODULE_FIELDS

    return MODULE_FIELDS[key].read(entry.module)


# On 60 columns DRIFT says what DESIRED does, and has to be read in full.
COLUMNS: Final = (
    _column("name", 20, "the module", "name", flex=3),
    _column(
        "source",
        6,
        "which catalog it comes from; mandatory, beta, internal",
        "origin mandatory beta internal",
        priority=5,
    ),
    _column("channel", 9, "the channel that applies to it", "channel channelSource", flex=1, priority=2),
    _column("installed", 9, "the running version", "installed installedSource"),
    _column("desired", 8, "the expected version", "desired", priority=1),
    _column("newest", 8, "the newest release (a pre-release if none)", "newest", priority=4),
    _column("drift", 18, "the distance between the running and the expected version", "drift", flex=1),
    _column("state", 15, "the module's state", "state", flex=1),
    _rare("presence", 14, "whether it is installed, and by which owner; not shown at start", "presence"),
    _column(
        "checks",
        7,
        "what decided the state: rules that match (2/4 of customStateCheck), manager, status",
        "stateSource checks",
        priority=3,
        also=("DECIDED BY",),
        wide=True,
    ),
    _rare("tags", 9, "managed, mandatory, beta, internal; not shown at start", "managed mandatory beta internal"),
    _column("age", 4, "how long it has been in the cluster", priority=6, right=True, wide=True),
    _rare("manager", 20, "the workload that runs its manager; not shown at start", flex=2),
    _column("signed", 8, "whether its component is signed; not shown at start", priority=4),
    _rare(
        "reason",
        30,
        "why it is in this state; on terminals of 160 columns and more",
        "reason cause effect blockedBy advice adviceKind command",
        flex=4,
    ),
    _rare("actor", 12, "who acts next; not shown at start", "actor", title="WHO ACTS"),
    _rare("channels", 16, "its version in each channel; not shown at start", "channels", flex=2),
    _rare("by", 12, "who installed it and keeps it up to date; not shown at start", "installedBy"),
    _rare("from", 16, "the address that it was installed or fetched from; not shown at start", "installation", flex=2),
)
START_COLUMNS: Final = tuple(
    column.id
    for column in COLUMNS
    if column.id not in {"presence", "tags", "manager", "signed", "actor", "channels", "by", "from"}
)
"""The columns of the screen without a choice: "signed" sends requests to registries, the others are wide or rare."""
COLUMN_NAMES: Final = tuple(column.id for column in COLUMNS)
OFFERED: Final = _column("offered", 8, "the version of the channel; only in its view", flex=1)
REMOTE_COLUMNS: Final = (
    *pick(COLUMNS, "name", "channel", "installed", "desired", "drift", "state"),
    _column("kyma", 0, "the state that the Kyma reports"),
    _column("manifest", 0, "the state that the Manifest reports"),
    _column("resource", 0, "the state of the module CR", title="MODULE CR"),
    _column("workload", 0, "the state of the module's manager", title="MANAGER"),
    *pick(COLUMNS, "tags", "reason"),
    _column("manifest-name", 0, "the Manifest on the control plane", wide=True),
    _column("conditions", 0, "the conditions of the Manifest", title="MANIFEST CONDITIONS", wide=True),
)
"""A runtime's catalog: who reports what of each module."""
DRIFT_COLUMNS: Final = (
    *pick(COLUMNS, "name", "installed", "desired"),
    _column("explained-drift", 0, "the distance, or why it is unknown", title="DRIFT"),
    *pick(COLUMNS, "actor"),
)


def choose_columns(names: Sequence[str]) -> tuple[CatalogColumn, ...]:
    """Return the named columns in this order; those of the start if every name is unknown."""
    return pick(COLUMNS, *([name for name in names if name in COLUMN_NAMES] or START_COLUMNS))
