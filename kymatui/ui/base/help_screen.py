"""Help: every key by task with the reason if disabled, every command, and a search over both."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.content import Content

from kymatui.ui.base.first_paint import FirstPaintModal
from kymatui.ui.navigation.command_table import ScreenCommand
from kymatui.ui.navigation.key_help import KeyHelp, group_keys
from kymatui.ui.terminal.plain_widgets import Static
from kymatui.ui.viewmodels.display_text import Fact
from kymatui.ui.widgets.document import TextScroll
from kymatui.ui.widgets.fact_list import Facts
from kymatui.ui.widgets.prompt import Mode, Prompt

_COMMANDS = "Commands (type : first)"


class HelpScreen(FirstPaintModal[None]):
    """Help screen; the key that opened it closes it, and Escape clears the search first."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("question_mark,q", "dismiss", "Close", id="help.close"),
        Binding("escape", "back", "Clear the search, or close", id="help.back"),
        Binding("slash", "search", "Search", id="help.search", priority=True),
        Binding("i", "ids", "Show key ids", id="help.ids"),
    ]

    def __init__(self, title: str, keys: Iterable[KeyHelp], commands: Sequence[ScreenCommand] = ()) -> None:
        super().__init__()
        self._title = title
        self._groups = group_keys(keys)
        self._commands = tuple(commands)
        self._ids = False
        self.search = ""

    def compose(self) -> ComposeResult:
        with TextScroll(id="help") as box:
            box.border_title = self._title
            box.border_subtitle = "/ search · j k scroll · i key ids · esc close"
            for group in self._titles():
                yield Static(Content.styled(group, "bold $primary"), classes="help-group")
                yield Facts(classes="help-keys", labels="$text-accent")
            yield Static("", id="help-nothing")
        yield Prompt(self)

    def on_mount(self) -> None:
        self._draw()
        self.set_focus(self.query_one("#help"))

    def _titles(self) -> Iterator[str]:
        yield from (group for group, _ in self._groups)
        if self._commands:
            yield _COMMANDS

    # display

    def _draw(self) -> None:
        """Display the keys and commands that the search accepts; hide groups without any."""
        sections = list(self._sections())
        for title, facts, lines in zip(self.query(".help-group"), self.query(Facts), sections, strict=True):
            facts.show(lines)
            title.display = facts.display = bool(lines)
        nothing = self.query_one("#help-nothing", Static)
        nothing.display = not any(sections)
        nothing.update(Content(f"No key or command matches “{self.search}”. Press esc to clear the search."))

    def _sections(self) -> Iterator[list[Fact]]:
        for group, keys in self._groups:
            entries = (entry for entry in keys if self._accepts(group, entry.keys, entry.label, entry.off, entry.id))
            yield [_key(entry, ids=self._ids) for entry in entries]
        if self._commands:
            yield [
                _command(command)
                for command in self._commands
                if self._accepts(_command_name(command), command.help, command.usage)
            ]

    def _accepts(self, *texts: str) -> bool:
        """Return whether every word of the search is in the texts, in any order and case."""
        joined = " ".join(texts).casefold()
        return all(word in joined for word in self.search.casefold().split())

    # search

    def changed(self, prompt: Prompt, mode: Mode, text: str) -> None:
        del prompt, mode
        self.search = text.strip()
        self._draw()
        self.query_one("#help").scroll_home(animate=False)

    def submitted(self, prompt: Prompt, mode: Mode, text: str) -> None:
        """Keep the search and return to the list."""
        self.changed(prompt, mode, text)
        self._leave(prompt)

    def cancelled(self, prompt: Prompt, mode: Mode) -> None:
        self.changed(prompt, mode, "")
        self._leave(prompt)

    def _leave(self, prompt: Prompt) -> None:
        prompt.close()
        self.set_focus(self.query_one("#help"))

    # user input

    def action_search(self) -> None:
        box = self.query_one("#help")
        box.styles.min_height = box.outer_size.height  # the box does not jump while you type
        self.query_one(Prompt).open("filter", self.search)

    def action_back(self) -> None:
        """Clear the search, else close the help."""
        if self.search:
            self.cancelled(self.query_one(Prompt), "filter")
        else:
            self.dismiss()

    def action_ids(self) -> None:
        """Toggle between the meaning of each key and its id, as the configuration's `keys` expects it."""
        self._ids = not self._ids
        self._draw()


def _key(key: KeyHelp, *, ids: bool = False) -> Fact:
    if ids:
        return Fact(f"  {key.keys:<18}", f"{key.id:<28}{key.label}", "accent")
    off = f"   ({key.off})" if key.off else ""
    return Fact(f"  {key.keys:<18}", f"{key.label}{off}", "muted" if key.off else "")


def _command(command: ScreenCommand) -> Fact:
    usage = f"   :{command.usage}" if command.usage else ""
    return Fact(f"  {_command_name(command):<18}", f"{command.help}{usage}")


def _command_name(command: ScreenCommand) -> str:
    return f":{command.name}" + (f" ({', '.join(command.aliases)})" if command.aliases else "")
