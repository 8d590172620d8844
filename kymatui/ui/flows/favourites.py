"""Modules that the user pinned to the top of the catalog, for each context, in a file on this machine."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from kymatui.adapters.files.context_memory import MOST_PINNED, ContextMemory
from kymatui.domain.kubernetes.terminal_text import sanitize

if TYPE_CHECKING:
    from kymatui.ui.base.screen_app import ScreenApp
    from kymatui.ui.flows.job_controller import ScreenJobs

_LOCAL = "; written to a file on this machine only, the cluster is not changed"


class Favourites:
    """Pinned modules of the open context; `names` in the order in which they were pinned."""

    def __init__(
        self, app: ScreenApp, memory: ContextMemory, jobs: Callable[[], ScreenJobs], redraw: Callable[[], None]
    ) -> None:
        self._app, self._memory, self._jobs, self._redraw = app, memory, jobs, redraw
        self._context = ""
        self.names: tuple[str, ...] = ()

    async def load(self, context: str) -> None:
        """Read the pinned modules of a context, which may have none."""
        if context != self._context:
            self._context, self.names = context, ()
        found = (await self._jobs().in_thread(lambda: self._memory.of(context))).pinned
        if context == self._context and found != self.names:
            self.names = found
            self._redraw()

    async def toggle(self, module: str) -> None:
        """Pin a module, or unpin it; report where that is written. Raise ConfigurationError if it cannot be."""
        context, before = self._context, self.names
        is_pinned = module in before
        if not is_pinned and len(before) >= MOST_PINNED:
            self._app.problem(f"{MOST_PINNED} modules are pinned; unpin another one first")
            return
        names = tuple(one for one in before if one != module) if is_pinned else (*before, module)
        await self._jobs().in_thread(lambda: self._memory.pin(context, names))
        if context != self._context:
            return
        self.names = names
        done = "unpinned" if is_pinned else "pinned to the top"
        local = _LOCAL if self._app.read_only else ""
        self._app.notify(f"{sanitize(module)} {done}{local}", timeout=3)
        self._redraw()
