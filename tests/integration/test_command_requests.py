"""What each command asks of a server: how many requests of each verb, and nothing twice."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
import urllib3.connection

from kymatui.adapters.kube.watch import watch
from kymatui.cli.main import main
from kymatui.sandbox.fault_client import FaultClient
from tests.sandboxes.starting import ready_sandbox, told_sandbox

pytestmark = pytest.mark.xdist_group("command_requests")

CONNECTIONS = 7
"""Of a command that lists: six lists are read at a time, and discovery beside them."""


@pytest.fixture(scope="module")
def world() -> Iterator[Path]:
    """The sample world at rest."""
    with told_sandbox() as running:
        yield running.kubeconfig


@pytest.fixture(scope="module")
def control_plane() -> Iterator[Path]:
    with ready_sandbox("kcp", empty=False, settled=True, fleet=13) as running:
        yield running.kubeconfig


def requests_of(kubeconfig: Path, words: str) -> list[dict[str, Any]]:
    """Return the requests of a command whose discovery is cached."""
    log, chosen = FaultClient.for_kubeconfig(kubeconfig), ("--kubeconfig", str(kubeconfig))
    main(["catalog", *chosen])
    log.requests(forget=True)
    assert main([*words.split(), *chosen]) in (0, 2)
    return [one for one in log.requests()["requests"] if one["agent"].startswith("kymatui")]


def asked_twice(requests: Iterable[Mapping[str, Any]]) -> dict[tuple[str, str, str], int]:
    """Return what was asked more than once, by verb, path and query; a review's question is in its body."""
    counts = Counter((one["method"], one["path"], one["query"]) for one in requests if one["method"] != "POST")
    return {asked: count for asked, count in counts.items() if count > 1}


LISTS = 29
"""The kinds of the sample world and what is recorded as installed, each once (Helm releases in Secrets, and by another
HELM_DRIVER in ConfigMaps), the groups that it serves, for a kind that is not served, and the Pods where a manager is
not ready: they say why. With the Lease of lifecycle-manager, which says whether it runs.
"""
READING = {
    "catalog": LISTS,
    "module keda": LISTS,
    "checks keda": LISTS,
    "versions keda": LISTS,
    "drift": LISTS,
    "events keda": LISTS + 4,  # events, Pods and what owns them, in the module's namespace
    "logs keda": LISTS + 4,
    "check keda": LISTS,
    "enable compass-manager --dry-run": LISTS,
    "disable keda --dry-run": LISTS + 8,  # the objects that would block it, what may have its CRDs, and your rights
}
READ_AGAIN = {  # what an uninstallation rests on is read when it is planned, as it is again before the write
    "disable keda --dry-run": {"configmaps", "secrets", "kedas"}
}


@pytest.mark.parametrize("words", READING)
def test_a_command_that_reads_asks_each_thing_once(world: Path, words: str) -> None:
    requests = requests_of(world, words)
    assert {one["method"] for one in requests if "/authorization.k8s.io/" not in one["path"]} == {"GET"}
    twice = asked_twice(requests)
    assert {path.rpartition("/")[2] for _, path, _ in twice} == READ_AGAIN.get(words, set()), twice
    assert [one["path"] for one in requests if "watch=true" in one["query"]] == [], "a watch has its own connection"
    assert len(requests) <= READING[words], [one["path"] for one in requests]


PLANNING = {  # reads; server-side dry runs: one an object, and another where fields conflict or are taken over
    "install cap-operator --dry-run": (36, 9),
    "upgrade docker-registry --dry-run": (45, 19),
    "delete docker-registry --dry-run": (32, 0),
    "check docker-registry": (45, 12),
}


