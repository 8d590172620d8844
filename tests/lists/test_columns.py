"""One table of columns for each list: screens, commands and documents take title, cell, keys and order from it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from kymatui.cli.output.listing import Listing, sorted_entries
from kymatui.domain.catalog.catalog_json import MODULE_FIELDS, row_json
from kymatui.domain.kyma.states import State
from kymatui.lists import audit, catalog, control_plane, fleet, module
from kymatui.lists.catalog_cells import CELLS, CatalogEntry
from kymatui.lists.columns import ABSENT, Cell, ListColumn, in_order, row_document
from kymatui.lists.fleet import RuntimeEntry
from kymatui.ui.presenters.catalog.catalog_rows import table_rows
from kymatui.ui.presenters.catalog.catalog_views import ALL_MODULES
from kymatui.ui.presenters.fleet.runtime_rows import runtime_row
from kymatui.ui.viewmodels.row_filter import parse_filter
from kymatui.ui.viewmodels.sorting import SortOrder, arrange_rows
from tests.ui.fleets import KYMAS
from tests.ui.fleets import rows as fleet_of
from tests.ui.modules import catalog as catalog_of
from tests.ui.modules import module as module_row

NOW = 1_763_000_000.0
TABLES: dict[str, Sequence[ListColumn[Any]]] = {
    f"{part.__name__.rpartition('.')[2]}.{name}": columns
    for part in (audit, catalog, control_plane, fleet, module)
    for name, columns in vars(part).items()
    if name.endswith("COLUMNS") and columns and isinstance(columns[0], ListColumn)
}
MODULES = [
    module_row(
        name,
        state=state,
        installed=installed,
        newest=newest,
        channels={"fast": newest} if newest else {},
        created=NOW - age,
    )
    for name, state, installed, newest, age in (
        ("istio", State.READY, "1.10.0", "1.10.0", 90.0),
        ("keda", State.WARNING, "1.9.0", "", 7_200.0),
        ("nats", State.ERROR, "", "2.0.0", 3.0),
        ("serverless", State.DELETING, "0.14.0", "1.2.0", 864_000.0),
    )
]


@pytest.mark.parametrize("name", TABLES)
def test_no_two_columns_of_a_list_have_one_name(name: str) -> None:
    columns = TABLES[name]
    assert len({column.id for column in columns}) == len(columns)
    assert len({column.title for column in columns}) == len(columns)
    keys = [key for column in columns for key in column.json]
    assert name.startswith("catalog.") or len(set(keys)) == len(keys)


def test_every_column_of_the_catalog_has_a_cell_and_keys_of_its_document() -> None:
    columns = (*catalog.COLUMNS, catalog.OFFERED, *catalog.REMOTE_COLUMNS, *catalog.DRIFT_COLUMNS)
    assert {column.id for column in columns} == set(CELLS)
    entry = CatalogEntry(MODULES[0])
    document = row_document(catalog.COLUMNS, entry)
    assert document == {key: row_json(entry.module)[key] for key in document}
    assert set(MODULE_FIELDS) - set(document) == {"unknown"}


def catalog_order(column: ListColumn[Any]) -> tuple[list[str], list[str]]:
    modules = catalog_of(*MODULES)
    listing: Listing[CatalogEntry] = Listing(
        columns=catalog.COLUMNS,
        entries=[CatalogEntry(row) for row in modules.rows],
        document=lambda _: {},
        name=lambda entry: entry.module.name,
    )
    order = SortOrder(column.id, descending=column.falls)
    lines = arrange_rows(table_rows(modules, ALL_MODULES, NOW), parse_filter(""), order)
    return [entry.module.name for entry in sorted_entries(listing, column.title)], [line.key for line in lines]


def fleet_order(column: ListColumn[Any]) -> tuple[list[str], list[str]]:
    runtimes = list(fleet_of(KYMAS).values())
    listing: Listing[RuntimeEntry] = Listing(
        columns=fleet.RUNTIME_COLUMNS,
        entries=[RuntimeEntry(runtime) for runtime in runtimes],
        document=lambda _: {},
        name=lambda entry: entry.runtime.name,
    )
    order = SortOrder(column.id, descending=column.falls)
    rows = [runtime_row(("kcp", runtime.name), runtime, NOW) for runtime in runtimes]
    lines = arrange_rows(rows, parse_filter(""), order)
    return [entry.runtime.name for entry in sorted_entries(listing, column.id)], [
        line.key.rpartition("/")[2] for line in lines
    ]


@pytest.mark.parametrize("column", catalog.COLUMNS, ids=lambda column: column.id)
def test_the_catalog_is_sorted_alike_on_the_screen_and_by_the_command(column: ListColumn[Any]) -> None:
    command, screen = catalog_order(column)
    assert command == screen


@pytest.mark.parametrize(
    "column", [column for column in fleet.RUNTIME_COLUMNS if column.width], ids=lambda column: column.id
)
def test_the_fleet_is_sorted_alike_on_the_screen_and_by_the_command(column: ListColumn[Any]) -> None:
    command, screen = fleet_order(column)
    assert command == screen


def test_versions_are_sorted_as_versions_and_those_without_one_come_last() -> None:
    command, _ = catalog_order(next(column for column in catalog.COLUMNS if column.id == "installed"))
    assert command == ["serverless", "keda", "istio", "nats"]


def test_empty_cells_come_last_in_both_directions() -> None:
    cells = [Cell(""), Cell("b"), Cell(ABSENT), Cell(ABSENT, order=0), Cell("a")]
    for descending in (False, True):
        found = in_order(cells, lambda cell: cell, descending=descending)
        assert [cell.is_empty for cell in found] == [False, False, False, True, True]


def test_earlier_titles_are_still_names() -> None:
    names = {(name, column.id) for table in TABLES.values() for column in table for name in column.also}
    assert {("DECIDED BY", "checks"), ("NEXT WINDOW", "window")} <= names
    assert all(column.is_named(name.lower()) for table in TABLES.values() for column in table for name in column.also)
