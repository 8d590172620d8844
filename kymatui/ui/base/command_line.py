"""Prompt at the bottom of a screen: a filter (`/`) applies on each key, a command (`:`) on Enter."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Protocol, cast, runtime_checkable

from kymatui.ui.navigation.command_table import (
    ScreenCommand,
    UnknownCommand,
    completion_candidates,
    completions,
    find_command,
)
from kymatui.ui.widgets.live_table import LiveTable

if TYPE_CHECKING:
    from textual.screen import Screen
    from textual.widget import Widget

    from kymatui.ui.base.screen_app import ScreenApp
    from kymatui.ui.widgets.prompt import Mode, Prompt

_SUGGESTED = 12  # commands on one line; an ellipsis stands for the others


@runtime_checkable
class Filterable(Protocol):
    """Widget with a filter: a table hides rows, a document marks matches."""

    @property
    def filter_text(self) -> str: ...

    def set_filter(self, text: str) -> str:
        """Apply a filter; return the problem with it, or ""."""


class FilterLine:
    """Filter of the focused widget, or of the default widget."""

    def __init__(self, main_widget: Callable[[], Widget]) -> None:
        self._main_widget = main_widget

    @property
    def target(self) -> Filterable | None:
        main = self._main_widget()
        return main if isinstance(main, Filterable) else None

    @property
    def table(self) -> LiveTable | None:
        """Return the table that filters, orders and exports apply to."""
        main = self._main_widget()
        return main if isinstance(main, LiveTable) else None

    @property
    def text(self) -> str:
        return self.target.filter_text if self.target is not None else ""

    def set(self, text: str) -> str:
        """Apply a filter; return the problem with it, or ""."""
        return self.target.set_filter(text) if self.target is not None else ""


class CommandLine:
    """Prompt of one screen with the commands that it runs."""

    def __init__(
        self,
        screen: Screen[None],
        commands: Callable[[], Sequence[ScreenCommand]],
        filter_line: FilterLine,
        leave: Callable[[], object],
    ) -> None:
        """Take `commands` of the screen alone; `leave` returns the focus."""
        self._screen = screen
        self._own_commands = commands
        self._filter = filter_line
        self._leave = leave
        self._prompt: Prompt | None = None

    @property
    def _app(self) -> ScreenApp:
        return cast("ScreenApp", self._screen.app)

    def commands(self) -> Sequence[ScreenCommand]:
        """Return every command of the screen and of the app."""
        return [*self._own_commands(), *self._app.commands()]

    @property
    def is_typing(self) -> bool:
        """Return whether a text input has the focus."""
        focused = self._screen.focused
        return focused is not None and focused.has_class("typing")

    async def open_filter(self) -> None:
        (await self._mounted()).open("filter", self._filter.text)

    async def open_command(self, text: str = "") -> None:
        (await self._mounted()).open("command", text, candidates=completion_candidates(self.commands()))

    async def prepare(self) -> None:
        """Mount the prompt before it is needed, unless the screen is being closed."""
        if self._screen.is_attached:
            await self._mounted()

    def new_prompt(self) -> Prompt:
        from kymatui.ui.widgets.prompt import Prompt

        self._prompt = Prompt(self)
        return self._prompt

    async def _mounted(self) -> Prompt:
        if self._prompt is None:
            await self._screen.mount(self.new_prompt(), before="#keys")
        assert self._prompt is not None
        return self._prompt

    # typed text

    def changed(self, prompt: Prompt, mode: Mode, text: str) -> None:
        prompt.note(self._filter.set(text) if mode == "filter" else self._hint(text))

    def cancelled(self, prompt: Prompt, mode: Mode) -> None:
        if mode == "filter":
            self._filter.set("")
        self._close(prompt)

    def submitted(self, prompt: Prompt, mode: Mode, text: str) -> None:
        self._close(prompt)
        if mode == "command" and text.strip():
            self.run(text)

    def _close(self, prompt: Prompt) -> None:
        prompt.close()
        self._leave()

    def _hint(self, line: str) -> str:
        """Return the usage of the command, or similar commands."""
        commands = self.commands()
        offered = completions(commands, line)
        if len(offered) > 1:
            more = " …" if len(offered) > _SUGGESTED else ""
            return "  ".join(offered[:_SUGGESTED]) + more
        match = find_command(commands, line)
        return "" if isinstance(match, UnknownCommand) else match[0].usage or match[0].help

    def run(self, line: str) -> None:
        """Run one command line; report a wrong line and change nothing."""
        match = find_command(self.commands(), line)
        if isinstance(match, UnknownCommand):
            self._app.problem(str(match))
            return
        command, words = match
        refusal = self._app.why_no_writes if command.writes else ""
        if refusal:
            self._app.problem(f"`:{command.name}` is disabled: {refusal}")
        else:
            command.run(words)
