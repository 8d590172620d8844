"""A control plane with 5,000 Kymas, over HTTP: every one has its row, what is counted is right, nothing is asked twice.

How long that takes is measured in `tests/benchmarks`.
"""

from __future__ import annotations

import asyncio
import contextlib
import threading
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from kymatui.domain.fleet.fleet_tracker import FleetSnapshot
from kymatui.domain.fleet.pending_actions import pending_actions
from kymatui.domain.fleet.runtimes import version_matrix
from kymatui.engine.cluster.ports import PatchKind
from kymatui.sandbox.apimachinery.object_store import ObjectStore
from kymatui.sandbox.apiserver.http.http_server import make_serving_certificate
from kymatui.sandbox.apiserver.server.server_semantics import standard_semantics
from kymatui.sandbox.fault_client import FaultClient
from kymatui.sandbox.sandbox_server import SandboxCluster, kubeconfig_text, write_private
from kymatui.sandbox.world.modules.module_announcement import KYMAS, MANIFESTS
from kymatui.sandbox.world.story import sample_fleet, world_population
from kymatui.sessions.cluster.session_options import RemoteOptions, SessionOptions
from kymatui.sessions.control_plane.remote_session import RemoteSession
from kymatui.ui.presenters.fleet.fleet_reports import matrix_rows
from kymatui.ui.presenters.fleet.runtime_rows import FleetRows, RuntimeFilter, group_rows, key_text
from kymatui.ui.viewmodels.row_filter import parse_filter
from kymatui.ui.viewmodels.row_list import Row
from kymatui.ui.viewmodels.sorting import SortOrder, arrange_rows
from tests import kube_writes
from tests.domain.builders import Json
from tests.integration.embedded import eventually, served

pytestmark = pytest.mark.xdist_group("large-fleet")

COUNT = 5000
SHAPES = [
    sample_fleet.runtime(sample_fleet.Draw("fleet"), name, time.time(), "registry", 5)
    for name in sample_fleet.runtimes(50)
]
"""Each is there a hundred times, under other names; every other one with a Manifest, for all five of each of them would
take ten times as long."""
NAME = "operator.kyma-project.io/kyma-name"


def shape_of(number: int) -> Json:
    return SHAPES[number % len(SHAPES)][0]


def fill(store: ObjectStore) -> None:
    """Past the API: its 10,000 requests are nobody's matter here."""
    for number in range(COUNT):
        kyma, manifests = SHAPES[number % len(SHAPES)]
        name = f"r{number:04}"
        store.put(KYMAS, {**kyma, "metadata": {**kyma["metadata"], "name": name, "uid": name}})
        if number % 2:
            continue
        metadata = manifests[0]["metadata"]
        own = {"name": f"{name}-m", "uid": f"{name}-m", "labels": {**metadata["labels"], NAME: name}}
        owners = [{**owner, "name": name, "uid": name} for owner in metadata["ownerReferences"]]
        store.put(MANIFESTS, {**manifests[0], "metadata": {**metadata, **own, "ownerReferences": owners}})


async def serve(kubeconfig: Path, ready: threading.Event, ended: threading.Event) -> None:
    cluster = SandboxCluster("kcp", make_serving_certificate(), standard_semantics)
    await cluster.start()
    world_population.prepare(cluster.server.client, namespaces=(sample_fleet.CONTROL,))
    while not world_population.are_established(cluster.controllers.context.observer):
        await asyncio.sleep(0.01)
    fill(cluster.server.store)
    write_private(kubeconfig, kubeconfig_text([cluster.endpoint]))
    ready.set()
    while not ended.is_set():
        await asyncio.sleep(0.05)
    await cluster.stop()


