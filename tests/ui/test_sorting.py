"""An arrow upwards is an ascending order of what is read in the column, in every table; an arrow downwards the reverse.

What is read is taken from the text of the cells: what they are ordered by internally may be anything.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from itertools import groupby
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from kymatui.domain.catalog.change_history import ModuleChange
from kymatui.domain.catalog.rows import CatalogOrigin, Offer
from kymatui.domain.fleet.fleet_tracker import FleetChange, FleetSnapshot
from kymatui.domain.fleet.maintenance import Maintenance
from kymatui.domain.fleet.pending_actions import PendingAction
from kymatui.domain.fleet.runtimes import Runtime, build_fleet, worst_first
from kymatui.domain.kubernetes.refs import GroupVersionKind, ObjectRef
from kymatui.domain.kyma.maintenance_windows import MaintenanceWindow
from kymatui.domain.kyma.problems import Actor
from kymatui.domain.kyma.states import State
from kymatui.domain.kyma.versions import parse_version
from kymatui.domain.plans.jobs import Job, JobState
from kymatui.domain.snapshot.object_index import ObjectIndex
from kymatui.lists.catalog import COLUMNS as CATALOG_COLUMNS
from kymatui.lists.columns import ABSENT, Column
from kymatui.lists.control_plane import WINDOW_COLUMNS
from kymatui.lists.fleet import GROUP_COLUMNS, WAIT_COLUMNS
from kymatui.lists.module import EVENT_COLUMNS, VERSION_COLUMNS
from kymatui.ui.panes import module_panes
from kymatui.ui.panes.runtimes_pane import BY_STATE
from kymatui.ui.presenters.catalog import catalog_rows as catalog_words
from kymatui.ui.presenters.catalog import catalog_views, change_rows
from kymatui.ui.presenters.fleet import control_plane_reports, fleet_reports, runtime_rows
from kymatui.ui.presenters.module import version_rows
from kymatui.ui.presenters.plans import job_rows
from kymatui.ui.screens.fleet.fleet_list_screens import RecentChangesScreen
from kymatui.ui.viewmodels.row_filter import parse_filter
from kymatui.ui.viewmodels.row_list import Row
from kymatui.ui.viewmodels.sorting import SortOrder, arrange_rows
from kymatui.ui.widgets.live_table import LiveTable
from tests.domain import builders as b
from tests.domain.test_watcher_chains import Parts
from tests.ui.fleets import KYMAS
from tests.ui.fleets import rows as fleet_of
from tests.ui.modules import module

NOW = 1_763_000_000.0
Rows = tuple[Sequence[Column], Sequence[Row]]


def some(kind: str, name: str) -> ObjectRef:
    return ObjectRef(GroupVersionKind("", "v1", kind), "shop", name)


def of_catalog(numbers: Sequence[int]) -> Rows:
    view = catalog_views.CatalogView("2", "fast", "fast")
    found = [
        module(
            f"m{i}",
            created=NOW - n,
            installed=f"1.{n}.0",
            desired=f"{n}.0.1",
            newest=f"2.0.{n}",
            channels={"fast": f"1.0.{n}"},
        )
        for i, n in enumerate(numbers)
    ]
    columns = catalog_views.columns_of(view, CATALOG_COLUMNS)
    return columns, [catalog_words.table_row(one, view, NOW) for one in found]


def runtimes(numbers: Sequence[int]) -> list[Runtime]:
    first = next(iter(fleet_of(KYMAS).values()))
    return [
        replace(
            first, ref=ObjectRef(first.ref.kind, "kcp", f"r{i}"), created=NOW - n, modules=first.modules[:1] * (n % 7)
        )
        for i, n in enumerate(numbers)
    ]


def of_waits(numbers: Sequence[int]) -> Rows:
    found = [
        PendingAction(("kcp", f"r{i}"), "m", State.ERROR, Actor.YOU, "", NOW - n if n % 5 else None)
        for i, n in enumerate(numbers)
    ]
    return WAIT_COLUMNS, fleet_reports.wait_rows(found, NOW)


def of_recent(numbers: Sequence[int]) -> Rows:
    found = [FleetChange(NOW - n, ("kcp", f"r{i}"), "m", "state", "", "Ready") for i, n in enumerate(numbers)]
    return fleet_reports.CHANGE_COLUMNS, fleet_reports.change_rows(found)


def of_changes(numbers: Sequence[int]) -> Rows:
    found = [
        ModuleChange(NOW - n, f"m{i}", "state", "", "", since=NOW - n if n % 3 else None) for i, n in enumerate(numbers)
    ]
    return change_rows.COLUMNS, change_rows.change_rows(found, NOW)


def of_events(numbers: Sequence[int]) -> Rows:
    resource = b.resource("keda")
    about = {"kind": resource["kind"], "namespace": "kyma-system", "name": "default"}
    found = tuple(
        {"metadata": {"uid": str(i)}, "involvedObject": about, "count": n, "lastTimestamp": b.stamp(n)}
        for i, n in enumerate(numbers)
    )
    row = module(
        "keda",
        manifest=ObjectRef(
            GroupVersionKind("operator.kyma-project.io", "v1", resource["kind"]), "kyma-system", "default"
        ),
    )
    return EVENT_COLUMNS, module_panes.event_lines(row, b.snapshot(events=found), b.NOW, ObjectIndex.of(()))


def of_jobs(numbers: Sequence[int]) -> Rows:
    found = [
        Job(i, f"j{n}", state=JobState.DONE, created=NOW - n, began=NOW - n, ended=NOW) for i, n in enumerate(numbers)
    ]
    return job_rows.COLUMNS, job_rows.job_rows(found, NOW)


def of_windows(numbers: Sequence[int]) -> Rows:
    found = [
        Maintenance(
            some("Kyma", f"r{i}"), MaintenanceWindow(NOW + n, NOW + n + 60) if n % 4 else None, False, False, ()
        )
        for i, n in enumerate(numbers)
    ]
    return WINDOW_COLUMNS, control_plane_reports.windows_report(found, (), NOW).rows


def of_versions(numbers: Sequence[int]) -> Rows:
    offers = tuple(
        Offer(f"1.{n}.0", some("ModuleTemplate", f"t{i}"), CatalogOrigin.KYMA) for i, n in enumerate(numbers)
    )
    return VERSION_COLUMNS, version_rows.offer_lines(module("m", offers=offers))


def of_groups(numbers: Sequence[int]) -> Rows:
    found = [replace(one, plan=f"p{i}") for i, one in enumerate(runtimes(numbers)) for _ in range(i % 4 + 1)]
    return GROUP_COLUMNS, runtime_rows.group_rows(found, "plan")


def of_runtimes(numbers: Sequence[int]) -> Rows:
    found = runtimes(numbers)
    return runtime_rows.COLUMNS, [runtime_rows.runtime_row(("kcp", one.name), one, NOW) for one in found]


def of_matrix(numbers: Sequence[int]) -> Rows:
    found = [
        replace(one, modules=tuple(replace(m, name=f"m{i % 3}") for m in one.modules))
        for i, one in enumerate(runtimes(numbers))
    ]
    counts = fleet_reports.matrix_rows(found)
    return fleet_reports.matrix_columns(counts)[:2], counts.rows


TABLES: dict[str, Callable[[Sequence[int]], Rows]] = {
    name.removeprefix("of_"): found for name, found in list(globals().items()) if name.startswith("of_")
}
_SPAN = {"s": 1, "m": 60, "h": 3600, "d": 86400}


def read(column: Column, text: str) -> Any:
    """The value that a person reads in a cell; None for words that are ordered by rank."""
    if span := re.fullmatch(r"(\d+)([smhd])", text):
        return int(span[1]) * _SPAN[span[2]]
    if text.isdigit():
        return int(text)
    if text == ABSENT and column.falls:
        return 0
    if re.fullmatch(r"\d\d:\d\d:\d\d", text):
        return text
    if (version := parse_version(text)) is not None:
        return version
    if window := re.match(r"\w+ (\d\d-\d\d \d\d:\d\d) – ", text):
        return window[1]
    return None


@pytest.mark.parametrize("name", TABLES)
@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(numbers=st.lists(st.integers(0, 7_000), min_size=2, max_size=8, unique=True))
def test_the_arrow_tells_the_way_in_which_values_run(name: str, numbers: list[int]) -> None:
    columns, rows = TABLES[name](numbers)
    for column in columns:
        for descending in (False, True):
            found = arrange_rows(rows, parse_filter(""), SortOrder(column.id, descending=descending))
            texts = [row.cells[column.id].text for row in found if column.id in row.cells]
            filled = [text for text in texts if text]
            assert texts[: len(filled)] == filled, f"{column.id}: empty cells come last"
            values = [value for text in filled if (value := read(column, text)) is not None]
            assert values == sorted(values, reverse=descending), (column.id, descending, texts)


@pytest.mark.parametrize("name", TABLES)
def test_every_table_has_columns_whose_values_can_be_compared(name: str) -> None:
    """Without this the property above could hold for nothing."""
    columns, rows = TABLES[name]([7, 4000, 19, 6_900])
    read_in = [
        column.id
        for column in columns
        if any(read(column, r.cells[column.id].text) for r in rows if column.id in r.cells)
    ]
    assert read_in


def test_a_column_is_first_sorted_as_it_is_read_and_then_in_reverse() -> None:
    table = LiveTable((Column("name", "NAME", 4), Column("count", "COUNT", 4, falls=True)), sort=SortOrder())
    for column, orders in (("count", [True, False, True]), ("name", [False, True, False])):
        for descending in orders:
            table.sort_by(column)
            assert table.order == SortOrder(column, descending=descending)


def test_what_is_newest_first_at_the_start_says_so_by_its_arrow() -> None:
    assert SortOrder("time", descending=True) == RecentChangesScreen.SORT
    assert [one.falls for one in RecentChangesScreen.COLUMNS if one.id == "time"] == [True]


def test_words_that_are_ordered_by_rank_stay_together() -> None:
    parts = Parts()
    parts.hook["clientConfig"]["caBundle"] = ""
    rows = control_plane_reports.watchers_report(parts.chains(), NOW, in_runtime=True).rows
    texts = [row.cells["health"].text for row in arrange_rows(rows, parse_filter(""), SortOrder("health"))]
    assert [text for text, _ in groupby(texts)] == list(dict.fromkeys(texts))
    assert len(set(texts)) > 1


def test_runtimes_of_a_fleet_are_listed_as_the_command_lists_them() -> None:
    """Of runtimes in one state, those with problems come first."""
    reports = [b.report("mod", version, template=None) for version in ("1.0.0", "1.1.0")]
    states = [("Ready", 1), ("Error", 1), ("Ready", 0), ("Warning", 1), ("Ready", 1), ("Processing", 0), ("Ready", 0)]
    raws = [
        b.kyma([], status=[reports[current]], name=f"r{number}", namespace="kcp", state=state)
        for number, (state, current) in enumerate(states)
    ]
    fleet = build_fleet(raws, [b.meta("mod", {"regular": "1.1.0"}, namespace="kcp")])
    listed = [runtime.name for runtime in worst_first(fleet.runtimes)]
    assert listed == ["r1", "r3", "r5", "r2", "r6", "r0", "r4"]
    picture = FleetSnapshot(runtimes={(runtime.ref.namespace, runtime.name): runtime for runtime in fleet.runtimes})
    rows = arrange_rows(runtime_rows.FleetRows().of(picture, b.NOW).values(), parse_filter(""), BY_STATE)
    assert [row.cells["name"].text for row in rows] == listed
