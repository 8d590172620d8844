"""Sandboxes for tests, copied from one process that is ready; see `tests.sandboxes.template`."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from kymatui.errors import ClusterError
from kymatui.sandbox.sandbox_process import start_sandbox

ADDRESS = "KYMATUI_TESTS_SANDBOXES"
"""The variable with the template's socket, for the workers of a run."""
CAN_COPY = hasattr(os, "fork") and hasattr(socket, "send_fds")
_SECONDS = 240.0  # a fleet takes its time where others keep the machine busy


@dataclass(frozen=True)
class ReadySandbox:
    """`registry` is the address of its OCI registry."""

    kubeconfig: Path
    registry: str


@contextlib.contextmanager
def told_sandbox() -> Iterator[ReadySandbox]:
    """The sample world at rest, on one cluster `kcp`; its viewer's token is "viewer"."""
    with _started(("kcp",), empty=False, settled=True, fleet=None, viewer_token="viewer") as found:
        yield found


@contextlib.contextmanager
def ready_sandbox(
    *clusters: str, empty: bool = True, settled: bool = False, fleet: int | None = None, viewer_token: str = ""
) -> Iterator[ReadySandbox]:
    """What `start_sandbox` starts; of worlds at rest that were told once for all, with the viewer's token "viewer"."""
    with _started(clusters or ("kcp",), empty=empty, settled=settled, fleet=fleet, viewer_token=viewer_token) as found:
        yield found


@contextlib.contextmanager
def _started(
    clusters: Sequence[str], *, empty: bool, settled: bool, fleet: int | None, viewer_token: str
) -> Iterator[ReadySandbox]:
    if ADDRESS not in os.environ:
        with start_sandbox(
            clusters=clusters, empty=empty, settled=settled, fleet=fleet, viewer_token=viewer_token
        ) as running:
            yield ReadySandbox(running.kubeconfig, running.registry)
        return
    with tempfile.TemporaryDirectory(prefix="kymatui-tests-") as folder, socket.socket(socket.AF_UNIX) as connection:
        kubeconfig = Path(folder, "kubeconfig")
        asked = {
            "kubeconfig": str(kubeconfig),
            "clusters": list(clusters),
            "empty": empty,
            "settled": settled,
            "fleet": fleet,
            "viewer_token": viewer_token,
        }
        connection.settimeout(_SECONDS)
        connection.connect(os.environ[ADDRESS])
        connection.sendall(json.dumps(asked).encode() + b"\n")
        with connection.makefile("r") as answers:
            said = answers.readline().split()
        if said[:1] != ["ready"]:
            raise ClusterError("the sandbox did not start", hint="what it says is on the standard error of the run")
        yield ReadySandbox(kubeconfig, said[1])


@contextlib.contextmanager
def template() -> Iterator[None]:
    """The process that sandboxes are copied from, for all workers of a run; it costs little until one is wanted."""
    folder = Path(tempfile.mkdtemp(prefix="kymatui-tests-"))
    process = subprocess.Popen(
        [sys.executable, "-m", "tests.sandboxes.template", str(folder / "socket")],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        cwd=Path(__file__).resolve().parents[2],
    )
    assert process.stdin is not None
    assert process.stdout is not None
    try:
        if process.stdout.readline() == b"ready\n":
            os.environ[ADDRESS] = str(folder / "socket")
        yield
    finally:
        os.environ.pop(ADDRESS, None)
        process.stdin.close()
        process.wait()
        process.stdout.close()
        shutil.rmtree(folder, ignore_errors=True)
