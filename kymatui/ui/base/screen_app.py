"""Protocols of the application for screens, so that no screen imports the application."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Protocol, cast

from textual import events
from textual.app import App
from textual.message_pump import MessagePump

if TYPE_CHECKING:
    from textual.notifications import SeverityLevel
    from textual.screen import Screen

    from kymatui.adapters.files.context_memory import RememberedView
    from kymatui.domain.catalog.rows import Catalog
    from kymatui.domain.plans.cluster_target import ClusterTarget
    from kymatui.settings.config_file import Settings
    from kymatui.ui.connection.cluster_view import ClusterView
    from kymatui.ui.navigation.command_table import ScreenCommand
    from kymatui.ui.navigation.history import ScreenStep, Trail, VisitHistory
    from kymatui.ui.widgets.top_line import FrameFacts


_OPENING_SECONDS = 2.0  # that keys wait for a screen; ctrl-c ends the program also where a screen never opens


class Navigation(Protocol):
    """Navigation between screens: into an object, up, back and forward."""

    visits: VisitHistory

    @property
    def depth(self) -> int:
        """Return the number of screens on the stack without dialogs."""

    def trail_to(self, screen: Screen[Any]) -> Trail: ...

    def step_here(self, kind: str) -> ScreenStep:
        """Return the step to the list of this kind about what is displayed: a cluster, or the fleet."""

    def why_no_list(self, kind: str) -> str:
        """Return why there is no list of this kind here; "" where there is one."""

    def open(self, step: ScreenStep) -> None: ...

    def climb(self) -> None: ...

    def climb_to(self, number: int) -> None: ...

    def climb_to_catalog(self) -> None: ...

    def back(self) -> None: ...

    def forward(self) -> None: ...

    def toggle(self) -> None: ...


class Pins(Protocol):
    """The modules at the top of the catalog, and how its list was left; `view` is None before it is read."""

    names: tuple[str, ...]
    view: RememberedView | None

    def leave(self, view: RememberedView) -> None: ...


class ScreenApp(App[int]):
    """The application as a screen uses it; `KymatuiApp` implements it."""

    if TYPE_CHECKING:
        settings: Settings
        clock: Callable[[], float]
        read_only: bool
        is_audit: bool
        plugins: Any
        """The `Plugins` of the configuration; None without any."""
        only_namespace: str
        favourites: Pins
        has_begun: bool
        ways: Navigation

        @property
        def view(self) -> ClusterView:
            """Return the cluster that the screens are about."""

        @property
        def flow_target(self) -> ClusterTarget | None:
            """Return the cluster of the running flow, else the displayed cluster."""

        @property
        def catalog(self) -> Catalog | None: ...

        @property
        def frame_facts(self) -> FrameFacts: ...

        @property
        def why_read_only(self) -> str: ...

        @property
        def why_no_writes(self) -> str:
            """Return why nothing can be written now; "" where it can."""

        def commands(self) -> Sequence[ScreenCommand]: ...

        def problem(self, text: str, *, seconds: float | None = None) -> None: ...

        def action_reconnect(self) -> None: ...

    def notify(
        self,
        message: str,
        *,
        title: str = "",
        severity: SeverityLevel = "information",
        timeout: float | None = None,
        markup: bool = False,
    ) -> None:
        """Display a message as it is, whatever `markup` says: widgets ask for markup unless they are told."""
        del markup
        super().notify(message, title=title, severity=severity, timeout=timeout, markup=False)

    # typed text

    async def on_event(self, event: events.Event) -> None:
        """Handle a key once the screen that opens has its fields; text for a field runs no key, whatever the keymap."""
        if isinstance(event, events.Key) and not event.is_forwarded and self.screen_stack:
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self.screen._mounted_event.wait(), _OPENING_SECONDS)
            field = self.focused
            if field is not None and field.check_consume_key(event.key, event.character):
                field._forward_event(event)
                return
        await super().on_event(event)


class ScreenPart(MessagePump):
    """Base of the screens, dialogs and panes of the application, next to what they are."""

    @property
    def kymatui(self) -> ScreenApp:
        return cast("ScreenApp", self.app)
