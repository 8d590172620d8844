"""Commands of the user's own: in the terminal, or in the background with a bounded output."""

from __future__ import annotations

import os
import signal
import subprocess
import threading
from collections.abc import Mapping
from contextlib import suppress
from typing import Final

from kymatui.adapters.files.object_editor import interrupts_ignored
from kymatui.domain.kubernetes.terminal_text import error_reason
from kymatui.errors import ConfigurationError

_LARGEST: Final = 1 << 20  # bytes of output that are kept


def run_in_terminal(command: str, environment: Mapping[str, str]) -> int:
    """Run a line of the shell with the terminal; return its status, negative after a signal."""
    with interrupts_ignored():
        return subprocess.run(command, shell=True, env=environment, check=False).returncode  # noqa: S602 (the user's own)


class PluginProcess:
    """A line of the shell in the background; its output may be read while it runs."""

    def __init__(self, command: str, environment: Mapping[str, str]) -> None:
        """Start it in a group of processes of its own. Raise ConfigurationError."""
        try:
            self._process = subprocess.Popen(  # noqa: S602 (the user's own)
                command,
                shell=True,
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        except OSError as error:
            raise ConfigurationError(f"cannot start the shell: {error_reason(error)}") from error
        self._output, self._is_cut = bytearray(), False
        self._reader = threading.Thread(target=self._read, name="plugin", daemon=True)
        self._reader.start()

    def _read(self) -> None:
        assert self._process.stdout is not None
        with self._process.stdout as stream:
            while chunk := stream.read1(1 << 16):  # type: ignore[attr-defined]  # it is buffered
                kept = chunk[: _LARGEST - len(self._output)]
                self._output += kept
                self._is_cut = self._is_cut or len(kept) < len(chunk)

    @property
    def text(self) -> str:
        """Return what it has printed so far, at most 1 MiB."""
        cut = "\n(the output is cut after 1 MiB)" if self._is_cut else ""
        return bytes(self._output).decode(errors="replace") + cut

    @property
    def status(self) -> int | None:
        """Return its exit status once all of its output is read; None while it runs."""
        return None if self._reader.is_alive() else self._process.poll()

    def close(self) -> None:
        """End it with everything that it has started."""
        if self._process.poll() is None or self._reader.is_alive():
            with suppress(ProcessLookupError, PermissionError):
                if os.name == "nt":
                    self._process.kill()
                else:
                    os.killpg(self._process.pid, signal.SIGTERM)