@pytest.mark.parametrize("words", PLANNING)
def test_a_plan_reads_its_inventory_once_and_tries_each_object_once(world: Path, words: str) -> None:
    requests = requests_of(world, words)
    reads, tries = ([one for one in requests if one["method"] == method] for method in ("GET", "PATCH"))
    found, most = (len(reads), len(tries)), PLANNING[words]
    assert (found[0] <= most[0], found[1] <= most[1]) == (True, True), found
    assert all(one["dry_run"] for one in tries)
    reviews = [one for one in requests if one["path"].endswith("selfsubjectrulesreviews")]
    assert len(reviews) <= 2, "one a namespace"
    twice = asked_twice(requests)
    assert [asked for asked in twice if asked[0] == "GET" and not asked[2]] == [], "no object is read twice"
    if words.startswith("install"):
        assert [asked for asked in twice if asked[0] == "PATCH" or "configmaps" in asked[1]] == []


def test_a_chart_is_installed_and_deleted_without_asking_anything_needlessly(world: Path, tmp_path: Path) -> None:
    """A first installation has no earlier revisions to read; an object that the server deleted is not looked for."""
    chart, names = tmp_path / "web", [f"web-{number}" for number in range(6)]
    (chart / "templates").mkdir(parents=True)
    (chart / "Chart.yaml").write_text("apiVersion: v2\nname: web\nversion: 1.0.0\n")
    for name in names:
        text = f"apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: {name}}}\ndata: {{a: b}}\n"
        (chart / "templates" / f"{name}.yaml").write_text(text)
    asked = [
        requests_of(world, f"install web --chart {chart} -n default --no-wait --yes"),
        requests_of(world, "delete web -n default --yes"),
    ]
    paths = [[(one["method"], one["path"].rpartition("/")[2]) for one in requests] for requests in asked]
    installed, deleted = map(Counter, paths)
    releases = [one for one in asked[0] if "owner%3Dhelm" in one["query"] or "owner=helm" in one["query"]]
    asked_of = Counter(one["path"].rpartition("/")[2] for one in releases)
    assert asked_of == {"secrets": 3, "configmaps": 3}, "for the catalog, to plan, and under the Lease"
    for name in names:
        assert {method: installed[method, name] for method in ("GET", "PATCH")} == {"GET": 0, "PATCH": 2}
        assert deleted["DELETE", name] == 1
        assert deleted["GET", name] <= 3, "for the plan, for the backup, and under the Lease"
        assert paths[1].index(("DELETE", name)) > max(at for at, one in enumerate(paths[1]) if one == ("GET", name))


@pytest.mark.parametrize(("words", "most"), [("fleet", 3), ("matrix", 3), ("windows", 6), ("audit --remote", 27)])
def test_a_fleet_costs_a_few_lists_whatever_its_size(control_plane: Path, words: str, most: int) -> None:
    requests = requests_of(control_plane, words)
    others = [(one["method"], one["path"].rpartition("/")[2]) for one in requests if one["method"] != "GET"]
    user = [("POST", "selfsubjectreviews")] if words.startswith("audit") else []
    assert others == user, "the report names the user; nothing else is asked by another method"
    assert asked_twice(requests) == {}
    assert len(requests) - len(user) <= most, [one["path"] for one in requests]


def test_a_catalog_opens_a_few_connections_and_no_request_has_its_own(
    world: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened, connect = [], urllib3.connection.HTTPSConnection.connect

    def counting(self: urllib3.connection.HTTPSConnection) -> None:
        opened.append(self.host)
        connect(self)

    main(["catalog", "--kubeconfig", str(world)])
    monkeypatch.setattr(urllib3.connection.HTTPSConnection, "connect", counting)
    monkeypatch.setattr(watch, "_TURN", 60.0)  # on a busy machine a list would not wait for its turn
    assert main(["catalog", "--kubeconfig", str(world)]) == 0
    assert 1 <= len(opened) <= CONNECTIONS


def test_discovery_comes_from_the_cache(world: Path) -> None:
    """Only the list of groups is read again: a template names a kind that the cluster does not serve."""
    paths = [one["path"] for one in requests_of(world, "catalog")]
    assert [
        path for path in paths if path in ("/api", "/apis", "/api/v1") or (path.count("/") == 3 and "/v1/" not in path)
    ] in ([], ["/apis"])
