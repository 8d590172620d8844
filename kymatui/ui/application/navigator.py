"""Navigation between screens: into an object, up, back and forward."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from textual.app import App
from textual.screen import Screen

from kymatui.ui.application.screen_registry import screen_for
from kymatui.ui.base.framed_screen import FramedScreen, HasTabs
from kymatui.ui.navigation.history import (
    CONTEXT_MATRIX,
    FLEET_PROBLEMS,
    OPEN_RUNTIME_FIRST,
    ScreenStep,
    Trail,
    VisitHistory,
)

_IN_FLEET = {"problems": FLEET_PROBLEMS, "changes": "recent"}
"""The lists about the fleet in the place of those about one cluster."""


class Navigator:
    """Navigator that pushes and pops the screens of the app and records each visit."""

    def __init__(self, app: App[int], home: ScreenStep) -> None:
        self._app = app
        self.visits = VisitHistory((home,))
        self._restarts = 0

    @property
    def framed(self) -> list[FramedScreen]:
        """Return the screens on the stack without the dialogs."""
        return [screen for screen in self._app.screen_stack if isinstance(screen, FramedScreen)]

    @property
    def shown(self) -> FramedScreen | None:
        """Return the topmost framed screen, even behind a dialog."""
        framed = self.framed
        return framed[-1] if framed else None

    @property
    def depth(self) -> int:
        return len(self.framed)

    def trail_to(self, screen: Screen[Any]) -> Trail:
        """Return the steps that lead to a screen."""
        steps = []
        for framed in self.framed:
            steps.append(framed.step)
            if framed is screen:
                break
        return tuple(steps)

    @property
    def _is_in_fleet(self) -> bool:
        kinds = [screen.step.kind for screen in self.framed]
        return kinds[:1] == ["fleet"] and "modules" not in kinds

    def step_here(self, kind: str) -> ScreenStep:
        """Return the step to the list of this kind about what is displayed: a cluster, or the fleet."""
        return ScreenStep(_IN_FLEET.get(kind, kind) if self._is_in_fleet else kind)

    def why_no_list(self, kind: str) -> str:
        """Return why there is no list of this kind here; "" where there is one."""
        if kind == CONTEXT_MATRIX and not getattr(self._app, "has_contexts", False):
            return "only for contexts"
        return OPEN_RUNTIME_FIRST if kind == "channels" and self._is_in_fleet else ""

    def open(self, step: ScreenStep) -> None:
        """Open a screen above the current screen."""
        framed = self.framed
        if framed and framed[-1].step.same_screen(step):
            self._show_tab(framed[-1], step.tab)
            return
        self.visits.visit((*(screen.step for screen in framed), step))
        self._app.push_screen(screen_for(step))

    def _show_tab(self, screen: FramedScreen, tab: str) -> None:
        if isinstance(screen, HasTabs):
            self._app.call_later(screen.show_tab, tab)

    def climb(self) -> None:
        """Close the current screen and return to the screen below."""
        self.climb_to(len(self.framed) - 2)

    def climb_to(self, number: int) -> None:
        """Close screens down to a crumb of the trail."""
        framed = self.framed
        if 0 <= number < len(framed) - 1:
            self.visits.visit(tuple(screen.step for screen in framed[: number + 1]))
            self._restore(self.visits.current)

    def climb_to_catalog(self) -> None:
        """Close screens down to the catalog that the screens are about."""
        positions = [number for number, screen in enumerate(self.framed) if screen.step.kind == "modules"]
        self.climb_to(positions[-1] if positions else 0)

    def restart(self, home: ScreenStep, first: Callable[[], Screen[Any]]) -> None:
        """Replace all screens by a new first one; forget the history."""
        for _ in self.framed[1:]:
            self._app.pop_screen()
        before, after = f"context {self._restarts}", f"context {self._restarts + 1}"
        self._restarts += 1
        # The first screen of a stack cannot be replaced; a mode of Textual is another stack.
        self._app.add_mode(after, first)
        self._app.switch_mode(after)
        if self._restarts > 1:
            self._app.remove_mode(before)
        self.visits = VisitHistory((home,))

    def back(self) -> None:
        self._restore(self.visits.move(-1))

    def forward(self) -> None:
        self._restore(self.visits.move(1))

    def toggle(self) -> None:
        """Switch between the last two trails."""
        self._restore(self.visits.toggle())

    def _restore(self, trail: Trail) -> None:
        """Restore a visited trail; keep the screens that are already open."""
        framed = self.framed
        same = 0
        for screen, step in zip(framed, trail, strict=False):
            if not screen.step.same_screen(step):
                break
            same += 1
        for _ in framed[same:]:
            self._app.pop_screen()
        if same == len(trail):
            self._show_tab(framed[same - 1], trail[-1].tab)
        for step in trail[same:]:
            self._app.push_screen(screen_for(step))