@pytest.fixture(scope="module")
def kubeconfig(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    found, ready, ended = tmp_path_factory.mktemp("large") / "kubeconfig", threading.Event(), threading.Event()
    server = threading.Thread(target=lambda: asyncio.run(serve(found, ready, ended)), daemon=True)
    server.start()
    assert ready.wait(60)
    yield found
    ended.set()
    server.join(10)


@pytest.fixture(scope="module")
def remote(kubeconfig: Path) -> Iterator[RemoteSession]:
    """The session; what an earlier server of this port served is not in its cache."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(kubeconfig.with_name("cache")))
        with contextlib.closing(RemoteSession(RemoteOptions(SessionOptions(str(kubeconfig))))) as found:
            found.start(lambda: None)
            assert found.wait_complete(120)
            yield found


@pytest.fixture(scope="module")
def picture(remote: RemoteSession) -> FleetSnapshot:
    return remote.picture()


@pytest.fixture(scope="module")
def rows(picture: FleetSnapshot) -> list[Row]:
    return list(FleetRows().of(picture, time.time()).values())


def expected(what: str) -> Counter[str]:
    """How many Kymas have which value of a label."""
    return Counter(shape_of(n)["metadata"]["labels"][f"kyma-project.io/{what}"] for n in range(COUNT))


def test_every_kyma_has_its_row_and_its_manifest(picture: FleetSnapshot, rows: list[Row]) -> None:
    assert [row.key for row in sorted(rows, key=lambda row: row.key)] == [
        key_text((sample_fleet.CONTROL, f"r{number:04}")) for number in range(COUNT)
    ]
    wrong = [
        row.key
        for number, row in enumerate(sorted(rows, key=lambda row: row.key))
        if not row.cells["state"].text.endswith(shape_of(number)["status"]["state"])
        or row.cells["modules"].text != str(len(shape_of(number)["status"]["modules"]))
    ]
    assert wrong == []
    owners = {key: len(sights) for key, sights in picture.manifests.items()}
    assert owners == {(sample_fleet.CONTROL, f"r{number:04}"): 1 for number in range(0, COUNT, 2)}


def test_the_matrix_counts_every_module_of_every_kyma_and_its_cells_lead_to_them(picture: FleetSnapshot) -> None:
    reports = [report for n in range(COUNT) for report in shape_of(n)["status"]["modules"]]
    counted = Counter((report["name"], report["version"]) for report in reports)
    runtimes = list(picture.runtimes.values())
    assert {
        (one.module, version): count for one in version_matrix(runtimes) for version, count in one.counts
    } == counted
    cells = matrix_rows(runtimes).cells
    for (module, version), count in list(counted.items())[:4]:
        (narrow,) = [cell for cell in cells[module] if cell == RuntimeFilter("module", module, version)]
        assert sum(narrow.accepts(one) for one in runtimes) == count


def test_groups_filters_and_orders_hold_for_all(picture: FleetSnapshot, rows: list[Row]) -> None:
    groups = group_rows(picture.runtimes.values(), "plan")
    assert {row.cells["name"].text: int(row.cells["count"].text) for row in groups} == expected("broker-plan-name")
    for text, wanted in (
        ("-l region=westeurope", expected("region")["westeurope"]),
        ("r49", 100),
        ("Error", sum(shape_of(n)["status"]["state"] == "Error" for n in range(COUNT))),
    ):
        assert len(arrange_rows(rows, parse_filter(text), SortOrder("name"))) == wanted > 0, text
    by_state = [row.cells["state"].order for row in arrange_rows(rows, parse_filter(""), SortOrder("state"))]
    assert by_state == sorted(by_state)  # type: ignore[type-var]
    bad = {key for n in range(COUNT) if _waits(shape_of(n)) for key in [(sample_fleet.CONTROL, f"r{n:04}")]}
    assert {wait.runtime for wait in pending_actions(picture)} == bad


def _waits(kyma: Json) -> bool:
    return any(report["state"] not in ("Ready", "Unmanaged") for report in kyma["status"]["modules"])


def test_a_change_is_seen_by_watch_and_nothing_else_is_made_again(remote: RemoteSession, kubeconfig: Path) -> None:
    key = (sample_fleet.CONTROL, "r4321")
    maker = FleetRows()
    before = remote.picture()
    rows_before = maker.of(before, time.time())
    resource = served(remote.home.client, KYMAS)
    body = {"status": {"state": "Error", "activeChannel": "experimental"}}
    kube_writes.patch(remote.home.client, resource, key[1], body, PatchKind.MERGE, key[0], subresource="status")
    eventually(lambda: remote.picture().runtimes[key].channel == "experimental", "the change is seen", timeout=30)
    after = remote.picture()
    rows_after = maker.of(after, time.time())
    assert [one for one in rows_after if rows_after[one] is not rows_before[one]] == [key]
    assert {(one.what, one.after) for one in after.changes if one.runtime == key} >= {("state", "Error")}


def test_nothing_was_asked_twice(remote: RemoteSession, kubeconfig: Path) -> None:
    """By the server's own log: each kind is listed and watched with one request; one object is read by itself.

    That is lifecycle-manager's Lease, which says whether it runs, and is read again after half a minute.
    """
    asked = [
        one["path"]
        for one in FaultClient.for_kubeconfig(kubeconfig, "kcp").requests()["requests"]
        if "kymatui" in one["agent"] and one["method"] == "GET" and one["path"] != "/readyz"
    ]
    kinds = ("kymas", "manifests", "modulereleasemetas")
    wanted = {"/api", "/apis", *(f"/apis/operator.kyma-project.io/v1beta2/{kind}" for kind in kinds)}
    lease = "/apis/coordination.k8s.io/v1/namespaces/kcp-system/leases/893110f7.kyma-project.io"
    assert Counter(path for path in asked if path != lease) == Counter(wanted)
    assert lease in asked
