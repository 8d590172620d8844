"""Input line at the bottom for a filter (`/`) or a command (`:`)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar, Literal, Protocol

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.content import Content
from textual.suggester import SuggestFromList

from kymatui.ui.terminal.plain_widgets import Horizontal, Input, Static

Mode = Literal["filter", "command"]
SIGNS: dict[Mode, str] = {"filter": "/", "command": ":"}


class PromptUser(Protocol):
    """Receiver of the typed text; called in the screen's own event handling."""

    def changed(self, prompt: Prompt, mode: Mode, text: str) -> None: ...

    def submitted(self, prompt: Prompt, mode: Mode, text: str) -> None: ...

    def cancelled(self, prompt: Prompt, mode: Mode) -> None: ...


class Prompt(Horizontal):
    """Prompt, hidden until opened; a filter applies on each key, a command on Enter."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "cancel", "Clear", id="prompt.cancel"),
        Binding("tab", "complete", "Complete", id="prompt.complete", priority=True),
    ]

    def __init__(self, user: PromptUser) -> None:
        super().__init__(id="prompt")
        self._user = user
        self._mode: Mode = "filter"
        self.display = False

    def compose(self) -> ComposeResult:
        yield Static("/", id="prompt-sign")
        field = Input(id="prompt-input", classes="typing", compact=True, select_on_focus=False)
        field.can_focus = False  # while hidden: a screen focuses its first focusable widget
        yield field
        yield Static("", id="prompt-note")

    def open(self, mode: Mode, text: str = "", *, candidates: Iterable[str] = ()) -> None:
        """Open the prompt with the focus; `candidates` complete with → or tab."""
        self._mode = mode
        self.display = True
        self.query_one("#prompt-sign", Static).update(SIGNS[mode])
        self.note("")
        field = self.query_one(Input)
        field.can_focus = True
        field.suggester = SuggestFromList(list(candidates), case_sensitive=False)
        with field.prevent(Input.Changed):
            field.value = text
        field.cursor_position = len(text)
        self.screen.set_focus(field)  # at once: `focus` is queued, and keys typed meanwhile would be lost

    def close(self) -> None:
        self.display = False
        self.query_one(Input).can_focus = False

    def note(self, text: str) -> None:
        """Display a note after the input: an invalid pattern, or the usage of a command."""
        self.query_one("#prompt-note", Static).update(Content(text), layout=True)

    @on(Input.Changed)
    def _typed(self, event: Input.Changed) -> None:
        event.stop()
        self.screen.call_later(self._user.changed, self, self._mode, event.value)

    @on(Input.Submitted)
    def _sent(self, event: Input.Submitted) -> None:
        event.stop()
        self.screen.call_later(self._user.submitted, self, self._mode, event.value)

    def action_cancel(self) -> None:
        self.screen.call_later(self._user.cancelled, self, self._mode)

    def action_complete(self) -> None:
        self.query_one(Input).action_cursor_right()
