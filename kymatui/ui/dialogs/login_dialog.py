"""A login with a credential plugin: what it asks for, its address and code, and the time that is left."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import PurePath
from typing import ClassVar, Final

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.content import Content
from textual.style import Style

from kymatui.domain.kubernetes.terminal_text import sanitize
from kymatui.engine.cluster.logins import Login
from kymatui.ui.base.first_paint import FirstPaintModal
from kymatui.ui.terminal.file_saving import copy_text
from kymatui.ui.terminal.plain_widgets import Static, Vertical

_ADDRESS: Final = re.compile(r"https?://[^\s\"'<>]+[^\s\"'<>.,;:)]")
_CODE: Final = re.compile(r"\b(?=[A-Z0-9-]*[A-Z])[A-Z0-9]{3,5}(?:-[A-Z0-9]{3,5})+\b|\b(?<=code )[A-Z0-9]{6,12}\b")
_LINES: Final = 12


class LoginScreen(FirstPaintModal[None]):
    """Dialog that stays while the plugin runs; closing it cancels the login."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("v", "open_address", "Visit the address in a browser", id="login.open"),
        Binding("c", "copy_address", "Copy the address", id="login.copy"),
        Binding("d", "copy_code", "Copy the code", id="login.code"),
        Binding("t", "use_terminal", "Give the plugin the terminal", id="login.terminal"),
        Binding("escape", "cancel_login", "Cancel the login", id="login.cancel"),
    ]

    def __init__(self, login: Login, open_address: Callable[[str], None]) -> None:
        super().__init__()
        self.login = login
        self._open_address = open_address

    def compose(self) -> ComposeResult:
        with Vertical(id="login") as box:
            box.border_title = sanitize(f"Log in: {self.login.user}")
            yield Static(Content(""), id="login-text")
            yield Static(Content(""), id="login-left")

    def on_mount(self) -> None:
        self.refresh_login()
        self.set_interval(1, self.refresh_login)

    def on_screen_resume(self) -> None:
        self.refresh_login()

    def refresh_login(self) -> None:
        """Display what the plugin has printed since; close when it has ended and the dialog is on top."""
        if not self.login.is_running:
            if self.is_active:  # a dialog that is seen behind this one is current, too
                self.dismiss(None)
            return
        if not self.query("#login-text"):  # the program ends while the dialog opens
            return
        lines = [sanitize(line) for line in self.login.text.splitlines() if line.strip()][-_LINES:]
        text = "\n".join(lines) or f"{PurePath(self.login.plugin).name} is running and has printed nothing yet."
        self.query_one("#login-text", Static).update(_with_links(text))
        minutes, seconds = divmod(round(self.login.seconds_left), 60)
        self.query_one("#login-left", Static).update(Content(f"{minutes}:{seconds:02} left"))
        keys = [*(["v visit", "c copy address"] if self.address else []), *(["d copy code"] if self.code else [])]
        self.query_one("#login", Vertical).border_subtitle = " · ".join([*keys, "t terminal", "esc cancel"])

    @property
    def address(self) -> str:
        """Return the last address that the plugin printed, "" without any."""
        return next(reversed(_ADDRESS.findall(self.login.text)), "")

    @property
    def code(self) -> str:
        """Return the device code that the plugin printed, "" without any."""
        match = _CODE.search(_ADDRESS.sub(" ", self.login.text))
        return match[0] if match is not None else ""

    def action_open_address(self) -> None:
        if self.address:
            self._open_address(self.address)

    def action_copy_address(self) -> None:
        self._copy(self.address)

    def action_copy_code(self) -> None:
        self._copy(self.code)

    def _copy(self, text: str) -> None:
        if text:
            copy_text(self.app, text, text)

    def action_use_terminal(self) -> None:
        self.login.request_terminal()

    def action_cancel_login(self) -> None:
        self.login.cancel()


def _with_links(text: str) -> Content:
    """Return a text whose addresses are hyperlinks in terminals that have them (OSC 8)."""
    content = Content(text)
    for match in _ADDRESS.finditer(text):
        content = content.stylize(Style(link=match[0]), *match.span())
    return content
