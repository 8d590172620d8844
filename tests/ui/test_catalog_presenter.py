"""What the first screen writes into its cells."""

from __future__ import annotations

from typing import Any

import pytest

from kymatui.cli.commands.inspect.catalog import catalog_listing
from kymatui.cli.commands.inspect.module import facts
from kymatui.cli.output.listing import lines_of
from kymatui.domain.catalog.rows import CatalogOrigin
from kymatui.domain.kubernetes.refs import GroupVersionKind, ObjectRef
from kymatui.domain.kyma.maintenance_windows import MaintenanceWindow
from kymatui.domain.kyma.problems import Actor, Reason, Severity
from kymatui.domain.kyma.states import State, StateSource
from kymatui.domain.kyma.versions import Distance
from kymatui.domain.modules.presence import Presence
from kymatui.domain.snapshot.missing_lists import ListGap, RowFact, UnknownFact
from kymatui.domain.versions.drift import Drift, DriftKind
from kymatui.lists.catalog import choose_columns
from kymatui.lists.catalog_cells import explain_row
from kymatui.lists.columns import ABSENT
from kymatui.ui.presenters.catalog.catalog_rows import table_row, table_rows
from kymatui.ui.presenters.catalog.catalog_views import ALL_MODULES, CatalogView, catalog_views, columns_of
from kymatui.ui.viewmodels.row_filter import parse_filter
from kymatui.ui.viewmodels.sorting import SortOrder, arrange_rows
from tests.ui.modules import DAY, NOW, catalog, module

MANAGER = ObjectRef(GroupVersionKind("apps", "v1", "Deployment"), "kyma-system", "istio-manager")


def cell(column: str, view: CatalogView = ALL_MODULES, **more: Any) -> tuple[str, str]:
    found = table_row(module("istio", **more), view, NOW).cells[column]
    return found.text, found.tone


@pytest.mark.parametrize(
    ("more", "text", "tone"),
    [
        ({"state": State.READY}, "● Ready", "ready"),
        ({"state": State.WARNING}, "▲ Warning", "warning"),
        ({"state": State.ERROR}, "✖ Error", "error"),
        ({"state": State.NOT_INSTALLED, "presence": Presence.NOT_INSTALLED}, "· not installed", "muted"),
        ({"state": State.READY, "presence": Presence.NOT_CONFIGURED}, "· unconfigured", "muted"),
        ({"state": State.READY, "presence": Presence.ORPHAN}, "▲ orphan", "warning"),
        ({"state": State.READY, "presence": Presence.CONFLICT}, "▲ managed twice", "warning"),
        ({"state": State.WARNING, "presence": Presence.DELETING}, "◌ Deleting", "deleting"),
        ({"state": State.ERROR, "presence": Presence.NOT_CONFIGURED}, "✖ Error", "error"),
        ({"state": State.ERROR, "presence": Presence.ORPHAN}, "✖ Error", "error"),
    ],
)
def test_a_state_is_a_sign_and_a_word(more: dict[str, Any], text: str, tone: str) -> None:
    assert cell("state", **more) == (text, tone)


@pytest.mark.parametrize("state", State)
@pytest.mark.parametrize("presence", Presence)
def test_the_screen_and_the_command_have_the_same_word_for_a_state(state: State, presence: Presence) -> None:
    row = module("istio", state=state, presence=presence)
    listing = catalog_listing(catalog(row))
    (texts,) = lines_of(listing, listing.entries[0])
    word = texts[[column.title for column in listing.columns].index("STATE")]
    assert cell("state", state=state, presence=presence)[0].split(" ", 1)[1] == word
    assert dict(facts(row))["state"] == word


@pytest.mark.parametrize(
    ("drift", "text"),
    [
        (Drift(DriftKind.UP_TO_DATE), "up to date"),
        (Drift(DriftKind.BEHIND, Distance(1, "minor")), "1 minor behind"),
        (Drift(DriftKind.AHEAD, Distance(2, "patch")), "2 patches ahead"),
        (Drift(DriftKind.NEWER_THAN_CHANNEL, Distance(1, "minor")), "newer than channel"),
        (Drift(DriftKind.AWAITING_WINDOW, window=MaintenanceWindow(1_763_240_400, 1_763_250_000)), "awaits Sat 21:00"),
        (Drift(DriftKind.AWAITING_WINDOW), "awaiting window"),
        (Drift(DriftKind.ROLLING_OUT), "rolling out"),
        (Drift(DriftKind.UNKNOWN), "unknown"),
        (Drift(DriftKind.NONE), "–"),
    ],
)
def test_drift_is_told_in_words(drift: Drift, text: str) -> None:
    assert cell("drift", drift=drift)[0] == text


@pytest.mark.parametrize(
    ("more", "text"),
    [
        ({}, "kyma"),
        ({"origin": CatalogOrigin.COMMUNITY}, "comm."),
        ({"mandatory": True}, "mand."),
        ({"beta": True}, "beta"),
    ],
)
def test_the_source_tells_what_kind_of_module_it_is(more: dict[str, Any], text: str) -> None:
    assert cell("source", **more)[0] == text


@pytest.mark.parametrize(
    ("more", "text"), [({"state_source": StateSource.STATUS}, "status"), ({"state_source": StateSource.NONE}, "–")]
)
def test_checks_name_the_source_that_decided(more: dict[str, Any], text: str) -> None:
    assert cell("checks", **more)[0] == text


FAST = CatalogView("2", "fast", "fast")


