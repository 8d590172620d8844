"""From the start of the process to the first paint of the screen, on a pseudo terminal as a person has it.

    python tests/benchmarks/first_paint.py [RUNS]

The kubeconfig points to a port where nobody listens: what is measured is kymatui, not a cluster.
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
PAINTED = b"kymatui"


def first_paint(folder: Path) -> float:
    """Seconds until the frame's first words are on the terminal."""
    kubeconfig = folder / "kubeconfig"
    kubeconfig.write_text(KUBECONFIG)
    environment = {**os.environ, "KUBECONFIG": str(kubeconfig), "TERM": "xterm-256color", "HOME": str(folder)}
    started = time.perf_counter()
    child, terminal = pty.fork()
    if child == 0:
        os.execve(sys.executable, [sys.executable, "-m", "kymatui"], environment)
    ioctl(terminal, TIOCSWINSZ, struct.pack("HHHH", 40, 120, 0, 0))
    seen = b""
    try:
        while PAINTED not in seen:
            if not select.select([terminal], [], [], 10)[0]:
                raise SystemExit("nothing was painted within 10 s")
            seen += os.read(terminal, 65536)
        return time.perf_counter() - started
    finally:
        os.kill(child, 9)
        os.waitpid(child, 0)
        os.close(terminal)


def main() -> None:
    runs = int(sys.argv[1]) if len(sys.argv) > 1 else 20
    with tempfile.TemporaryDirectory() as folder:
        first_paint(Path(folder))  # warms the caches of bytecode and files
        times = sorted(first_paint(Path(folder)) * 1000 for _ in range(runs))
    middle = statistics.median(times)
    print(f"first paint over {runs} runs: min {times[0]:.0f} ms, median {middle:.0f} ms, max {times[-1]:.0f} ms")


if __name__ == "__main__":
    main()
