"""`kymatui` with a mishap at one of its writes, and then again without one: for the walk over the operator's writes.

    python -m tests.benchmarks.mortal_operator FOLDER MISHAP NUMBER operator run …

FOLDER remembers what was written (`writes`, a line for each) and whether the mishap happened (`met`). MISHAP is
kill-before, kill-after, error, conflict, throttle (429 with Retry-After), drop (never sent), lose (sent, the connection
breaks), hang (never sent, silence) or stall (sent, silence); number 0 is none. A silence ends after 5 seconds, as if
the timeouts of requests were that short.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import urllib3

from kymatui.adapters.http.deadlines import answered_within
from kymatui.adapters.kube.transport import transport as module
from kymatui.adapters.kube.transport.read_only_gate import is_read_only_request
from kymatui.adapters.kube.transport.streams import ApiReply
from kymatui.errors import ConflictError, ServerError, UnreachableError

MISHAPS = ("kill-before", "kill-after", "error", "conflict", "throttle", "drop", "lose", "hang", "stall")
SILENCE = 5.0
_ONCE = module.Transport._once


class Mishap:
    """Takes the place of `Transport._once`; counts writes of all connections, but not of Lease and Events.

    Both are written beside the reconciliations, so that their place among the writes is another in each run.
    """

    def __init__(self, folder: Path, kind: str, number: int) -> None:
        self._folder, self._kind, self._number = folder, kind, number
        self._lock = threading.Lock()
        self._count = 0

    def patch(self) -> None:
        mishap = self

        def once(transport: module.Transport, request: module.Request, *given: Any, **named: Any) -> Any:
            beside = "/leases" in request.path or "/events" in request.path
            if beside or is_read_only_request(request.method, request.path):
                return _ONCE(transport, request, *given, **named)
            return mishap.around(request, lambda: _ONCE(transport, request, *given, **named))

        module.Transport._once = once  # type: ignore[assignment, method-assign]

    def around(self, request: module.Request, send: Any) -> Any:
        with self._lock:
            self._count += 1
            now = self._count == self._number
        with (self._folder / "writes").open("a") as file:
            file.write(f"{request.method} {request.path}\n")
        if not now:
            return send()
        (self._folder / "met").write_text(f"{request.method} {request.path}")
        if self._kind == "kill-before":
            os.kill(os.getpid(), signal.SIGKILL)
        if self._kind in ("kill-after", "lose", "stall"):
            send()
        if self._kind == "kill-after":
            os.kill(os.getpid(), signal.SIGKILL)
        if self._kind == "throttle":
            return throttled()
        if self._kind in ("hang", "stall"):
            time.sleep(SILENCE)
        words = f"{self._kind} at {request.method} {request.path}"
        if self._kind == "error":
            raise ServerError(words, status=500)
        if self._kind == "conflict":
            raise ConflictError(words, status=409)
        raise UnreachableError(words)


def throttled() -> ApiReply:
    """Return the answer of a server that is too busy."""
    status = {"kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": "TooManyRequests", "code": 429}
    body = json.dumps({**status, "message": "too many requests", "details": {"retryAfterSeconds": 1}}).encode()
    headers = {"Content-Type": "application/json", "Retry-After": "1"}
    with answered_within(60.0) as deadline:
        return ApiReply(urllib3.HTTPResponse(body, headers, 429), deadline, body)


def main() -> int:
    folder, kind, number = Path(sys.argv[1]), sys.argv[2], int(sys.argv[3])
    if os.environ.get("KYMATUI_MORTAL") == "child":
        from kymatui.cli.main import main as kymatui

        Mishap(folder, kind, 0 if (folder / "met").exists() else number).patch()
        return kymatui(sys.argv[4:])
    return _restarted([sys.executable, "-m", "tests.benchmarks.mortal_operator", *sys.argv[1:]])


def _restarted(command: list[str]) -> int:
    """Run a child until it ends by itself or on SIGTERM; start it again after SIGKILL."""
    stopping = threading.Event()
    children: list[subprocess.Popen[bytes]] = []

    def stop(*_: object) -> None:
        stopping.set()
        for child in children[-1:]:
            child.terminate()

    signal.signal(signal.SIGTERM, stop)
    while True:
        children.append(subprocess.Popen(command, env={**os.environ, "KYMATUI_MORTAL": "child"}))
        if stopping.is_set():
            children[-1].terminate()
        status = children[-1].wait()
        if status != -signal.SIGKILL or stopping.is_set():
            return status


if __name__ == "__main__":
    sys.exit(main())
