"""Logins of people: credential plugins while they run, what they print, and the terminal that they may get.

A front end registers itself with `LOGINS.front_end`; without one, plugins run without a terminal and in silence. The
plugins of one command run one after the other, so that fifty contexts do not open fifty browsers.
"""

from __future__ import annotations

import atexit
import os
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from pathlib import PurePath
from typing import Final, Protocol

from msgspec import Struct

from kymatui.errors import ConfigurationError
from kymatui.structs import repr_without

LOGIN_SECONDS: Final = 600.0
"""A person opens an address, types a code and confirms; KYMATUI_LOGIN_TIMEOUT sets another limit."""
_LONGEST_TEXT: Final = 1 << 16  # characters of standard error that are kept
_LAST_LINES: Final = 5
POLL_SECONDS: Final = 0.05  # seconds
_CLOSE: Final = 3.0  # seconds


class LoginFrontEnd(Protocol):
    """What displays logins; every call may come from any thread."""

    def changed(self, login: Login, text: str) -> None:
        """Take note that a login began, printed `text`, or ended."""

    def lend_terminal(self, login: Login) -> AbstractContextManager[bool]:
        """Give a plugin the terminal for a block; False if there is none, or the plugin can do without."""


class _NoFrontEnd:
    def changed(self, login: Login, text: str) -> None:
        """Display nothing."""

    def lend_terminal(self, login: Login) -> AbstractContextManager[bool]:
        del login
        return nullcontext(False)


class Login:
    """One run of a credential plugin; `text` is what it has printed on standard error.

    `is_renewal` says that nobody has just asked for it: a person works on, and is not to lose the screen.
    """

    def __init__(self, plugin: str, user: str, limit: float, *, needs_terminal: bool = False) -> None:
        self.plugin, self.user, self.limit = plugin, user, limit
        self.needs_terminal = needs_terminal
        self.text = ""
        self.is_running = True
        self.is_cancelled = False
        self.has_terminal = False
        self.is_renewal = LOGINS.is_renewing
        self._ends = time.monotonic() + limit

    def __str__(self) -> str:
        return f"Logging in with {PurePath(self.plugin).name}"

    @property
    def seconds_left(self) -> float:
        return max(self._ends - time.monotonic(), 0.0)

    def cancel(self) -> None:
        """End the plugin; it fails as cancelled."""
        self.is_cancelled = True

    def request_terminal(self) -> None:
        """Run the plugin again, with the terminal: a person asks for it."""
        self.needs_terminal, self.is_renewal = True, False

    def add(self, text: str) -> None:
        self.text = (self.text + text)[-_LONGEST_TEXT:]

    @property
    def last_lines(self) -> str:
        """Return the last lines that it printed, for an error."""
        return "\n".join([line.rstrip() for line in self.text.splitlines() if line.strip()][-_LAST_LINES:])[-2000:]

    def begin(self) -> None:
        """Let the time run; until the turn of its plugin it does not."""
        self._ends = time.monotonic() + self.limit


class PluginResult(Struct, frozen=True):
    """The end of a plugin: its exit status and its standard output."""

    status: int
    output: bytes

    __repr__ = repr_without("output")


