"""Watches: what they begin with, what they report, how they end."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from kymatui.sandbox.apiserver.server.api_server import ApiServer
from tests.sandbox.apiserver.plain import advance, ask, plain_server

CM = "/api/v1/namespaces/default/configmaps"


class Watched:
    """What a watch has sent."""

    def __init__(self, server: ApiServer, query: str, accept: str = "") -> None:
        response = ask(server, "GET", f"{CM}?watch=1&{query}", headers={"accept": accept})
        assert response.status == 200, response.body
        assert response.stream is not None
        self.lines: list[bytes] = []
        self.finished = False
        self.stream = response.stream
        self.stream.start(self.lines.append, self.finish)

    def finish(self) -> None:
        self.finished = True

    @property
    def events(self) -> list[dict[str, Any]]:
        return [msgspec.json.decode(line) for line in self.lines]

    @property
    def told(self) -> list[str]:
        return [f"{e['type']} {e['object']['metadata'].get('name', '')}".strip() for e in self.events]


@pytest.fixture
def server() -> ApiServer:
    return plain_server()


def write(server: ApiServer, name: str, data: str = "", labels: dict[str, str] | None = None) -> None:
    obj = {"metadata": {"name": name, "labels": labels or {}}, "data": {"k": data}}
    found = server.client.find("configmaps", name, namespace="default")
    if found is None:
        server.client.create("configmaps", obj, namespace="default")
    else:
        server.client.update("configmaps", {**found, **obj, "metadata": {**found["metadata"], "labels": labels or {}}})


def version(server: ApiServer) -> str:
    return str(ask(server, "GET", CM).json()["metadata"]["resourceVersion"])


def test_without_a_version_it_begins_with_what_there_is(server: ApiServer) -> None:
    write(server, "a")
    watched = Watched(server, "")
    write(server, "b")
    assert watched.told == ["ADDED a", "ADDED b"]


def test_from_a_version_it_reports_what_came_later(server: ApiServer) -> None:
    write(server, "a")
    then = version(server)
    write(server, "a", "1")
    server.client.delete("configmaps", "a", namespace="default")
    watched = Watched(server, f"resourceVersion={then}")
    write(server, "c")
    assert watched.told == ["MODIFIED a", "DELETED a", "ADDED c"]


def test_a_write_that_changes_nothing_is_no_event(server: ApiServer) -> None:
    write(server, "a", "1")
    watched = Watched(server, f"resourceVersion={version(server)}")
    write(server, "a", "1")
    assert watched.told == []


def test_the_version_of_a_deletion_is_that_of_the_deletion(server: ApiServer) -> None:
    write(server, "a")
    watched = Watched(server, f"resourceVersion={version(server)}")
    server.client.delete("configmaps", "a", namespace="default")
    assert watched.events[0]["object"]["metadata"]["resourceVersion"] == str(server.store.version)


def test_objects_enter_and_leave_a_selection(server: ApiServer) -> None:
    write(server, "a", "1", {"on": "y"})
    watched = Watched(server, f"labelSelector=on%3Dy&resourceVersion={version(server)}")
    write(server, "b", "1", {"on": "n"})
    write(server, "b", "1", {"on": "y"})
    write(server, "a", "1", {"on": "n"})
    assert watched.told == ["ADDED b", "DELETED a"]
    gone = watched.events[1]["object"]["metadata"]
    assert gone["labels"] == {"on": "y"}, "what is shown is the last state that was selected"
    assert gone["resourceVersion"] == str(server.store.version)


def test_initial_events_end_with_a_bookmark(server: ApiServer) -> None:
    write(server, "a")
    watched = Watched(server, "sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true")
    assert watched.told == ["ADDED a", "BOOKMARK"]
    assert watched.events[1]["object"]["metadata"]["annotations"] == {"k8s.io/initial-events-end": "true"}


def test_bookmarks_come_every_minute_and_before_the_end(server: ApiServer) -> None:
    watched = Watched(server, f"allowWatchBookmarks=true&timeoutSeconds=100&resourceVersion={version(server)}")
    advance(server, 99)
    assert watched.told == ["BOOKMARK", "BOOKMARK"]
    assert not watched.finished
    advance(server, 1)
    assert watched.finished


def test_an_old_version_is_expired_in_the_stream(server: ApiServer) -> None:
    write(server, "a")
    then = version(server)
    write(server, "a", "1")
    server.store.forget("configmaps")
    watched = Watched(server, f"resourceVersion={then}")
    assert watched.finished
    assert [e["type"] for e in watched.events] == ["ERROR"]
    assert watched.events[0]["object"]["code"] == 410


def test_only_the_first_table_of_a_watch_names_its_columns(server: ApiServer) -> None:
    write(server, "a")
    write(server, "b")
    watched = Watched(server, "", accept="application/json;as=Table;v=v1;g=meta.k8s.io")
    first, second = (event["object"] for event in watched.events)
    assert first["columnDefinitions"]
    assert second["columnDefinitions"] is None
    assert second["rows"][0]["object"]["kind"] == "PartialObjectMetadata"


def test_a_stopped_watch_hears_nothing_more(server: ApiServer) -> None:
    watched = Watched(server, "")
    watched.stream.stop()
    write(server, "a")
    assert watched.told == []
    assert server.watches.open == set()


def test_watches_can_be_ended_and_expired_on_demand(server: ApiServer) -> None:
    ended, expired = Watched(server, ""), Watched(server, "")
    assert server.watches.end("pods") == 0
    ended.stream.stop()
    assert server.watches.expire("configmaps") == 1
    assert [e["object"]["code"] for e in expired.events] == [410]
    assert expired.finished
