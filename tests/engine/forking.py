"""A sandbox that can be copied by a fork: what stands in it at a moment is the beginning of as many worlds as wanted.

Nothing of it runs between two calls of `serve`: its time is a heap of callbacks that the next event loop takes over.
"""

from __future__ import annotations

import asyncio
import heapq
import itertools
import os
import signal
import socket
import sys
import threading
import time
import traceback
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from aiohttp import web

from kymatui.adapters.kube.auth.connection import Connection, connect
from kymatui.sandbox.apimachinery.clock import Timer
from kymatui.sandbox.apimachinery.exchange import ServerRequest
from kymatui.sandbox.apimachinery.object_store import StoreChange
from kymatui.sandbox.apiserver.http.http_server import HttpServer
from kymatui.sandbox.apiserver.http.server_faults import FaultOutcome, ServerFault, ServerFaults, outcome_of
from kymatui.sandbox.apiserver.server.api_server import ApiServer
from kymatui.sandbox.apiserver.server.server_semantics import standard_semantics
from kymatui.sandbox.controllers.controller_manager import ControllerManager
from kymatui.sandbox.controllers.framework.controller_context import ControllerPace
from kymatui.sandbox.sandbox_server import ServerEndpoint, kubeconfig_text

TOKEN = "walking"
_FAST = ControllerPace(start=0.02, stop=0.02, job=0.05, namespace=0.05)
_LOOK = 0.004
_IGNORED = ("events", "events.events.k8s.io", "leases.coordination.k8s.io", "pods")
KILLED = -signal.SIGKILL


class _Due:
    def __init__(self, at: float, callback: Callable[[], None]) -> None:
        self.at, self.callback, self.cancelled = at, callback, False

    def cancel(self) -> None:
        self.cancelled = True


class PortableClock:
    """Implements the sandbox's `Clock`; runs only while a loop is attached."""

    def __init__(self) -> None:
        self._due: list[tuple[float, int, _Due]] = []
        self._order = itertools.count()
        self._loop: asyncio.AbstractEventLoop | None = None

    def now(self) -> float:
        return time.time()

    def call_later(self, seconds: float, callback: Callable[[], None]) -> Timer:
        due = _Due(time.monotonic() + max(0.0, seconds), callback)
        heapq.heappush(self._due, (due.at, next(self._order), due))
        self._schedule(due.at)
        return due

    def attach(self, loop: asyncio.AbstractEventLoop | None) -> None:
        self._loop = loop
        for at, _, _ in self._due:
            self._schedule(at)

    def _schedule(self, at: float) -> None:
        if self._loop is not None:
            self._loop.call_later(max(0.0, at - time.monotonic()), self._run)

    def _run(self) -> None:
        now = time.monotonic()
        while self._due and self._due[0][0] <= now:
            due = heapq.heappop(self._due)[2]
            if not due.cancelled:
                due.callback()
        if self._due:
            self._schedule(self._due[0][0])


class NumberedFaults(ServerFaults):
    """Meets request `number` (from 1; 0 none) with one fault, and counts them all."""

    number = 0
    fault: ServerFault | None = None
    seen = 0
    met = ""

    def __init__(self) -> None:
        super().__init__()
        self.methods: list[str] = []

    def meet(self, request: ServerRequest) -> FaultOutcome | None:
        self.seen += 1
        self.methods.append(request.method)
        if self.seen != self.number:
            return None
        self.met = f"{request.method} {request.path}"
        return outcome_of(self.fault, 0.0, request) if self.fault is not None else None


