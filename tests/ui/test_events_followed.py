"""A module's screen asks for events while it is there, and for no longer."""

from __future__ import annotations

from kymatui.domain.refs import ObjectRef
from kymatui.ui.app import KymatuiApp
from kymatui.ui.screens.module import ModuleScreen
from tests.ui.worlds import StillSession, app_on, world


async def followed(app: KymatuiApp, session: StillSession, wanted: bool) -> tuple[ObjectRef, ...]:
    """What the session was asked to follow, once the link has got round to it."""
    import asyncio

    for _ in range(400):
        if bool(session.looked_at) is wanted:
            break
        await asyncio.sleep(0.01)
    return session.looked_at


async def test_a_module_screen_follows_the_events_of_its_module_until_it_is_left() -> None:
    session = StillSession(world())
    app = app_on(session)
    async with app.run_test(size=(120, 40)) as pilot:
        while app.catalog is None:
            await pilot.pause(0.01)
        assert session.looked_at == ()
        app.push_screen(ModuleScreen("istio"))
        found = await followed(app, session, True)
        assert {"istio"} <= {ref.kind.kind.lower() for ref in found}
        app.pop_screen()
        assert await followed(app, session, False) == ()
