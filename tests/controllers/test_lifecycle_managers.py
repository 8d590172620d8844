"""The operator does not work where a lifecycle-manager does: Lease, Deployment, and its mark on a runtime's Kyma."""

from __future__ import annotations

import threading
from datetime import UTC, datetime
from typing import Any

import pytest

from kymatui.crds import read_crds
from kymatui.domain.kubernetes.object_meta import last_writes, read_ref
from kymatui.domain.kyma.kyma_keeper import ELECTION
from kymatui.domain.remote.kyma_sync import ANNOTATION_OWNED_BY
from kymatui.engine.cluster.ports import PatchKind
from kymatui.errors import RefusedError
from kymatui.operator.framework.foreign_manager_guard import KYMA, require_no_lifecycle_manager, require_own_kymas
from tests.controllers.test_permissions import as_operator
from tests.domain.builders import kyma, manifest
from tests.engine.places import Place, eventually

NOW = 1_800_000_000.0
CANCEL = threading.Event()


def lease(place: Place, holder: str, seconds_ago: float) -> dict[str, Any]:
    renewed = datetime.fromtimestamp(NOW - seconds_ago, UTC).strftime("%Y-%m-%dT%H:%M:%S.000000Z")
    spec = {"holderIdentity": holder, "leaseDurationSeconds": 180, "renewTime": renewed}
    metadata = {"name": ELECTION, "namespace": place.namespace}
    return {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": metadata, "spec": spec}


def deployment(place: Place, name: str, replicas: int) -> dict[str, Any]:
    labels = {"app": name}
    pod = {"metadata": {"labels": labels}, "spec": {"containers": [{"name": "manager", "image": "r.example/m:1"}]}}
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": name, "namespace": place.namespace},
        "spec": {"replicas": replicas, "selector": {"matchLabels": labels}, "template": pod},
    }


def check(place: Place) -> None:
    require_no_lifecycle_manager(place.cluster, [place.namespace], NOW, CANCEL)


@pytest.fixture(autouse=True)
def _namespace(place: Place) -> None:
    place.make_namespace()


def test_a_held_lease_refuses_and_names_the_holder(place: Place) -> None:
    place.kubectl(lease(place, "klm-7d9f", 200))
    with pytest.raises(RefusedError, match=f"klm-7d9f holds the Lease {place.namespace}/{ELECTION}"):
        check(place)


@pytest.mark.parametrize(("holder", "seconds_ago"), [("", 1), ("klm-7d9f", 241)])
def test_a_released_or_expired_lease_refuses_nothing(place: Place, holder: str, seconds_ago: float) -> None:
    place.kubectl(lease(place, holder, seconds_ago))
    check(place)


def test_a_deployment_refuses_until_it_has_no_replicas(place: Place) -> None:
    place.kubectl(deployment(place, "another", 1))
    check(place)
    place.kubectl(deployment(place, "klm-controller-manager", 1))
    with pytest.raises(RefusedError, match=r"Deployment .*/klm-controller-manager runs it"):
        check(place)
    place.kubectl(deployment(place, "klm-controller-manager", 0))
    check(place)


@pytest.fixture
def crds(place: Place) -> None:
    """Serve the kinds of lifecycle-manager."""
    for body in read_crds()[:2]:
        place.kubectl(body)
    eventually(lambda: served(place), "Kymas are served")


def write_status(place: Place, manager: str, body: dict[str, Any]) -> float:
    """Create an object of kubectl, and write its status as this field manager; return when that was."""
    operation = {"operation": f"seen by {manager}", "lastUpdateTime": "2026-11-01T00:00:00Z"}
    status = {"state": "Ready", "lastOperation": operation}
    place.kubectl(body)
    live = place.raw.patch(read_ref(body), {"status": status}, PatchKind.MERGE, manager=manager, subresource="status")
    return max(at or 0.0 for name, at in last_writes(live) if name == manager)


def objects(place: Place) -> list[dict[str, Any]]:
    bodies: list[dict[str, Any]] = [kyma(namespace=place.namespace), manifest("mod", "1.0.0")]
    bodies[1]["metadata"]["namespace"] = place.namespace
    bodies[1]["spec"]["install"] = {"name": "mod", "source": {}}
    return [{key: value for key, value in body.items() if key != "status"} for body in bodies]


@pytest.mark.usefixtures("crds")
@pytest.mark.parametrize("number", [0, 1], ids=["a Kyma", "a Manifest without a Kyma"])
def test_a_lifecycle_manager_outside_of_the_cluster_is_known_by_what_it_writes(place: Place, number: int) -> None:
    body = objects(place)[number]
    written = write_status(place, "lifecycle-manager", body)

    def check_at(now: float) -> None:
        require_no_lifecycle_manager(place.cluster, [place.namespace], now, CANCEL)

    words = f"no Deployment here runs it, and lifecycle-manager wrote {body['kind']} {place.namespace}/"
    with pytest.raises(RefusedError, match=words) as refused:
        check_at(written + 500)
    assert "stop it where it runs, and try again 10m after its last write" in refused.value.hint
    check_at(written + 700)
    ended = {**lease(place, "", 0)}
    ended["spec"]["renewTime"] = datetime.fromtimestamp(written, UTC).strftime("%Y-%m-%dT%H:%M:%S.000000Z")
    place.kubectl(ended)
    check_at(written + 1)


@pytest.mark.usefixtures("crds")
def test_writes_of_the_operator_and_of_a_deployment_without_replicas_refuse_nothing(place: Place) -> None:
    written = write_status(place, "kymatui-operator", objects(place)[0])
    require_no_lifecycle_manager(place.cluster, [place.namespace], written, CANCEL)
    write_status(place, "lifecycle-manager", objects(place)[0])
    place.kubectl(deployment(place, "klm-controller-manager", 0))
    require_no_lifecycle_manager(place.cluster, [place.namespace], written, CANCEL)


def test_what_may_not_be_read_refuses_nothing(place: Place) -> None:
    place.kubectl(lease(place, "klm-7d9f", 1))
    allowed = as_operator(place, "watcher")
    try:
        require_no_lifecycle_manager(allowed, ["kube-public"], NOW, CANCEL)
        with pytest.raises(RefusedError):
            require_no_lifecycle_manager(allowed, [place.namespace], NOW, CANCEL)
    finally:
        allowed.client.transport.close()


def test_a_kyma_of_a_control_plane_refuses_a_single_cluster(place: Place) -> None:
    place.kubectl(read_crds()[0])
    eventually(lambda: served(place), "Kymas are served")
    body = {**kyma(namespace=place.namespace)}
    body.pop("status")
    place.kubectl(body)
    require_own_kymas(place.cluster, place.namespace, CANCEL)
    body["metadata"]["annotations"] = {ANNOTATION_OWNED_BY: "kcp-system/runtime-a"}
    place.kubectl(body)
    with pytest.raises(RefusedError, match="is managed by the Kyma kcp-system/runtime-a of a control plane") as refused:
        require_own_kymas(place.cluster, place.namespace, CANCEL)
    assert "without --single-cluster" in refused.value.hint


def served(place: Place) -> bool:
    for cluster in (place.cluster, place.raw):
        cluster.forget_kinds()
    return place.cluster.kind(KYMA) is not None and place.raw.kind(KYMA) is not None
