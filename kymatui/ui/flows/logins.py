"""Logins on the screen: a dialog while a credential plugin waits, and the terminal for one that needs it."""

from __future__ import annotations

import asyncio
import contextvars
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import PurePath
from typing import TYPE_CHECKING, Final

from textual.app import SuspendNotSupported

from kymatui.domain.kubernetes.terminal_text import sanitize_lines
from kymatui.engine.cluster.logins import LOGINS, Login

if TYPE_CHECKING:
    from kymatui.ui.dialogs.login_dialog import LoginScreen
    from kymatui.ui.flows.flow_app import FlowApp

_SILENT_SECONDS: Final = 2.0
"""How long a plugin may run without a word before the dialog appears: most answer from a cache."""


class ScreenLogins:
    """Displays the logins of this process; plugins call it from their threads."""

    def __init__(self, app: FlowApp) -> None:
        self._app = app
        self._loop = asyncio.get_running_loop()
        self._context = contextvars.copy_context()
        self._dialogs: dict[Login, LoginScreen] = {}
        self._lent: set[tuple[str, str]] = set()
        self._former, LOGINS.front_end = LOGINS.front_end, self

    def close(self) -> None:
        LOGINS.front_end = self._former
        for login in LOGINS.running:
            login.cancel()

    def changed(self, login: Login, text: str) -> None:
        if login.has_terminal:
            _write(text)
        self._call(lambda: self._show(login))

    @contextmanager
    def lend_terminal(self, login: Login) -> Iterator[bool]:
        """Suspend the screen for a plugin that needs the terminal; one that fails without it gets it once.

        A renewal never hides the screen: it fails, and a person who retries logs in.
        """
        person = login.plugin, login.user
        if not login.needs_terminal or login.is_renewal or person in self._lent:
            yield False
            return
        self._lent.add(person)
        ready, done = threading.Event(), threading.Event()
        lent: list[bool] = []

        def suspend() -> None:
            interrupts = signal.getsignal(signal.SIGINT)
            try:
                with self._app.suspend():
                    signal.signal(signal.SIGINT, lambda *_: login.cancel())  # ctrl-c ends the plugin, not the screen
                    _write(f"{PurePath(login.plugin).name} logs in {login.user}; ctrl-c cancels\n")
                    lent.append(True)
                    ready.set()
                    done.wait()
            except SuspendNotSupported:
                ready.set()
            finally:
                signal.signal(signal.SIGINT, interrupts)

        try:
            if not self._call(suspend):
                ready.set()
            ready.wait()
            yield bool(lent)
        finally:
            done.set()

    def retry(self) -> None:
        """Lend the terminal again to plugins that have failed with it."""
        self._lent.clear()

    def _call(self, call: object) -> bool:
        try:
            self._loop.call_soon_threadsafe(call, context=self._context)  # type: ignore[arg-type]
        except RuntimeError:  # the loop is closed, and with it the screen
            return False
        return True

    def _show(self, login: Login) -> None:
        """Open or renew the dialog of a login, on the loop."""
        dialog = self._dialogs.get(login)
        if dialog is not None:
            if dialog.is_attached:
                dialog.refresh_login()
            if not login.is_running:
                del self._dialogs[login]
        elif login.is_running and login.text.strip():
            self._open(login)
        elif login.is_running:
            self._loop.call_later(_SILENT_SECONDS, self._open_late, login, context=self._context)
        self._app.redraw()

    def _open_late(self, login: Login) -> None:
        if login.is_running and login not in self._dialogs:
            self._open(login)

    def _open(self, login: Login) -> None:
        from kymatui.ui.dialogs.login_dialog import LoginScreen

        if login.has_terminal:
            return
        self._dialogs[login] = dialog = LoginScreen(login, self._open_address)
        self._app.push_screen(dialog)

    def _open_address(self, address: str) -> None:
        from kymatui.ui.flows.module_actions import open_address

        open_address(self._app, address)


def _write(text: str) -> None:
    """Write to the terminal while the screen is suspended."""
    if text and sys.__stderr__ is not None:
        sys.__stderr__.write(sanitize_lines(text))
        sys.__stderr__.flush()
