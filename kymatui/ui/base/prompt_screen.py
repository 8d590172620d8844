"""Screens with a line at the bottom that takes a filter (`/`) or a command (`:`)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, ClassVar

from textual.binding import Binding, BindingType
from textual.widget import Widget

from kymatui.ui.base.disabled_keys import DisabledKeysScreen
from kymatui.ui.navigation.command_table import (
    ScreenCommand,
    UnknownCommand,
    completion_candidates,
    completions,
    find_command,
)

if TYPE_CHECKING:
    from kymatui.ui.widgets.prompt import Prompt

_SUGGESTED = 12


class PromptingScreen(DisabledKeysScreen[None]):
    """What is typed into a filter acts at once; a command when it is sent."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("slash", "filter", "Filter", id="app.filter", priority=True),
        Binding("colon", "command", "Command", id="app.command", priority=True),
    ]

    _prompt: Prompt | None = None

    # what a screen gives

    def all_commands(self) -> Sequence[ScreenCommand]:
        """Every command that can be typed here."""
        return ()

    @property
    def filter_text(self) -> str:
        """The filter that is in force."""
        return ""

    def filter_changed(self, text: str) -> str:
        """Takes a new filter; returns what is wrong with it, or nothing."""
        del text
        return ""

    def main_widget(self) -> Widget:
        """What has the keyboard when nothing else asks for it."""
        return self

    def said(self, text: str) -> None:
        """Tells what was wrong with a command."""
        self.notify(text, severity="warning", markup=False)

    def why_no_writes(self) -> str:
        """Why nothing can be written now; empty where it can."""
        return ""

    # the prompt

    @property
    def is_typing(self) -> bool:
        """Whether keys go into a text."""
        return self.focused is not None and self.focused.has_class("typing")

    async def action_filter(self) -> None:
        (await self.prompt()).open("filter", self.filter_text)

    async def action_command(self, text: str = "") -> None:
        (await self.prompt()).open("command", text, candidates=completion_candidates(self.all_commands()))

    async def prepare_prompt(self) -> None:
        """Makes the prompt before anybody wants it, unless the screen is on its way out already."""
        if self.is_attached:
            await self.prompt()

    def new_prompt(self) -> Prompt:
        from kymatui.ui.widgets.prompt import Prompt

        self._prompt = Prompt()
        return self._prompt

    async def prompt(self) -> Prompt:
        """The prompt, made when it is wanted for the first time."""
        if self._prompt is None:
            await self.mount(self.new_prompt(), before="#keys")
        assert self._prompt is not None
        return self._prompt

    def on_prompt_changed(self, event: Prompt.Changed) -> None:
        if event.mode == "filter":
            event.prompt.note(self.filter_changed(event.text))
        else:
            event.prompt.note(self._hint(event.text))

    def _hint(self, line: str) -> str:
        """How the command is used, or what may be meant."""
        commands = self.all_commands()
        offered = completions(commands, line)
        if len(offered) > 1:
            more = " …" if len(offered) > _SUGGESTED else ""
            return "  ".join(offered[:_SUGGESTED]) + more
        found = find_command(commands, line)
        return "" if isinstance(found, UnknownCommand) else found[0].usage or found[0].help

    def on_prompt_cancelled(self, event: Prompt.Cancelled) -> None:
        if event.mode == "filter":
            self.filter_changed("")
        self._close_prompt(event.prompt)

    def on_prompt_submitted(self, event: Prompt.Submitted) -> None:
        self._close_prompt(event.prompt)
        if event.mode == "command" and event.text.strip():
            self.run_line(event.text)

    def _close_prompt(self, prompt: Prompt) -> None:
        prompt.close()
        self.main_widget().focus()

    def run_line(self, line: str) -> None:
        """Runs one command line; a wrong one is said so and changes nothing."""
        found = find_command(self.all_commands(), line)
        if isinstance(found, UnknownCommand):
            self.said(str(found))
            return
        command, words = found
        refusal = self.why_no_writes() if command.writes else ""
        if refusal:
            self.said(f"`{command.name}` is off: {refusal}")
        else:
            command.run(words)
