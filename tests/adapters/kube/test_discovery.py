"""Discovery: what is served, asked rarely, kept on disk, and forgiving."""

from __future__ import annotations

import json
import os
import stat
from pathlib import Path
from typing import Any

import pytest

from kymatui.adapters.kube.api.discovery import (
    LIFETIME,
    Discovery,
    DiscoveryCache,
    ServedResources,
    read_resources,
    read_versions,
)
from kymatui.adapters.kube.objects.api_resource import ApiResource
from kymatui.adapters.kube.transport.transport import Answer
from kymatui.domain.kubernetes.refs import GroupVersionKind
from kymatui.errors import ClusterError, ServerError
from tests.adapters.clusters import Cluster, Collection, Exchange, serving, transport

THING = GroupVersionKind("example.com", "v1", "Thing")


def cluster() -> Cluster:
    return Cluster(
        Collection("example.com", "v2", "Thing", "things"),
        Collection("example.com", "v1", "Thing", "things1"),
        Collection("other.example", "v1", "Other", "others", namespaced=False),
    )


def two_versions() -> Cluster:
    found = Cluster(Collection("example.com", "v2", "Thing", "things"))
    older = Collection("example.com", "v1", "Thing", "things")
    found.collections["older"] = older
    return found


@pytest.mark.parametrize("aggregated", [True, False], ids=["aggregated", "plain"])
def test_kinds_are_found_by_version_or_by_preference(aggregated: bool) -> None:
    server = two_versions()
    server.aggregated = aggregated
    with serving(server.respond) as address:
        discovery = Discovery(transport(address))
        assert discovery.versions("example.com") == ("v2", "v1")
        assert discovery.find(THING) == discovery.find_kind("example.com", "Thing", ("v1",))
        preferred = discovery.find_kind("example.com", "Thing", ("v7",))
        assert preferred is not None
        assert (preferred.version, preferred.name) == ("v2", "things.example.com")
        assert discovery.find(GroupVersionKind("example.com", "v1", "Nothing")) is None


def test_one_request_tells_of_everything() -> None:
    server = cluster()
    with serving(server.respond) as address:
        discovery = Discovery(transport(address))
        for kind in ("Thing", "Other"):
            discovery.find_kind("example.com", kind)
        assert server.requests == ["GET /apis"]


def test_a_kind_that_is_not_there_is_looked_for_again_but_not_all_the_time() -> None:
    now = [0.0]
    server = Cluster()
    with serving(server.respond) as address:
        discovery = Discovery(transport(address), clock=lambda: now[0])
        for _ in range(5):
            assert discovery.find(THING) is None
        assert server.requests == ["GET /apis"]
        server.add(Collection("example.com", "v1", "Thing", "things"))
        now[0] += 11
        assert discovery.find(THING) is not None
        assert len(server.requests) == 2


def test_what_is_counted_by_is_never_what_another_process_kept(tmp_path: Path) -> None:
    """Whoever deletes what seems empty has to know of kinds that came since."""
    server, now = Cluster(), [0.0]
    with serving(server.respond) as address:
        cache = DiscoveryCache("https://a", folder=tmp_path)
        Discovery(transport(address), cache).resources()
        server.add(Collection("example.com", "v2", "Thing", "things"))
        server.add(Collection("example.com", "v1", "Thing", "things1"))
        assert not Discovery(transport(address), cache).resources()
        found = Discovery(transport(address), cache).find_versions("example.com", "Thing")
        assert [one.version for one in found] == ["v2", "v1"]
        later = Discovery(transport(address), cache, clock=lambda: now[0])
        assert len(later.resources(within=10)) == 2
        server.add(Collection("other.example", "v1", "Other", "others"))
        assert len(later.resources(within=10)) == 2
        now[0] += 11
        assert len(later.resources(within=10)) == 3


def test_a_group_whose_server_is_down_hides_no_other() -> None:
    server = cluster()
    server.aggregated = False

    def down(exchange: Exchange) -> bool:
        if exchange.path == "/apis/other.example/v1":
            exchange.status(503, "ServiceUnavailable")
            return True
        return False

    server.before = down
    with serving(server.respond) as address:
        discovery = Discovery(transport(address))
        assert "Thing" in {resource.kind for resource in discovery.resources()}
        assert ("other.example", "v1") in discovery.unread()


