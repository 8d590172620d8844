"""A terminal for a command, in a process of its own: `python -m tests.cli.terminal WANTED KEYS COMMAND…`.

Waits until the command has drawn the text WANTED, types KEYS, and leaves with the command's exit status; all that was
drawn goes to standard output.
"""

from __future__ import annotations

import os
import pty
import select
import subprocess
import sys
import time
from collections.abc import Mapping

_PATIENCE = 45.0
_SIZE = (40, 120)


def in_terminal(
    wanted: str, keys: str, command: list[str], environment: Mapping[str, str]
) -> subprocess.CompletedProcess[str]:
    """Runs a command on a terminal; `stdout` is everything that it drew."""
    words = [sys.executable, "-m", "tests.cli.terminal", wanted, keys, *command]
    return subprocess.run(
        words,
        capture_output=True,
        text=True,
        env={**os.environ, **environment},
        timeout=_PATIENCE + 15,
        errors="replace",
    )


def _main(wanted: str, keys: str, command: list[str]) -> int:
    child, terminal = pty.fork()
    if child == 0:
        os.execvp(command[0], command)
    import termios

    termios.tcsetwinsize(terminal, _SIZE)
    drawn, typed, deadline = b"", False, time.monotonic() + _PATIENCE
    while time.monotonic() < deadline:
        if select.select([terminal], [], [], 0.5)[0]:
            try:
                data = os.read(terminal, 65536)
            except OSError:  # the last process of the terminal ended
                break
            if not data:
                break
            drawn += data
        if not typed and wanted.encode() in drawn:
            typed = True
            os.write(terminal, keys.encode())
    else:
        os.kill(child, 9)
    _, status = os.waitpid(child, 0)
    sys.stdout.buffer.write(drawn)
    return os.waitstatus_to_exitcode(status)


if __name__ == "__main__":
    sys.exit(_main(sys.argv[1], sys.argv[2], sys.argv[3:]))
