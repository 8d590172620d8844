"""Views of channels: whatever a cluster looks like, no cell of a row contradicts another."""

from __future__ import annotations

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from kymatui.domain.catalog.catalog import build_catalog
from kymatui.domain.catalog.rows import ModuleRow
from kymatui.domain.kyma.versions import same_version, version_order
from kymatui.domain.modules.presence import Presence
from kymatui.domain.snapshot.missing_lists import RowFact
from kymatui.domain.snapshot.snapshots import Snapshot
from kymatui.domain.versions.drift import DriftKind
from kymatui.lists.catalog import COLUMNS
from kymatui.lists.columns import ABSENT
from kymatui.ui.presenters.catalog.catalog_rows import table_row
from kymatui.ui.presenters.catalog.catalog_views import CatalogView, catalog_views, columns_of
from tests.domain import builders as b
from tests.ui.worlds import LIVE

NAMES = ("keda", "istio")
VERSIONS = st.sampled_from(["1.0.0", "1.1.0", "2.0.0", "2.0.0-experimental"])
CHANNELS = ("regular", "fast")


@st.composite
def worlds(draw: st.DrawFn) -> Snapshot:
    """Modules that are requested, released, running and reported in any mixture of versions."""
    requests, status, metas, templates, workloads = [], [], [], [], []
    for name in NAMES:
        if draw(st.booleans()):
            own: dict[str, Any] = {"channel": draw(st.sampled_from(CHANNELS))} if draw(st.booleans()) else {}
            requests.append({"name": name, "managed": draw(st.booleans()), **own})
        if draw(st.booleans()):
            state = draw(st.sampled_from(["Ready", "Processing", "Error", "Deleting"]))
            channel = draw(st.sampled_from(CHANNELS))
            status.append(b.report(name, draw(VERSIONS), state, channel=channel, maintenance=draw(st.booleans())))
        released = {one: draw(VERSIONS) for one in CHANNELS if draw(st.booleans())}
        if draw(st.booleans()):
            metas.append(b.meta(name, released))
        templates += [b.template(name, one) for one in draw(st.sets(VERSIONS))]
        if draw(st.booleans()):
            workloads.append(b.deployment(name, draw(VERSIONS)))
    kyma = b.kyma(requests, status=status, channel=draw(st.sampled_from(CHANNELS)))
    return Snapshot(
        cluster="any",
        kymas=(kyma,),
        release_metas=tuple(metas),
        templates=tuple(templates),
        workloads=tuple(workloads),
        feeds=LIVE,
        taken_at=b.NOW,
    )


@settings(max_examples=150, deadline=None)
@given(worlds())
def test_the_cells_of_a_row_agree_in_every_view(snapshot: Snapshot) -> None:
    catalog = build_catalog(snapshot, b.NOW)
    for view in catalog_views(catalog):
        columns = [column.id for column in columns_of(view, COLUMNS)]
        assert ("offered" in columns) == bool(view.channel)
        for row in catalog.rows:
            cells = {name: cell.text for name, cell in table_row(row, view, b.NOW).cells.items()}
            if view.channel:
                assert columns.index("offered") == columns.index("desired") + 1
                assert cells["offered"] in (row.channels.get(view.channel) or ABSENT, *unknown(row, RowFact.CHANNELS))
            agrees(row, cells, view)


def agrees(row: ModuleRow, cells: dict[str, str], view: CatalogView) -> None:
    about = f"{cells} in {view.label}: {row.drift}"
    assert cells["desired"] in (row.desired or ABSENT, *unknown(row, RowFact.DESIRED)), about
    kind, installed, desired = row.drift.kind, row.installed, row.desired
    if RowFact.DRIFT in row.unknown:
        return
    if kind is DriftKind.UP_TO_DATE:
        assert same_version(installed, desired), about
    elif kind is DriftKind.BEHIND:
        assert version_order(installed) < version_order(desired), about
    elif kind in (DriftKind.AHEAD, DriftKind.NEWER_THAN_CHANNEL):
        assert version_order(installed) > version_order(desired), about
    elif kind is DriftKind.AWAITING_WINDOW:
        assert not same_version(installed, desired), about
    elif kind is DriftKind.ROLLING_OUT and same_version(installed, desired):
        # the pods of two versions coexist, or the version is only lifecycle-manager's report of what it processes
        assert row.readiness.rolling if row.readiness is not None else "(reported)" in cells["installed"], about
    if row.channel == view.channel and row.desired and row.presence is not Presence.DELETING and row.refusal is None:
        assert cells["offered"] == row.desired, f"DESIRED is what the module's own channel offers: {about}"


def unknown(row: ModuleRow, fact: RowFact) -> tuple[str, ...]:
    return (row.text(fact, ""),) if fact in row.unknown else ()
