"""A connection says how far it is while it is opened."""

from __future__ import annotations

import socket
import threading
from contextlib import closing
from typing import Any

import pytest
from urllib3.exceptions import HTTPError, NameResolutionError

from kymatui.adapters.kube.auth.connection_pool import open_pool
from kymatui.adapters.kube.auth.endpoint import Endpoint
from kymatui.engine.cluster.dials import DIALS
from tests.engine.places import eventually

NAME = "api.slow.example"
real_lookup = socket.getaddrinfo


def ask(endpoint: Endpoint, errors: list[BaseException]) -> None:
    with closing(open_pool(endpoint, None)) as pool:
        try:
            pool.request("GET", "/version", None, {}, (20, 20))
        except HTTPError as error:
            errors.append(error)


def test_a_name_is_looked_up_then_the_connection_is_opened(monkeypatch: pytest.MonkeyPatch) -> None:
    may_answer, lookups = threading.Event(), []

    def look_up(host: str, *more: Any, **named: Any) -> Any:
        lookups.append(host)
        assert may_answer.wait(20)
        return real_lookup("127.0.0.1", *more, **named)

    monkeypatch.setattr(socket, "getaddrinfo", look_up)
    errors: list[BaseException] = []
    with closing(socket.create_server(("127.0.0.1", 0))) as silent:  # accepts, and never answers the handshake
        endpoint = Endpoint(f"https://{NAME}:{silent.getsockname()[1]}", insecure=True)
        thread = threading.Thread(target=ask, args=(endpoint, errors))
        thread.start()
        eventually(lambda: str(DIALS.oldest) == f"Resolving {NAME}")
        assert lookups == [NAME]
        may_answer.set()
        eventually(lambda: str(DIALS.oldest) == f"Connecting to {NAME}")
        silent.accept()[0].close()
        thread.join(20)
    assert len(errors) == 1  # the handshake was cut off
    assert DIALS.oldest is None
    ask(endpoint, errors)
    assert lookups == [NAME, NAME, NAME]  # once to say so, then once for each connection


def test_a_name_that_does_not_resolve_is_looked_up_once(monkeypatch: pytest.MonkeyPatch) -> None:
    lookups = []

    def look_up(host: str, *more: Any, **named: Any) -> Any:
        lookups.append(host)
        raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")

    monkeypatch.setattr(socket, "getaddrinfo", look_up)
    errors: list[BaseException] = []
    ask(Endpoint("https://api.absent.example"), errors)
    assert ([type(error) for error in errors], lookups) == ([NameResolutionError], ["api.absent.example"])
    assert DIALS.oldest is None
