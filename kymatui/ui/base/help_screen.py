"""Help: every key by group with the reason if disabled, and every command."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.content import Content
from textual.widgets import Static

from kymatui.ui.base.first_paint import FirstPaintModal
from kymatui.ui.navigation.command_table import ScreenCommand
from kymatui.ui.navigation.key_help import KeyHelp, group_keys
from kymatui.ui.widgets.fact_list import Fact, Facts
from kymatui.ui.widgets.scrolling import TextScroll


class HelpScreen(FirstPaintModal[None]):
    """Help screen; the key that opened it closes it."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("question_mark,escape,q", "dismiss", "Close", id="help.close"),
        Binding("i", "ids", "Show the ids by which keys are remapped", id="help.ids"),
    ]

    def __init__(self, title: str, keys: Iterable[KeyHelp], commands: Sequence[ScreenCommand] = ()) -> None:
        super().__init__()
        self._title = title
        self._keys = tuple(keys)
        self._commands = tuple(commands)
        self._ids = False

    def compose(self) -> ComposeResult:
        with TextScroll(id="help") as box:
            box.border_title = self._title
            box.border_subtitle = "? or esc closes, j and k scroll, i shows ids for remapping"
            for group, keys in group_keys(self._keys):
                yield Static(Content.styled(group, "bold $primary"), classes="help-group")
                facts = Facts(classes="help-keys", labels="$text-accent")
                facts.show(_key(key) for key in keys)
                yield facts
            yield Static(Content.styled("Commands, behind :", "bold $primary"), classes="help-group")
            commands = Facts(classes="help-keys", labels="$text-accent")
            commands.show(map(_command, self._commands))
            yield commands

    def action_ids(self) -> None:
        """Toggle between the meaning of each key and its id, as the configuration's `keys` expects it."""
        self._ids = not self._ids
        for facts, (_, keys) in zip(self.query(Facts), group_keys(self._keys), strict=False):
            facts.show(_key(key, ids=self._ids) for key in keys)


def _key(key: KeyHelp, *, ids: bool = False) -> Fact:
    if ids:
        return Fact(f"  {key.keys:<18}", f"{key.id:<28}{key.label}", "accent")
    off = f"   (off: {key.off})" if key.off else ""
    return Fact(f"  {key.keys:<18}", f"{key.label}{off}", "muted" if key.off else "")


def _command(command: ScreenCommand) -> Fact:
    also = f" ({', '.join(command.aliases)})" if command.aliases else ""
    return Fact(f"  {(command.name + also):<18}", f"{command.help}{f':  {command.usage}' if command.usage else ''}")
