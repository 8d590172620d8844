"""From the start of the process to the first paint of the screen, on a pseudo terminal as a person has it.

    python -m tests.benchmarks.first_paint [RUNS]

The kubeconfig points to a port where nobody listens: what is measured is kymatui, not a cluster. Two moments count: the
frame's first words, which are there before the toolkit is loaded, and the whole frame as the toolkit paints it. An app
of one line of text is measured in turn with them, because what Textual itself needs is the floor of the second.
"""

from __future__ import annotations

import os
import pty
import select
import statistics
import struct
import sys
import tempfile
import time
from collections.abc import Sequence
from fcntl import ioctl
from pathlib import Path
from termios import TIOCSWINSZ

KUBECONFIG = """apiVersion: v1
kind: Config
clusters: [{name: c, cluster: {server: "https://127.0.0.1:9"}}]
users: [{name: u, user: {token: t}}]
contexts: [{name: x, context: {cluster: c, user: u}}]
current-context: x
"""
ONE_LINE = """
from textual.app import App
from textual.widgets import Static

class OneLine(App[int]):
    def compose(self):
        yield Static("kymatui")

OneLine().run()
"""
ANSWERED, PAINTED = b"kymatui", b"[RW]"
_TICK = 1000 / os.sysconf("SC_CLK_TCK")


def first_paint(folder: Path, words: Sequence[str], wanted: bytes) -> tuple[float, float]:
    """Wall and processor milliseconds until what is wanted is on the terminal."""
    environment = {
        **os.environ,
        "KUBECONFIG": str(folder / "kubeconfig"),
        "TERM": "xterm-256color",
        "HOME": str(folder),
    }
    started = time.perf_counter()
    child, terminal = pty.fork()
    if child == 0:
        os.execve(sys.executable, [sys.executable, *words], environment)
    ioctl(terminal, TIOCSWINSZ, struct.pack("HHHH", 40, 120, 0, 0))
    seen = b""
    try:
        while wanted not in seen:
            if not select.select([terminal], [], [], 10)[0]:
                raise SystemExit("nothing was painted within 10 s")
            seen += os.read(terminal, 65536)
        return (time.perf_counter() - started) * 1000, _processor(child)
    finally:
        os.kill(child, 9)
        os.waitpid(child, 0)
        os.close(terminal)


def _processor(process: int) -> float:
    """Milliseconds of user and system time of a living process (proc(5), fields 14 and 15)."""
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) * _TICK


def main() -> None:
    runs = int(sys.argv[1]) if len(sys.argv) > 1 else 15
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        (folder / "kubeconfig").write_text(KUBECONFIG)
        (folder / "one_line.py").write_text(ONE_LINE)
        rivals = {
            "kymatui, the first words": (["-m", "kymatui"], ANSWERED),
            "kymatui, the whole frame": (["-m", "kymatui"], PAINTED),
            "one line of text": ([str(folder / "one_line.py")], ANSWERED),
        }
        for words, wanted in rivals.values():
            first_paint(folder, words, wanted)  # warms the caches of bytecode and files
        times: dict[str, list[tuple[float, float]]] = {name: [] for name in rivals}
        for _ in range(runs):
            for name, (words, wanted) in rivals.items():
                times[name].append(first_paint(folder, words, wanted))
    print(f"| first paint of {runs} runs in turn | min ms | median ms | max ms | processor ms |")
    print("|---|---|---|---|---|")
    for name, found in times.items():
        wall = [one for one, _ in found]
        busy = statistics.median(one for _, one in found)
        print(f"| {name} | {min(wall):.0f} | {statistics.median(wall):.0f} | {max(wall):.0f} | {busy:.0f} |")


if __name__ == "__main__":
    main()
