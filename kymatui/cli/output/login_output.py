"""Logins of a command: what a credential plugin prints appears on standard error as it comes."""

from __future__ import annotations

import sys
import threading
from contextlib import AbstractContextManager, nullcontext
from pathlib import PurePath

from kymatui.engine.cluster.logins import LOGINS, Login


def print_logins() -> None:
    """Print from now on what plugins print, and let them have the terminal of the command."""
    LOGINS.front_end = _PrintedLogins()


class _PrintedLogins:
    """Prints each line with the plugin's name before it, so that it forges no message of kymatui."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._unfinished: Login | None = None

    def changed(self, login: Login, text: str) -> None:
        with self._lock:
            if self._unfinished is not None and (self._unfinished is not login or not login.is_running):
                sys.stderr.write("\n")  # another message begins, and the prompt had no line break
                self._unfinished = None
            for line in text.splitlines(keepends=True):
                is_start = self._unfinished is None and line.strip()
                sys.stderr.write(f"{PurePath(login.plugin).name}: {line}" if is_start else line)
                self._unfinished = None if line.endswith("\n") else login
            sys.stderr.flush()

    def lend_terminal(self, login: Login) -> AbstractContextManager[bool]:
        del login
        return nullcontext(sys.stdin.isatty())