def test_it_is_kept_on_disk_for_a_while_for_this_server_and_user_alone(tmp_path: Path) -> None:
    server = cluster()
    now = [0.0]

    def cache(user: str = "ann") -> DiscoveryCache:
        return DiscoveryCache("https://a", user, folder=tmp_path / "cache", clock=lambda: now[0])

    with serving(server.respond) as address:

        def looked(found: DiscoveryCache) -> int:
            assert Discovery(transport(address), found).find_kind("example.com", "Thing") is not None
            return len(server.requests)

        assert looked(cache()) == 1
        (file,) = (tmp_path / "cache").iterdir()
        now[0] = file.stat().st_mtime + 1
        assert looked(cache()) == 1
        assert looked(cache("bob")) == 2
        now[0] += LIFETIME
        assert looked(cache()) == 3
        assert stat.S_IMODE((tmp_path / "cache").stat().st_mode) == 0o700


@pytest.mark.parametrize("content", [b"", b"rubbish", b"[]", b"[0,{},[]]", b'[1,{"a":5},[]]', b"\xff"])
def test_a_broken_cache_is_as_good_as_none(tmp_path: Path, content: bytes) -> None:
    cache = DiscoveryCache("https://a", folder=tmp_path)
    cache.store(False, ServedResources({"g": ("v1",)}, {("g", "v1"): (ApiResource("g", "v1", "K", "ks", True),)}))
    (file,) = tmp_path.iterdir()
    assert cache.load(False) is not None
    file.write_bytes(content)
    os.utime(file)
    assert cache.load(False) is None


def test_a_cache_that_cannot_be_written_stops_nobody(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    DiscoveryCache("https://a", folder=tmp_path / "file" / "below").store(False, ServedResources())


def test_an_answer_that_is_no_discovery_is_an_error() -> None:
    with serving(lambda exchange: exchange.answer(200, b"[]")) as address, pytest.raises(ClusterError):
        Discovery(transport(address)).find(THING)


ODD: list[tuple[str, dict[str, Any], str]] = [
    ("/apis", {}, "kind"),
    ("/apis", {"kind": "APIGroupDiscoveryList", "items": 5}, "items"),
    ("/apis", {"kind": "APIGroupDiscoveryList", "items": [5]}, "items[0]"),
    ("/apis", {"kind": "APIGroupDiscoveryList", "items": [{"metadata": {"name": 5}}]}, "items[0].metadata.name"),
    (
        "/apis",
        {"kind": "APIGroupDiscoveryList", "items": [{"metadata": {}, "versions": [{"version": "v1", "resources": 1}]}]},
        "items[0].versions[0].resources",
    ),
    (
        "/apis",
        {
            "kind": "APIGroupDiscoveryList",
            "items": [
                {
                    "metadata": {},
                    "versions": [{"version": "v1", "resources": [{"resource": "../secrets", "scope": "Cluster"}]}],
                }
            ],
        },
        "items[0].versions[0].resources[0].resource",
    ),
    ("/apis", {"kind": "APIGroupList", "groups": [{"name": "g", "versions": [{}]}]}, "groups[0].versions[0]"),
    ("/api", {"kind": "APIVersions", "versions": [1]}, "versions[0]"),
    ("/api/v1", {"kind": "APIResourceList", "resources": [{"name": "pods", "kind": None}]}, "resources[0].kind"),
]


@pytest.mark.parametrize(("path", "document", "field"), ODD, ids=str)
def test_what_is_malformed_is_an_error_that_names_server_path_and_field(
    path: str, document: dict[str, Any], field: str
) -> None:
    """Kinds that were passed over would be taken for kinds that are not served."""
    answer = Answer(200, json.dumps(document).encode(), {}, f"GET {path}", "https://server")
    plain = path.count("/") == 2
    with pytest.raises(ServerError) as caught:
        read_resources("", "v1", answer) if plain else read_versions(answer, path == "/api", ServedResources())
    assert "https://server" in str(caught.value)
    assert f"GET {path}" in str(caught.value)
    assert field in str(caught.value)


def test_null_lists_of_go_are_empty_and_a_resource_without_a_kind_is_passed_over() -> None:
    served = ServedResources()
    resource = {"resource": "things", "scope": "Cluster", "responseKind": None}
    versions = [{"version": "v1", "resources": [resource]}, {"version": "v2", "resources": None}]
    document = {"kind": "APIGroupDiscoveryList", "items": [{"metadata": {"name": "g"}, "versions": versions}]}
    read_versions(Answer(200, json.dumps(document).encode()), False, served)
    assert served.versions == {"g": ("v1", "v2")}
    assert not any(served.resources.values())


def test_parts_of_plain_resources_belong_to_them() -> None:
    entries = [
        {"name": "things", "kind": "Thing", "namespaced": True},
        {"name": "things/status", "kind": "Thing", "namespaced": True},
    ]
    document = {"kind": "APIResourceList", "resources": entries}
    (found,) = read_resources("g", "v1", Answer(200, json.dumps(document).encode()))
    assert found.path("n", "a b", "status") == "/apis/g/v1/namespaces/n/things/a%20b/status"
    assert found.path() == "/apis/g/v1/things"
