"""A registry on a real socket, served by a loop in its own thread, and a plain HTTP client for it."""

from __future__ import annotations

import asyncio
import http.client
import json
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import pytest

from kymatui.sandbox.registry.registry_server import SandboxRegistry


@dataclass
class Answer:
    status: int
    headers: http.client.HTTPMessage
    body: bytes

    def json(self) -> Any:
        return json.loads(self.body)

    @property
    def code(self) -> str:
        return str(self.json()["errors"][0]["code"])


class Client:
    """One request per connection, no conveniences: what is sent is what the test says."""

    def __init__(self, address: str) -> None:
        self.address = address
        self.authorization = ""

    def ask(self, method: str, path: str, body: bytes | None = None, **headers: str) -> Answer:
        sent = {name.replace("_", "-"): value for name, value in headers.items()}
        if self.authorization:
            sent.setdefault("Authorization", self.authorization)
        connection = http.client.HTTPConnection(self.address, timeout=10)
        try:
            connection.request(method, path, body=body, headers=sent)
            response = connection.getresponse()
            return Answer(response.status, response.headers, response.read())
        finally:
            connection.close()

    def push(self, repository: str, content: bytes, digest: str) -> Answer:
        started = self.ask("POST", f"/v2/{repository}/blobs/uploads/", b"")
        return self.ask("PUT", f"{started.headers['Location']}?digest={digest}", content)


@dataclass
class Served:
    registry: SandboxRegistry
    client: Client
    loop: asyncio.AbstractEventLoop


Serve = Callable[..., Served]


@pytest.fixture
def serve() -> Iterator[Serve]:
    """`serve(**arguments of Registry)` starts one more registry; all are stopped after the test."""
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever, daemon=True)
    thread.start()
    started: list[SandboxRegistry] = []

    def start(**arguments: Any) -> Served:
        registry = SandboxRegistry(**arguments)
        asyncio.run_coroutine_threadsafe(registry.start(), loop).result(10)
        started.append(registry)
        return Served(registry, Client(registry.address), loop)

    yield start
    for registry in started:
        asyncio.run_coroutine_threadsafe(registry.stop(), loop).result(10)
    loop.call_soon_threadsafe(loop.stop)
    thread.join(10)
    loop.close()


@pytest.fixture
def served(serve: Serve) -> Served:
    return serve()
