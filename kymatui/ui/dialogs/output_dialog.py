"""What a plugin prints, while it runs and afterwards; closing it ends the plugin."""

from __future__ import annotations

from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType

from kymatui.adapters.files.plugin_process import PluginProcess
from kymatui.domain.kubernetes.terminal_text import sanitize
from kymatui.ui.base.first_paint import FirstPaintModal
from kymatui.ui.terminal.plain_widgets import Vertical
from kymatui.ui.widgets.document import Document


class OutputScreen(FirstPaintModal[None]):
    """Dialog with the output, which can be searched and copied as every text."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("c", "copy", "Copy text", id="output.copy"),
        Binding("escape,q", "close_output", "Close; ends a plugin that runs", id="output.close"),
    ]

    def __init__(self, title: str, process: PluginProcess) -> None:
        super().__init__()
        self._title, self._process = title, process

    def compose(self) -> ComposeResult:
        with Vertical(id="output") as box:
            box.border_title = sanitize(self._title)
            yield Document(id="output-text")

    def on_mount(self) -> None:
        self.query_one(Document).focus()
        self._draw()
        self.set_interval(0.2, self._draw)

    def on_unmount(self) -> None:
        self._process.close()

    def _draw(self) -> None:
        if not self.query(Document):
            return
        document, status = self.query_one(Document), self._process.status
        document.show(self._process.text)
        words = "running" if status is None else "done" if status == 0 else f"exit status {status}"
        box = self.query_one("#output", Vertical)
        box.border_subtitle = f"{words} · c copy · esc {'end' if status is None else 'close'}"
        box.set_class(bool(status), "-alarming")

    def action_copy(self) -> None:
        self.query_one(Document).copy()

    def action_close_output(self) -> None:
        self.dismiss(None)
