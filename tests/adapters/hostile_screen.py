"""The screen in a process of its own, for some seconds: `python -m tests.adapters.hostile_screen SECONDS`.

Prints for how long the event loop computed between two turns, in seconds (its 95th percentile).
"""

from __future__ import annotations

import asyncio
import os
import sys
import time

from kymatui.sessions.cluster.catalog_session import open_session
from kymatui.sessions.cluster.session_options import SessionOptions
from kymatui.settings.config_file import Settings
from kymatui.ui.application.kymatui_app import KymatuiApp


async def show(seconds: float) -> float:
    app = KymatuiApp(lambda: open_session(SessionOptions(os.environ["KUBECONFIG"])), settings=Settings())
    app.animation_level = "none"
    busy: list[float] = []
    async with app.run_test(size=(120, 40)) as pilot:
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            began = time.thread_time()  # other processes of the machine do not count
            await asyncio.sleep(0.05)
            busy.append(time.thread_time() - began)
            if len(busy) % 20 == 0:
                await pilot.press("down")
    return sorted(busy)[int(len(busy) * 0.95)]


if __name__ == "__main__":
    print(f"{asyncio.run(show(float(sys.argv[1]))):.3f}", file=sys.stderr, flush=True)
    os._exit(0)
