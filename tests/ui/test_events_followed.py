"""A module's screen asks for events while it is there, and for no longer."""

from __future__ import annotations

from kymatui.ui.screens.module_screen import ModuleScreen
from tests.ui.driving import ready, until
from tests.ui.worlds import StillSession, app_on, world


async def test_a_module_screen_follows_the_events_of_its_module_until_it_is_left() -> None:
    session = StillSession(world())
    app = app_on(session)
    async with app.run_test(size=(120, 40)) as pilot:
        await ready(pilot)
        assert session.looked_at == ()
        app.push_screen(ModuleScreen("istio"))
        await until(pilot, lambda: "istio" in {ref.kind.kind.lower() for ref in session.looked_at})
        app.pop_screen()
        await until(pilot, lambda: session.looked_at == ())
