"""Logins of people: credential plugins while they run, what they print, and the terminal that they may get.

A front end registers itself with `LOGINS.front_end`; without one, plugins run without a terminal and in silence. The
plugins of one command run one after the other, so that fifty contexts do not open fifty browsers.
"""

from __future__ import annotations

import atexit
import codecs
import contextlib
import os
import signal
import subprocess
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import IO, Final, Protocol

from msgspec import Struct

from kymatui.domain.kubernetes.terminal_text import sanitize_lines
from kymatui.errors import ConfigurationError
from kymatui.structs import repr_without

LOGIN_SECONDS: Final = 600.0
"""A person opens an address, types a code and confirms; KYMATUI_LOGIN_TIMEOUT sets another limit."""
_LARGEST_OUTPUT: Final = 1 << 20  # bytes of a credential
_LONGEST_TEXT: Final = 1 << 16  # characters of standard error that are kept
_CHUNK: Final = 4096
_LAST_LINES: Final = 5
_POLL: Final = 0.05  # seconds
_CLOSE: Final = 3.0  # seconds
_DRAIN: Final = 0.5  # seconds for pipes that a grandchild keeps open


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
    """One run of a credential plugin; `text` is what it has printed on standard error."""

    def __init__(self, plugin: str, user: str, limit: float, *, needs_terminal: bool = False) -> None:
        self.plugin, self.user, self.limit = plugin, user, limit
        self.needs_terminal = needs_terminal
        self.text = ""
        self.is_running = True
        self.is_cancelled = False
        self._ends = time.monotonic() + limit

    @property
    def seconds_left(self) -> float:
        return max(self._ends - time.monotonic(), 0.0)

    def cancel(self) -> None:
        """End the plugin; it fails as cancelled."""
        self.is_cancelled = True

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
        self._is_registered = False

    @property
    def running(self) -> tuple[Login, ...]:
        with self._lock:
            return tuple(self._running)

    @property
    def seconds(self) -> float:
        """Return how long at least one login has been running, in this process."""
        with self._lock:
            return self._spent + (time.monotonic() - self._since if self._running else 0.0)

    def run(
        self, login: Login, command: Sequence[str], environment: Callable[[bool], Mapping[str, str]], *, terminal: bool
    ) -> PluginResult:
        """Run a plugin to its end; `environment` is made with whether it has a terminal. Raise OSError.

        `terminal` requests the terminal of the front end. Raise ConfigurationError if the login is cancelled or takes
        too long.
        """
        with self._lock:
            turn = self._plugins[command[0]]
            if not self._is_registered:
                self._is_registered = True
                atexit.register(self.close)
        with turn, self.entered(login), self._terminal(login, terminal) as lent:
            return _run(login, command, environment(lent), lent, self._printed)

    def close(self) -> None:
        """End all plugins, at the end of the process; their threads need a moment."""
        for login in self.running:
            login.cancel()
        ends = time.monotonic() + _CLOSE
        while self.running and time.monotonic() < ends:
            time.sleep(_POLL)

    def _terminal(self, login: Login, requested: bool) -> AbstractContextManager[bool]:
        return self.front_end.lend_terminal(login) if requested else nullcontext(False)

    def _printed(self, login: Login, text: str) -> None:
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


def _run(
    login: Login,
    command: Sequence[str],
    environment: Mapping[str, str],
    has_terminal: bool,
    printed: Callable[[Login, str], None],
) -> PluginResult:
    process = subprocess.Popen(  # noqa: S603 (the user's own kubeconfig names it, as for every Kubernetes client)
        command,
        stdin=None if has_terminal else subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=dict(environment),
        start_new_session=not has_terminal,  # without a controlling terminal it cannot open /dev/tty to prompt
    )
    output = bytearray()
    readers = [
        threading.Thread(target=_read_output, args=(process.stdout, output), daemon=True),
        threading.Thread(target=_read_text, args=(process.stderr, lambda text: printed(login, text)), daemon=True),
    ]
    try:
        for reader in readers:
            reader.start()
        while process.poll() is None:
            if login.is_cancelled:
                raise ConfigurationError(f"the login of user {login.user!r} with {login.plugin} was cancelled")
            if login.seconds_left <= 0:
                raise ConfigurationError(
                    f"the credential plugin {login.plugin} did not answer within {login.limit:g} s",
                    hint="log in faster, or set KYMATUI_LOGIN_TIMEOUT to more seconds",
                )
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(_POLL)
        for reader in readers:
            reader.join(_DRAIN)
        return PluginResult(process.returncode, bytes(output))
    finally:
        _end(process, is_group=not has_terminal)


def _end(process: subprocess.Popen[bytes], *, is_group: bool) -> None:
    """End a plugin that still runs, with what it has started in its own session."""
    if process.poll() is not None:
        return
    for number in (signal.SIGTERM, signal.SIGKILL):
        with contextlib.suppress(ProcessLookupError, PermissionError):
            if is_group and hasattr(os, "killpg"):
                os.killpg(process.pid, number)
            else:
                process.send_signal(number)
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(2.0)
            return


def _read_output(stream: IO[bytes] | None, output: bytearray) -> None:
    assert stream is not None
    with stream, contextlib.suppress(OSError):
        while data := os.read(stream.fileno(), _CHUNK):
            output += data[: _LARGEST_OUTPUT - len(output)]


def _read_text(stream: IO[bytes] | None, printed: Callable[[str], None]) -> None:
    assert stream is not None
    decoder = codecs.getincrementaldecoder("utf-8")("replace")
    with stream, contextlib.suppress(OSError):
        while data := os.read(stream.fileno(), _CHUNK):
            if text := sanitize_lines(decoder.decode(data)):
                printed(text)