def test_the_view_of_a_channel_shows_that_channels_version_beside_the_row_as_it_is() -> None:
    assert cell("offered", FAST) == ("1.1.0", "")
    assert cell("offered", CatalogView("3", "experimental", "experimental")) == ("–", "muted")
    whole = table_row(module("istio"), ALL_MODULES, NOW).cells
    in_channel = table_row(module("istio"), FAST, NOW).cells
    assert {**whole, "offered": in_channel["offered"]} == in_channel


@pytest.mark.parametrize(
    ("columns", "shown"),
    [
        (("name", "desired", "drift"), ["name", "desired", "offered", "drift"]),
        (("name", "drift"), ["name", "drift", "offered"]),
    ],
)
def test_only_the_view_of_a_channel_has_what_it_offers(columns: tuple[str, ...], shown: list[str]) -> None:
    assert [column.id for column in columns_of(FAST, choose_columns(columns))] == shown
    for view in (ALL_MODULES, CatalogView("4", "community", community=True)):
        assert [column.id for column in columns_of(view, choose_columns(columns))] == [*columns]


def test_ages_are_short() -> None:
    assert cell("age", created=NOW - 41 * DAY)[0] == "41d"
    assert cell("age", created=None)[0] == ""


def test_names_from_the_cluster_cannot_speak_to_the_terminal() -> None:
    assert table_row(module("evil\x1b[2J"), ALL_MODULES, NOW).cells["name"].text == "evil [2J"


def names(
    view: CatalogView = ALL_MODULES, text: str = "", sort: SortOrder | None = None, *, problems: bool = False
) -> list[str]:
    rows = catalog(
        module("keda", installed="1.10.0", state=State.DELETING),
        module("istio", installed="1.9.0", drift=Drift(DriftKind.BEHIND), channels={"regular": "1.0.0"}),
        module("cap", origin=CatalogOrigin.COMMUNITY, channels={}, installed="", created=NOW),
        module("nats", state=State.ERROR, reason=Reason("broken", Actor.MANAGER, Severity.ERROR)),
    )
    found = table_rows(rows, view, NOW, only_problems=problems)
    return [row.key for row in arrange_rows(found, parse_filter(text), sort or SortOrder())]


@pytest.mark.parametrize(
    ("sort", "order"),
    [
        (SortOrder("name"), ["cap", "istio", "keda", "nats"]),
        (SortOrder("name", descending=True), ["nats", "keda", "istio", "cap"]),
        (SortOrder("installed"), ["nats", "istio", "keda", "cap"]),
        (SortOrder("state"), ["nats", "keda", "cap", "istio"]),
        (SortOrder("drift"), ["istio", "cap", "keda", "nats"]),
        (SortOrder("age"), ["cap", "istio", "keda", "nats"]),
    ],
)
def test_every_order_is_by_meaning_not_by_text(sort: SortOrder, order: list[str]) -> None:
    assert names(sort=sort) == order


def test_views_and_filters_choose_rows() -> None:
    assert names(CatalogView("2", "fast", "fast")) == ["keda", "nats"]
    assert names(CatalogView("4", "community", community=True)) == ["cap"]
    assert names(text="behind") == ["istio"]
    assert names(text="!Ready") == ["keda", "nats"]
    assert names(problems=True) == ["nats"]


def test_there_is_a_view_for_each_channel_and_the_community() -> None:
    found = catalog_views(catalog(module("a", channels={"fast": "1", "odd": "1", "regular": "1"})))
    assert [(view.key, view.label) for view in found] == [("0", "all"), ("1", "regular"), ("2", "fast"), ("3", "odd")]
    assert catalog_views(catalog(module("a", origin=CatalogOrigin.COMMUNITY)))[-1].label == "community"
    assert [view.label for view in catalog_views(None)] == ["all"]


@pytest.mark.parametrize(
    ("reason", "actor", "tone"),
    [
        (Reason("Secret x not found", Actor.YOU, Severity.WARNING), "who acts: you", "warning"),
        (Reason("applying", Actor.KLM), "who acts: lifecycle-manager", "muted"),
        (Reason("fine"), "", "muted"),
        (Reason("a message: waiting for godot", Actor.YOU, Severity.WARNING), "who acts: you", "warning"),
        (Reason("Action needed: delete it", Actor.YOU, Severity.WARNING, says_waiting=True), "", "warning"),
    ],
)
def test_the_line_below_says_why_and_who_must_act(reason: Reason, actor: str, tone: str) -> None:
    found = explain_row(module("a", reason=reason))
    assert (found.text, found.actor, found.tone) == (reason.text, actor, tone)


def test_the_manager_is_its_workload_and_not_among_the_columns_at_start() -> None:
    assert cell("manager", manager=MANAGER) == ("kyma-system/istio-manager", "muted")
    assert cell("manager") == (ABSENT, "muted")
    forbidden = UnknownFact(ListGap.FORBIDDEN, ("deployments",))
    assert cell("manager", unknown={RowFact.INSTALLED: forbidden}) == cell(
        "installed", unknown={RowFact.INSTALLED: forbidden}
    )
    assert "manager" not in [column.id for column in choose_columns(())]
    assert [column.id for column in choose_columns(("manager", "name"))] == ["manager", "name"]


def test_a_filter_reads_the_columns_of_the_table() -> None:
    rows = table_rows(catalog(module("istio", manager=MANAGER), module("keda")), ALL_MODULES, NOW)

    def found(text: str, *columns: str) -> list[str]:
        return [row.key for row in arrange_rows(rows, parse_filter(text), SortOrder(), columns)]

    assert found("istio-manager", "name", "manager") == ["istio"]
    assert found("istio-manager", "name") == []
    assert found("!istio-manager", "name") == ["istio", "keda"]