class Logins:
    """The logins of this process."""

    def __init__(self) -> None:
        self.front_end: LoginFrontEnd = _NoFrontEnd()
        self._lock = threading.Lock()
        self._plugins: defaultdict[str, threading.Lock] = defaultdict(threading.Lock)
        self._running: list[Login] = []
        self._spent, self._since = 0.0, 0.0
        self._is_registered = self._is_closed = False
        self.in_background: frozenset[str] = frozenset()
        """Users whose plugins get no terminal: a person looks at other clusters."""
        self._thread = threading.local()

    @contextmanager
    def renewal(self) -> Iterator[None]:
        """Mark the logins that this thread starts in a block as renewals."""
        self._thread.renews = True
        try:
            yield
        finally:
            self._thread.renews = False

    @property
    def is_renewing(self) -> bool:
        return getattr(self._thread, "renews", False)

    @property
    def running(self) -> tuple[Login, ...]:
        with self._lock:
            return tuple(self._running)

    @property
    def oldest(self) -> Login | None:
        return next(iter(self.running), None)

    @property
    def seconds(self) -> float:
        """Return how long at least one login has been running, in this process."""
        with self._lock:
            return self._spent + (time.monotonic() - self._since if self._running else 0.0)

    def run(self, login: Login, start: Callable[[bool], PluginResult | None], *, terminal: bool) -> PluginResult:
        """Run a plugin to its end, after those of the same command; `start` runs it once, with the terminal or without.

        With `terminal` it gets that of the front end: at first or, if the front end lends it only to plugins that need
        it, after it has failed or a person requested it. Raise ConfigurationError where it needs one and gets none.
        """
        with self._lock:
            turn = self._plugins[login.plugin]
            if not self._is_registered:
                self._is_registered = True
                atexit.register(self.close)
        terminal = terminal and login.user not in self.in_background
        with turn, self.entered(login):
            if self._is_closed:
                raise ConfigurationError(f"the login of user {login.user!r} with {login.plugin} was cancelled")
            result = self._attempt(login, start, terminal=terminal)
            if terminal and not login.has_terminal and (result is None or result.status != 0):
                login.needs_terminal = True  # as kubectl gives it; without, the plugin could not ask
                again = self._attempt(login, start, terminal=True, is_last=True)
                result = again if again is not None else result
        if result is None:
            raise ConfigurationError(
                f"the plugin {login.plugin} gets no terminal here", hint="log in with a command of kymatui or kubectl"
            )
        return result

    def _attempt(
        self, login: Login, start: Callable[[bool], PluginResult | None], *, terminal: bool, is_last: bool = False
    ) -> PluginResult | None:
        """Run a plugin once; the last attempt does not run without the terminal."""
        lending = self.front_end.lend_terminal(login) if terminal else nullcontext(False)
        with lending as lent:
            login.has_terminal = lent
            return None if is_last and not lent else start(lent)

    def close(self) -> None:
        """End all plugins, at the end of the process, and begin no other; their threads need a moment."""
        self._is_closed = True
        for login in self.running:
            login.cancel()
        ends = time.monotonic() + _CLOSE
        while self.running and time.monotonic() < ends:
            time.sleep(POLL_SECONDS)

    def printed(self, login: Login, text: str) -> None:
        """Record what a plugin printed on standard error, and display it."""
        login.add(text)
        self.front_end.changed(login, text)

    @contextmanager
    def entered(self, login: Login) -> Iterator[None]:
        """Count a login as running for a block."""
        login.begin()
        with self._lock:
            if not self._running:
                self._since = time.monotonic()
            self._running.append(login)
        self.front_end.changed(login, "")
        try:
            yield
        finally:
            login.is_running = False
            with self._lock:
                self._running.remove(login)
                if not self._running:
                    self._spent += time.monotonic() - self._since
            self.front_end.changed(login, "")


LOGINS: Final = Logins()


class WaitLimit:
    """A limit for what a server takes: the time in which a person logs in does not count."""

    def __init__(self, seconds: float) -> None:
        self._ends = time.monotonic() + seconds - LOGINS.seconds

    @property
    def remaining(self) -> float:
        return self._ends + LOGINS.seconds - time.monotonic()


def login_limit() -> float:
    """Return the seconds that a login may take. Raise ConfigurationError for another KYMATUI_LOGIN_TIMEOUT."""
    text = os.environ.get("KYMATUI_LOGIN_TIMEOUT", "")
    try:
        seconds = float(text) if text else LOGIN_SECONDS
    except ValueError:
        seconds = 0.0
    if not 0 < seconds < threading.TIMEOUT_MAX:
        raise ConfigurationError("KYMATUI_LOGIN_TIMEOUT is not a number of seconds", hint="set it to 600, or unset it")
    return seconds
