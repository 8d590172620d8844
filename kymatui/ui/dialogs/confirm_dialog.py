"""Confirmation that only y accepts; Enter does not, so that pressing it twice confirms nothing."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, ClassVar

from textual import events
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.content import Content

from kymatui.domain.kubernetes.terminal_text import sanitize
from kymatui.ui.base.first_paint import FirstPaintModal
from kymatui.ui.terminal.plain_widgets import Static, Vertical
from kymatui.ui.widgets.status_line import TargetLine

if TYPE_CHECKING:
    from kymatui.domain.plans.cluster_target import ClusterTarget


class ConfirmScreen(FirstPaintModal[bool]):
    """`await app.push_screen_wait(ConfirmScreen("Quit?", "1 job is running"))`: True only for y."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("y", "answer(True)", "Confirm", id="confirm.yes"),
        Binding("n,escape", "answer(False)", "Cancel", id="confirm.no"),
    ]

    def __init__(
        self, question: str, words: str = "", *, alarming: bool = False, targets: Sequence[ClusterTarget] = ()
    ) -> None:
        super().__init__()
        self._targets = targets
        self._question = question
        self._words = words
        self._alarming = alarming

    def compose(self) -> ComposeResult:
        with Vertical(id="confirm", classes="-alarming" if self._alarming else "") as box:
            box.border_title = sanitize(self._question)
            box.border_subtitle = "y confirm · any other key cancel"
            yield TargetLine(*self._targets)
            yield Static(Content("\n".join(map(sanitize, self._words.splitlines()))), id="confirm-words")

    def action_answer(self, answer: bool) -> None:
        self.dismiss(answer)

    def on_key(self, event: events.Key) -> None:
        """Answer no to every key but y."""
        if event.key not in ("y", "n", "escape", "ctrl+c"):
            event.stop()
            self.dismiss(False)
