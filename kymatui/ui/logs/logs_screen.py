"""Screen of logs: of a module, or of one object with Pods."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType

from kymatui.ui.base.framed_screen import FramedScreen
from kymatui.ui.logs.log_text import LogText
from kymatui.ui.logs.logs_pane import LogsPane
from kymatui.ui.navigation.command_table import ScreenCommand
from kymatui.ui.navigation.history import OBJECT_LOGS, ScreenStep, object_reference
from kymatui.ui.terminal.file_saving import as_file_name


class LogsScreen(FramedScreen):
    """Screen with one pane of logs; escape clears the search, then the filter, then closes it."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("ampersand", "command('filter ')", "Filter lines", key_display="&", id="logs.filter")
    ]

    name_in_help: ClassVar[str] = "Logs"

    def __init__(self, step: ScreenStep) -> None:
        super().__init__()
        self._step = step

    @property
    def step(self) -> ScreenStep:
        return self._step

    def body(self) -> ComposeResult:
        ref = object_reference(self._step) if self._step.kind == OBJECT_LOGS else None
        yield LogsPane(self._step.about, ref)

    def on_mount(self) -> None:
        super().on_mount()
        self.show_catalog()
        self.set_focus(self.main_widget())

    def main_widget(self) -> LogText:
        return self.query_one(LogText)

    def show_catalog(self) -> None:
        if self.query(LogText):
            self.query_one(LogsPane).draw()

    def commands(self) -> Sequence[ScreenCommand]:
        return (
            ScreenCommand(
                "filter [!]PATTERN", "display only lines that match, or with ! those that do not", self._filter
            ),
        )

    def _filter(self, words: Sequence[str]) -> None:
        if problem := self.main_widget().hide_unmatched(" ".join(words)):
            self.kymatui.problem(problem)

    def action_back(self) -> None:
        if not self.filter_line.text and self.main_widget().filter:
            self._filter(())
        else:
            super().action_back()

    async def action_save(self) -> None:
        await self.command_line.open_command(f"save {as_file_name(self.step.crumb)}.log")

    def exports(self) -> Mapping[str, Callable[[], str]]:
        return {"log": self.query_one(LogsPane).whole_text, **super().exports()}
