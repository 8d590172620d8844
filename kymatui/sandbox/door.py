"""The door of the embedded cluster for commands: serving it, starting it beside a screen, making it misbehave."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from kymatui.sandbox.sandbox_process import RunningSandbox

LISTING = "list"
FAULTS = (
    "latency",
    "throttle",
    "error",
    "conflict",
    "drop",
    "lose",
    "hang",
    "stall",
    "unauthorized",
    "end-watches",
    "expire-watches",
    "revoke-token",
    "restore-token",
    "hold",
    "release",
    LISTING,
    "clear",
)
"""The words of `kymatui sandbox fault`, here so that its help costs no import."""


MAX_KYMAS = 20_000


def serve_sandbox(
    *,
    kubeconfig: Path,
    clusters: Sequence[str],
    port: int,
    viewer_token: str,
    empty: bool,
    load: Sequence[Path] = (),
    settled: bool = False,
    fleet: int | None = None,
    say: Callable[[str], None],
    warn: Callable[[str], None],
) -> int:
    """Serve until interrupted; returns the exit status. `say` and `warn` print answers and messages."""
    from kymatui.sandbox.sandbox_server import SandboxOptions, serve

    options = SandboxOptions(kubeconfig, clusters, port, viewer_token, empty, load, settled, fleet, overseen=True)
    return serve(options, say, warn)


def start_sandbox(
    *,
    clusters: Sequence[str] = (),
    empty: bool = False,
    viewer_token: str = "",
    kubeconfig: Path | None = None,
    settled: bool = False,
    fleet: int | None = None,
) -> RunningSandbox:
    """Return a sandbox in a process of its own; see `kymatui.sandbox.sandbox_process.start_sandbox`."""
    from kymatui.sandbox import sandbox_process

    return sandbox_process.start_sandbox(
        clusters=clusters, empty=empty, viewer_token=viewer_token, kubeconfig=kubeconfig, settled=settled, fleet=fleet
    )


def send_sandbox_fault(kubeconfig: Path, context: str, word: str, fields: Mapping[str, Any]) -> str:
    """Carry out one word of `FAULTS` on a running sandbox; returns its answer as JSON text."""
    from kymatui.sandbox.fault_client import FaultClient

    return json.dumps(FaultClient.for_kubeconfig(kubeconfig, context).send(word, fields), indent=2)
