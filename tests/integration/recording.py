"""The sandbox's server inside this process, with a log of everything that was asked of it."""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from kymatui.crds import read_crds
from kymatui.sandbox.apimachinery.exchange import ServerRequest, ServerResponse
from kymatui.sandbox.apiserver.http.http_server import make_serving_certificate
from kymatui.sandbox.apiserver.server.server_semantics import standard_semantics
from kymatui.sandbox.sandbox_server import SandboxCluster, kubeconfig_text, write_private
from kymatui.sandbox.world.modules.module_manifest import module_definition
from kymatui.sandbox.world.story.file_loader import load
from tests.integration.embedded import GROUP, eventually, kyma, release_meta, resource, template

Json = dict[str, Any]
LETTERS = "abcdefghijklmnopqrstuvwxyz"


@dataclass
class Recorded:
    """A running server; `asked` holds every request of a client as "GET /path", in order, `watched` those that stay."""

    kubeconfig: Path
    cluster: SandboxCluster
    loop: asyncio.AbstractEventLoop
    asked: list[str] = field(default_factory=list)
    watched: list[str] = field(default_factory=list)

    def counted(self) -> Counter[str]:
        return Counter(self.asked)

    def load(self, folder: Path, objects: Sequence[Json]) -> None:
        """Puts objects into the cluster without a request, and waits until they are all there."""
        file = folder / "objects.yaml"
        file.write_text(yaml.safe_dump_all(objects))
        server = self.cluster.server
        report = self.call(lambda: load(server.client, server.store, [file]))
        eventually(lambda: bool(report.done), "everything is loaded", 60)
        assert not report.failures

    def call(self, act: Any) -> Any:
        """Runs something where the server runs."""

        async def acting() -> Any:
            return act()

        return asyncio.run_coroutine_threadsafe(acting(), self.loop).result(30)


@contextlib.contextmanager
def recorded(folder: Path) -> Iterator[Recorded]:
    """An empty cluster on a socket of its own."""
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever, daemon=True)
    thread.start()
    cluster = SandboxCluster("recorded", make_serving_certificate(), standard_semantics)
    asyncio.run_coroutine_threadsafe(cluster.start(), loop).result(30)
    found = Recorded(folder / "kubeconfig", cluster, loop)
    write_private(found.kubeconfig, kubeconfig_text([cluster.endpoint], ""))
    carrier = cluster._carrier
    assert carrier is not None
    handle = carrier._handle

    def recording(request: ServerRequest) -> ServerResponse:
        found.asked.append(f"{request.method} {request.path}")
        if request.first("watch"):
            found.watched.append(request.path)
        return handle(request)

    carrier._handle = recording
    try:
        yield found
    finally:
        asyncio.run_coroutine_threadsafe(cluster.stop(), loop).result(30)
        loop.call_soon_threadsafe(loop.stop)
        thread.join(10)
        loop.close()


def module_names(count: int) -> list[str]:
    return [f"module{LETTERS[number // 26]}{LETTERS[number % 26]}" for number in range(count)]


def modules(count: int) -> list[Json]:
    """Kyma's definitions, and so many modules that are asked for, installed and well."""
    names = module_names(count)
    objects = list(read_crds())
    objects += [module_definition(GROUP, name.capitalize(), f"{name}s", "v1alpha1") for name in names]
    for name in names:
        objects += [template(name, "1.0.0"), release_meta(name, "1.0.0"), resource(name, "Ready")]
    return [*objects, kyma(*names)]