class World:
    """A server, its controllers, and what was created in it since `forget`."""

    def __init__(self) -> None:
        self.clock = PortableClock()
        self.server = ApiServer(self.clock, standard_semantics(self.clock), admin_token=TOKEN)
        self.faults = NumberedFaults()
        self.created: Counter[str] = Counter()
        self.server.bootstrap(6443)
        self.controllers = ControllerManager(self.server.client, self.server.store, root_ca="none", pace=_FAST)
        self.controllers.start()
        self.server.store.listen("*", self._note)

    def _note(self, change: StoreChange) -> None:
        if change.kind != "ADDED" or change.resource in _IGNORED:
            return
        if not change.current.body()["metadata"].get("ownerReferences"):
            self.created[f"{change.resource} {'/'.join(change.current.key)}"] += 1

    def forget(self) -> None:
        self.created.clear()
        self.faults.seen = 0
        self.faults.methods.clear()

    def serve(self, folder: Path, works: Sequence[Callable[[Connection], None]], enough: Callable[[int], bool]) -> int:
        """Carries out the works one after another, each in a process of its own, until `enough` of an exit status.

        Returns the last exit status. This process must have no threads.
        """
        assert threading.active_count() == 1, "a process with threads must not fork"
        with socket.socket() as sock:
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            sock.bind(("127.0.0.1", 0))
            sock.listen(128)
            kubeconfig = folder / f"kubeconfig-{os.getpid()}"
            port = sock.getsockname()[1]
            kubeconfig.write_text(kubeconfig_text([ServerEndpoint("walked", f"http://127.0.0.1:{port}", b"", TOKEN)]))
            children = [_Child(work, kubeconfig) for work in works]
            try:
                return asyncio.run(self._serve(sock, children, enough))
            finally:
                for child in children:
                    child.end()
                kubeconfig.unlink()

    async def _serve(self, sock: socket.socket, children: Sequence[_Child], enough: Callable[[int], bool]) -> int:
        carrier = HttpServer(self.server.api.handle, self.faults, tls=None)
        runner = web.ServerRunner(web.Server(carrier._serve, access_log=None), shutdown_timeout=0.05)
        await runner.setup()
        await web.SockSite(runner, sock).start()
        self.clock.attach(asyncio.get_running_loop())
        status = 0
        for child in children:
            child.go()
            while (found := child.status()) is None:
                await asyncio.sleep(_LOOK)
            status = found
            if enough(status):
                break
        await self._rest()
        self.clock.attach(None)
        await carrier.stop()
        await runner.cleanup()
        return status

    async def _rest(self) -> None:
        """Until nothing has changed for a while: what controllers have begun they have ended."""
        quiet, version = 0.0, -1
        while quiet < 0.15:
            now = self.server.store.version
            quiet, version = (0.0, now) if now != version else (quiet + 0.03, now)
            await asyncio.sleep(0.03)


class _Child:
    """A process that waits for a word before it works."""

    def __init__(self, work: Callable[[Connection], None], kubeconfig: Path) -> None:
        self._found: int | None = None
        reading, self._word = os.pipe()
        sys.stdout.flush()
        sys.stderr.flush()
        self._pid = os.fork()
        if self._pid:
            os.close(reading)
            return
        code = 1
        try:
            os.close(self._word)
            if os.read(reading, 1):
                work(connect(str(kubeconfig), "", ""))
            code = 0
        except BaseException:  # noqa: BLE001 (the child ends here, whatever happens)
            traceback.print_exc()
        finally:
            sys.stderr.flush()
            os._exit(code)

    def go(self) -> None:
        os.write(self._word, b"g")

    def status(self) -> int | None:
        if self._found is None:
            pid, status = os.waitpid(self._pid, os.WNOHANG)
            self._found = os.waitstatus_to_exitcode(status) if pid else None
        return self._found

    def end(self) -> None:
        os.close(self._word)
        if self._found is None:
            os.waitpid(self._pid, 0)


def contents(world: World) -> dict[str, dict[str, Any]]:
    """Every object that no other owns, by resource and name."""
    store = world.server.store
    found = {}
    for resource in store.resources():
        if resource in ("events", "events.events.k8s.io"):
            continue
        for stored in store.walk(resource):
            body = stored.body()
            if stored.namespace.startswith("kube-") or body["metadata"].get("ownerReferences"):
                continue
            found[f"{resource} {'/'.join(stored.key)}"] = {key: part for key, part in body.items() if key != "status"}
    return found
