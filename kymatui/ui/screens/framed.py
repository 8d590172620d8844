"""What all screens have in common: the top line, the prompt, the keys at the bottom, and a help that is complete."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, ClassVar, cast

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.screen import Screen
from textual.widget import Widget

from kymatui.ui.commands import ScreenCommand, UnknownCommand, candidates, find
from kymatui.ui.presenters.keys import KeyHelp, group_of, joined, key_name
from kymatui.ui.widgets.frame import FrameFacts, TopLine
from kymatui.ui.widgets.key_bar import KeyBar

if TYPE_CHECKING:
    from kymatui.ui.app import KymatuiApp
    from kymatui.ui.widgets.prompt import Prompt


class FramedScreen(Screen[None]):
    """A screen with the frame. Subclasses give `body`, their `trail`, and say why an action is off."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("slash", "filter", "Filter", id="app.filter", priority=True),
        Binding("colon", "command", "Command", id="app.command", priority=True),
        Binding("question_mark", "help", "Help", id="app.help", key_display="?"),
        Binding("escape", "back", "Back", show=False, id="app.back"),
    ]

    name_in_help: ClassVar[str] = "This screen"

    def body(self) -> ComposeResult:
        """The widgets between the top line and the keys."""
        raise AssertionError(f"{type(self).__name__} has no body")

    @property
    def trail(self) -> tuple[str, ...]:
        return ()

    @property
    def kymatui(self) -> KymatuiApp:
        return cast("KymatuiApp", self.app)

    def commands(self) -> Sequence[ScreenCommand]:
        """Commands of this screen alone; those of the app come on top."""
        return ()

    def why_off(self, action: str) -> str:
        """Why an action can do nothing now; empty where it can."""
        del action
        return ""

    def compose(self) -> ComposeResult:
        yield TopLine(id="top")
        yield from self.body()
        yield KeyBar(id="keys")

    def show_catalog(self) -> None:
        """Draws what the app knows now; called whenever that changed."""

    def on_mount(self) -> None:
        self.show_frame(self.kymatui.frame_facts)
        self.call_after_refresh(self.prompt)  # behind the first paint, and before a person can type

    def show_frame(self, facts: FrameFacts) -> None:
        self.query_one(TopLine).facts = facts.with_trail(*self.trail)

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """The keys that open the prompt come before all others, so that what is typed right behind them is not lost;
        where a text is being typed they are part of it."""
        del parameters
        if action in ("filter", "command") and self.is_typing:
            return False
        return None if self.why_off(action) else True

    @property
    def is_typing(self) -> bool:
        """Whether keys go into a text."""
        return self.focused is not None and self.focused.has_class("typing")

    # the prompt

    async def action_filter(self) -> None:
        (await self.prompt()).open("filter", self.filter_text)

    async def action_command(self, text: str = "") -> None:
        (await self.prompt()).open("command", text, candidates=candidates(self._all_commands()))

    async def prompt(self) -> Prompt:
        """The prompt, made when it is wanted for the first time."""
        from kymatui.ui.widgets.prompt import Prompt

        if not self.query(Prompt):
            await self.mount(Prompt(), before="#keys")
        return self.query_one(Prompt)

    @property
    def filter_text(self) -> str:
        return ""

    def filter_changed(self, text: str) -> str:
        """Takes a new filter; returns what is wrong with it, or nothing."""
        del text
        return ""

    def _all_commands(self) -> list[ScreenCommand]:
        return [*self.commands(), *self.kymatui.commands()]

    def on_prompt_changed(self, event: Prompt.Changed) -> None:
        prompt = event.prompt
        if event.mode == "filter":
            prompt.note(self.filter_changed(event.text))
            return
        found = find(self._all_commands(), event.text)
        prompt.note("" if isinstance(found, UnknownCommand) else found[0].usage or found[0].help)

    def on_prompt_cancelled(self, event: Prompt.Cancelled) -> None:
        if event.mode == "filter":
            self.filter_changed("")
        self._close_prompt(event.prompt)

    def on_prompt_submitted(self, event: Prompt.Submitted) -> None:
        self._close_prompt(event.prompt)
        if event.mode == "command" and event.text.strip():
            self.run_line(event.text)

    def run_line(self, line: str) -> None:
        """Runs one command line; a wrong one is said so and changes nothing."""
        found = find(self._all_commands(), line)
        if isinstance(found, UnknownCommand):
            self.kymatui.problem(str(found))
        else:
            command, words = found
            command.run(words)

    def _close_prompt(self, prompt: Prompt) -> None:
        prompt.close()
        self.main_widget().focus()

    def main_widget(self) -> Widget:
        """What has the keyboard when nothing else asks for it."""
        return self

    # help and back

    def action_help(self) -> None:
        from kymatui.ui.screens.help import HelpScreen

        self.app.push_screen(HelpScreen(" › ".join(("Keys", *self.trail)), self.key_help()))

    def key_help(self) -> list[KeyHelp]:
        """One line an action; bindings of one action are joined."""
        keys: dict[tuple[str, str], list[str]] = {}
        for key, active in self.active_bindings.items():
            binding = active.binding
            if binding.system or not binding.description or not binding.id:
                continue
            group = group_of(binding.id, self.name_in_help)
            action = binding.action.partition("(")[0]
            keys.setdefault((group, f"{binding.description}\0{action}"), []).append(key_name(key))
        lines = []
        for (group, what), names in keys.items():
            label, _, action = what.partition("\0")
            lines.append(KeyHelp(group, joined(names), label, self.why_off(action.rpartition(".")[2])))
        return lines

    def action_back(self) -> None:
        """Up one step; on the first screen there is nothing above."""
        if len(self.app.screen_stack) > 2:
            self.app.pop_screen()
