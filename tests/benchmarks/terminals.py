"""kymatui in a process of its own on a pseudo terminal, as a person has it, and a sandbox to look at."""

from __future__ import annotations

import contextlib
import os
import pty
import select
import struct
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from fcntl import ioctl
from pathlib import Path
from termios import TIOCSWINSZ
from typing import Any

import yaml

ROWS, COLUMNS = 40, 120
_TICKS = os.sysconf("SC_CLK_TCK")


class Terminal:
    """One running kymatui; `seen` is everything that it wrote."""

    def __init__(self, folder: Path, *words: str) -> None:
        environment = {**os.environ, "TERM": "xterm-256color", "HOME": str(folder), "COLORTERM": "truecolor"}
        environment.pop("XDG_CACHE_HOME", None)
        self.seen = b""
        self.started = time.perf_counter()
        self.pid, self._terminal = pty.fork()
        if self.pid == 0:
            os.execve(sys.executable, [sys.executable, "-m", "kymatui", *words], environment)
        ioctl(self._terminal, TIOCSWINSZ, struct.pack("HHHH", ROWS, COLUMNS, 0, 0))

    def until(self, holds: Callable[[bytes], bool], timeout: float = 30.0) -> float:
        """Reads until what was written satisfies; returns when that was, in seconds of the performance counter."""
        deadline = time.perf_counter() + timeout
        while not holds(self.seen):
            self.read(deadline - time.perf_counter())
            if time.perf_counter() > deadline:
                raise SystemExit(f"nothing of it within {timeout} s; the last words: {self.seen[-400:]!r}")
        return time.perf_counter()

    def read(self, timeout: float) -> int:
        """Takes what is there, or comes within the time; returns how many bytes."""
        if not select.select([self._terminal], [], [], max(0.0, timeout))[0]:
            return 0
        piece = os.read(self._terminal, 65536)
        self.seen += piece
        return len(piece)

    def drain(self, seconds: float) -> int:
        """Reads for so long; returns how many bytes came."""
        deadline, taken = time.perf_counter() + seconds, 0
        while (left := deadline - time.perf_counter()) > 0:
            taken += self.read(left)
        return taken

    def press(self, keys: bytes) -> None:
        os.write(self._terminal, keys)

    def cpu(self) -> float:
        """Seconds of a core that the process has used."""
        fields = Path(f"/proc/{self.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / _TICKS

    def memory(self) -> float:
        """Megabytes that are resident."""
        line = next(line for line in Path(f"/proc/{self.pid}/status").read_text().splitlines() if "VmRSS" in line)
        return int(line.split()[1]) / 1024

    def close(self) -> None:
        with contextlib.suppress(ProcessLookupError):
            os.kill(self.pid, 9)
        os.waitpid(self.pid, 0)
        os.close(self._terminal)


@contextlib.contextmanager
def terminal(folder: Path, *words: str) -> Iterator[Terminal]:
    found = Terminal(folder, *words)
    try:
        yield found
    finally:
        found.close()


@contextlib.contextmanager
def sandbox(folder: Path, objects: Sequence[Any]) -> Iterator[Path]:
    """An empty sandbox in a process of its own with these objects; yields its kubeconfig."""
    file, kubeconfig = folder / "objects.yaml", folder / "kubeconfig"
    file.write_text(yaml.dump_all(objects, Dumper=getattr(yaml, "CSafeDumper", yaml.SafeDumper)))
    words = ["sandbox", "up", "--empty", "--load", str(file), "--kubeconfig", str(kubeconfig)]
    running = subprocess.Popen(
        [sys.executable, "-m", "kymatui", *words], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    )
    try:
        assert running.stdout is not None
        if not any(line.strip() == "ready" for line in running.stdout):
            raise SystemExit("the sandbox did not start")
        yield kubeconfig
    finally:
        running.terminate()
        running.wait(10)
