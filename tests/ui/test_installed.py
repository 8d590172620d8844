"""What is installed without a template, partial or interrupted, on the screen."""

from __future__ import annotations

from typing import Any

from msgspec.structs import replace

from kymatui.domain.inventories import InventoryState
from kymatui.domain.kyma.states import State
from kymatui.ui.application.kymatui_app import KymatuiApp
from kymatui.ui.presenters.catalog.catalog_views import catalog_views
from kymatui.ui.widgets.fact_list import Facts
from tests.domain.test_installed import applied, inventory, record, release, workload
from tests.ui.driving import cell, ready, shown, table, text, text_of, until
from tests.ui.worlds import StillSession, app_on, world


def screen(*states: InventoryState, **more: Any) -> KymatuiApp:
    """The sample world with an installation of each state, named after it."""
    names = {state: state.value for state in states}
    found = [replace(inventory(state), name=name) for state, name in names.items()]
    there = {ref: objects for one in found for ref, objects in applied(one, "c0", "c1", "c2", "c3", "c4").items()}
    seen = replace(world(), inventories=tuple(map(record, found)), applied=there, leases=(), **more)
    return app_on(StillSession(seen))


def facts(app: KymatuiApp) -> str:
    return "\n".join(map(text_of, app.screen.query(Facts)))


async def test_rows_of_partial_and_interrupted_installations() -> None:
    app = screen(InventoryState.PENDING, InventoryState.DELETING)
    async with app.run_test(size=(200, 50)) as pilot:
        await ready(pilot)
        assert {"pending", "deleting"} <= set(shown(app))
        assert (cell(app, "pending", "state"), cell(app, "pending", "drift")) == ("▲ partial", "incomplete")
        assert cell(app, "pending", "source") == "file"
        assert cell(app, "deleting", "state") == "▲ deletion interrupted"
        table(app).move_to("pending")
        await until(pilot, lambda: "stopped after 5 of 9 objects" in text(app, "#reason"))
        await pilot.press("enter")
        await until(pilot, lambda: "5/9 exist" in facts(app))


async def test_an_installation_without_a_template_opens_with_its_facts_and_its_tree() -> None:
    installed = replace(inventory(), name="gate")
    seen = world()
    web = workload(installed)
    seen = replace(seen, inventories=(record(installed),), workloads=(*seen.workloads, web))
    app = app_on(StillSession(seen))
    async with app.run_test(size=(200, 50)) as pilot:
        await ready(pilot)
        assert app.catalog is not None
        row = app.catalog.row("gate")
        assert row is not None
        assert row.state is State.READY
        table(app).move_to("gate")
        await pilot.press("enter")
        await until(pilot, lambda: "gate.yaml" in facts(app))


async def test_releases_of_other_tools_have_a_view_of_their_own() -> None:
    app = screen(releases=(release("theirs", manager="helm-controller"),))
    async with app.run_test(size=(200, 50)) as pilot:
        await ready(pilot)
        assert "theirs" not in shown(app)
        views = [view.label for view in catalog_views(app.catalog)]
        assert views[-1] == "helm"
        await pilot.press(str(len(views) - 1))
        await until(pilot, lambda: shown(app) == ["theirs"])
