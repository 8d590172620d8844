"""`d` describes the object of a line, `y` displays its YAML, and both lead back to the line."""

from __future__ import annotations

from typing import Any

import pytest
from textual.pilot import Pilot

from kymatui.domain.snapshot.snapshots import Feed, FeedState, namespaced_feed
from kymatui.errors import ForbiddenError, NotFoundError
from kymatui.ui.application.kymatui_app import KymatuiApp
from kymatui.ui.screens.module_screen import ModuleScreen
from kymatui.ui.screens.object_screen import ObjectScreen
from tests.domain import builders as b
from tests.domain.test_descriptions import POD_SPEC, STATUS
from tests.ui.conftest import Compare
from tests.ui.driving import SIZE, table, text, until
from tests.ui.test_objects import POD, body, line_of, ref, tree_of, yaml_of
from tests.ui.worlds import StillSession, app_on, world

ONE = ref("Pod", "v1", POD)
EVENTS = namespaced_feed("events", "kyma-system")


@pytest.fixture
def session() -> StillSession:
    found = StillSession(world())
    found.server[ONE] = body(ONE, spec=POD_SPEC, status=STATUS)
    for kind, name in (("Secret", "token"), ("ConfigMap", "conf")):
        found.server[ref(kind, "v1", name)] = NotFoundError(f"{name} not found", status=404)
    for kind, name in (("ServiceAccount", "keda"), ("Secret", "certs"), ("Secret", "pull")):
        found.server[ref(kind, "v1", name)] = body(ref(kind, "v1", name))
    event = {"kind": "Pod", "namespace": "kyma-system", "name": POD}
    backoff = {"type": "Warning", "reason": "BackOff", "message": "restarting failed container", "count": 3}
    found.show(
        events=({"metadata": {"uid": "x"}, "involvedObject": event, "lastTimestamp": b.stamp(60), **backoff},),
        feeds={**world().feeds, EVENTS: Feed(FeedState.LIVE, b.NOW)},
    )
    return found


async def described(pilot: Pilot[Any]) -> KymatuiApp:
    app = await tree_of(pilot)
    table(app).move_to(line_of(app, ONE))
    await pilot.press("d")
    await until(pilot, lambda: isinstance(app.screen, ObjectScreen) and "Problems:" in yaml_of(app))
    return app


async def test_d_describes_the_object_of_the_line_and_escape_leads_back(session: StillSession) -> None:
    async with app_on(session).run_test(size=SIZE) as pilot:
        app = await described(pilot)
        found = yaml_of(app)
        assert "  Secret kyma-system/token does not exist (container manager: env TOKEN)" in found
        assert "  container manager is CrashLoopBackOff: back-off 5m0s" in found
        assert "Warning BackOff ×3: restarting failed container" in found
        assert text(app, "#describe-name") == str(ONE)
        await until(pilot, lambda: ONE in session.looked_at)
        await pilot.press("escape")
        await until(pilot, lambda: isinstance(app.screen, ModuleScreen))
        assert table(app).cursor_key == line_of(app, ONE)
        await until(pilot, lambda: ONE not in session.looked_at)


async def test_yaml_and_description_are_two_views_of_one_screen(session: StillSession) -> None:
    async with app_on(session).run_test(size=SIZE) as pilot:
        app = await described(pilot)
        await pilot.press("y")
        await until(pilot, lambda: app.screen.main_widget().lines[:1] == ("apiVersion: v1",))  # type: ignore[attr-defined]
        await pilot.press("d")
        await until(pilot, lambda: app.screen.main_widget().id == "describe")  # type: ignore[attr-defined]
        await pilot.press("c")
        await until(pilot, lambda: app.clipboard.startswith("Problems:\n"))
        await pilot.press("slash", *"token", "enter")
        await until(pilot, lambda: "/token  1 of " in text(app, "#describe-name"))


async def test_d_where_no_line_has_an_object_is_the_modules_overview(session: StillSession) -> None:
    async with app_on(session).run_test(size=SIZE) as pilot:
        app = await tree_of(pilot)
        await pilot.press("6")
        await until(pilot, lambda: app.shown is not None and app.shown.step.tab == "yaml")
        await pilot.press("d")
        await until(pilot, lambda: app.shown is not None and app.shown.step.tab == "overview")


async def test_a_deleted_reference_is_seen_after_reading_again(session: StillSession) -> None:
    async with app_on(session).run_test(size=SIZE) as pilot:
        app = await described(pilot)
        session.server[ref("Secret", "v1", "token")] = body(ref("Secret", "v1", "token"))
        await pilot.press("ctrl+r")
        await until(pilot, lambda: "token does not exist" not in yaml_of(app))


async def test_an_object_that_may_not_be_read_is_said(session: StillSession) -> None:
    session.server[ONE] = ForbiddenError('pods is forbidden: User "viewer" cannot get')
    async with app_on(session).run_test(size=SIZE) as pilot:
        app = await tree_of(pilot)
        table(app).move_to(line_of(app, ONE))
        await pilot.press("d")
        await until(pilot, lambda: "forbidden: pods is forbidden" in text(app, "#describe-state"))
        assert yaml_of(app) == ""


async def test_events_that_may_not_be_listed_are_not_none(session: StillSession) -> None:
    session.show(events=(), feeds={**world().feeds, EVENTS: Feed(FeedState.FORBIDDEN, b.NOW)})
    async with app_on(session).run_test(size=SIZE) as pilot:
        app = await described(pilot)
        assert "Events:           forbidden (you may not list events in kyma-system)" in yaml_of(app)


@pytest.mark.parametrize("size", [(120, 40), (80, 24)], ids=["120x40", "80x24"])
def test_pictures(size: tuple[int, int], compare: Compare, session: StillSession) -> None:
    async def walk(pilot: Pilot[Any]) -> None:
        await described(pilot)

    assert compare(app_on(session), size, walk)
