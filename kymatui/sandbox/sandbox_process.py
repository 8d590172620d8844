"""A sandbox in its own process, so that it does not compete with a screen for the interpreter lock."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType

from msgspec import Struct

from kymatui.domain.kubernetes.terminal_text import error_reason
from kymatui.errors import ClusterError
from kymatui.structs import repr_without

STARTUP_SECONDS = 60.0
SHUTDOWN_SECONDS = 5.0
_FLEET_A_SECOND = 40
"""How many Kymas with all that belongs to them are made in a second at the least, on a machine that is busy."""
PARENT_VARIABLE = "KYMATUI_SANDBOX_PARENT"
"""Holds the process id whose end is the sandbox's end; see `follow_parent`."""


class RunningSandbox(Struct):
    """A running sandbox; `close` (or the end of a `with`) stops it and removes its files.

    `registry` is the address of its OCI registry ("127.0.0.1:5123"), "" without one.
    """

    kubeconfig: Path
    registry: str
    process: subprocess.Popen[str]
    _folder: Path | None = None

    __repr__ = repr_without("_folder")

    def close(self) -> None:
        if self.process.poll() is None:
            self.process.terminate()
            try:
                self.process.wait(SHUTDOWN_SECONDS)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()
        for pipe in (self.process.stdout, self.process.stderr, self.process.stdin):
            if pipe is not None:
                pipe.close()
        if self._folder is not None:
            shutil.rmtree(self._folder, ignore_errors=True)

    def __enter__(self) -> RunningSandbox:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def start_sandbox(
    *,
    clusters: Sequence[str] = (),
    empty: bool = False,
    viewer_token: str = "",
    kubeconfig: Path | None = None,
    settled: bool = False,
    fleet: int | None = None,
) -> RunningSandbox:
    """Start `kymatui sandbox up` and wait until it answers. Raise ClusterError.

    `fleet` is the number of Kymas on a control plane. `settled` waits until the sample world is at rest. Without
    `kubeconfig`, the file is in a private folder that `close` removes. The child ends with this process, even if it
    is killed.
    """
    folder = Path(tempfile.mkdtemp(prefix="kymatui-sandbox-")) if kubeconfig is None else None
    path = kubeconfig or Path(str(folder), "kubeconfig")
    command = [sys.executable, "-m", "kymatui", "sandbox", "up", "--kubeconfig", str(path), "--port", "0"]
    if clusters:
        command += ["--clusters", ",".join(clusters)]
    if viewer_token:
        command += ["--viewer-token", viewer_token]
    if empty:
        command.append("--empty")
    if settled:
        command.append("--settled")
    if fleet is not None:
        command += ["--fleet", str(fleet)]
    timeout = STARTUP_SECONDS + (fleet or 0) / _FLEET_A_SECOND
    try:
        process = _spawn(command)
    except OSError as error:
        _remove(folder)
        raise ClusterError(f"cannot start the sandbox: {error_reason(error)}") from error
    running = RunningSandbox(path, "", process, folder)
    try:
        running.registry = _await_ready(process, timeout)
    except BaseException:
        running.close()
        raise
    return running


def _spawn(command: Sequence[str]) -> subprocess.Popen[str]:
    return subprocess.Popen(  # noqa: S603
        command,
        stdin=subprocess.PIPE,  # closes when this process ends, which tells the child to stop
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, PARENT_VARIABLE: str(os.getpid())},
        start_new_session=True,  # Ctrl-C in the terminal is for the screen, which then stops its sandbox
    )


def _await_ready(process: subprocess.Popen[str], timeout: float) -> str:
    """Wait for `registry HOST:PORT` and `ready`; return the registry's address. Raise ClusterError."""
    watchdog = threading.Timer(timeout, process.kill)
    watchdog.start()
    lines: list[str] = []
    try:
        for line in process.stdout or ():
            lines.append(line.strip())
            if lines[-1] == "ready":
                break
    finally:
        watchdog.cancel()
    if lines[-1:] == ["ready"]:
        threading.Thread(target=_drain, args=(process,), daemon=True, name="sandbox-stderr").start()
        return next((line.removeprefix("registry ") for line in lines if line.startswith("registry ")), "")
    process.kill()
    message = (process.stderr.read() if process.stderr else "").strip()
    raise ClusterError(
        "the sandbox did not start" + (f": {message.splitlines()[-1]}" if message else ""),
        hint="run `kymatui sandbox up --kubeconfig FILE` to see all messages",
    )


def _drain(process: subprocess.Popen[str]) -> None:
    """Read the child's output, so that it never blocks on a full pipe."""
    with contextlib.suppress(ValueError, OSError):
        for _ in process.stderr or ():
            pass


def _remove(folder: Path | None) -> None:
    if folder is not None:
        shutil.rmtree(folder, ignore_errors=True)


def follow_parent() -> None:
    """End this process when its parent ends, which closes their common pipe."""
    if PARENT_VARIABLE not in os.environ:
        return

    def wait() -> None:
        with contextlib.suppress(OSError, ValueError):
            # Not through sys.stdin: the interpreter needs its lock at exit.
            while os.read(0, 4096):
                pass
        os.kill(os.getpid(), signal.SIGTERM)

    threading.Thread(target=wait, daemon=True, name="parent").start()
