"""The screen in a process of its own, for some seconds: `python -m tests.adapters.hostile_screen SECONDS`.

Prints how late the event loop ever was, in seconds (its 95th percentile).
"""

from __future__ import annotations

import asyncio
import os
import sys
import time

from kymatui.adapters.sessions.cluster.catalog_session import open_session
from kymatui.adapters.sessions.cluster.session_options import SessionOptions
from kymatui.settings.config_file import Settings
from kymatui.ui.application.kymatui_app import KymatuiApp


async def show(seconds: float) -> float:
    app = KymatuiApp(lambda: open_session(SessionOptions(os.environ["KUBECONFIG"])), settings=Settings())
    app.animation_level = "none"
    late: list[float] = []
    async with app.run_test(size=(120, 40)) as pilot:
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            began = time.monotonic()
            await asyncio.sleep(0.05)
            late.append(time.monotonic() - began - 0.05)
            if len(late) % 20 == 0:
                await pilot.press("down")
    return sorted(late)[int(len(late) * 0.95)]


if __name__ == "__main__":
    print(f"{asyncio.run(show(float(sys.argv[1]))):.3f}", file=sys.stderr, flush=True)
    os._exit(0)
