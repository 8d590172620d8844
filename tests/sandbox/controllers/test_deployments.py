"""Deployments: what a rollout does, step by step, and what it says meanwhile.

Counts, conditions, reasons and annotations were compared with kube-controller-manager v1.36.
"""

from __future__ import annotations

from typing import Any

import pytest

from kymatui.sandbox.controllers.workloads import rollout_math
from tests.sandbox.living import Living, reasons, workload

DEPLOYMENTS, SETS = "deployments.apps", "replicasets.apps"


def deploy(living: Living, name: str = "web", **spec: Any) -> None:
    living.create(DEPLOYMENTS, workload(name, **{"replicas": 2, "progressDeadlineSeconds": 5, **spec}))


def set_image(living: Living, image: str, name: str = "web", **spec: Any) -> None:
    pod = {"containers": [{"name": "manager", "image": image}]}
    patch = {"spec": {"template": {"spec": pod}, **spec}}
    living.client.patch(DEPLOYMENTS, name, patch, namespace="default", type="strategic")


def scale(living: Living, replicas: int) -> None:
    living.client.patch(DEPLOYMENTS, "web", {"spec": {"replicas": replicas}}, namespace="default")


def sizes(living: Living) -> dict[str, int]:
    """Replicas of the ReplicaSets by the tag of their image."""
    return {
        rs["spec"]["template"]["spec"]["containers"][0]["image"].rpartition(":")[2]: rs["spec"]["replicas"]
        for rs in living.client.list(SETS, namespace="default")
    }


def test_a_new_one_becomes_available(living: Living) -> None:
    deploy(living)
    living.advance(3)
    status = living.status(DEPLOYMENTS, "web")
    counts = {k: v for k, v in status.items() if k != "conditions"}
    assert counts == {
        "observedGeneration": 1,
        "replicas": 2,
        "updatedReplicas": 2,
        "readyReplicas": 2,
        "availableReplicas": 2,
        "terminatingReplicas": 0,
    }
    [replica_set] = living.client.list(SETS, namespace="default")
    name = replica_set["metadata"]["name"]
    conditions = {c["type"]: c for c in status["conditions"]}
    assert conditions["Available"]["message"] == "Deployment has minimum availability."
    assert conditions["Progressing"]["message"] == f'ReplicaSet "{name}" has successfully progressed.'
    assert reasons(status) == {
        "Available": ("True", "MinimumReplicasAvailable"),
        "Progressing": ("True", "NewReplicaSetAvailable"),
    }


def test_its_replica_set_carries_hash_revision_and_owner(living: Living) -> None:
    deploy(living)
    living.advance(3)
    [replica_set] = living.client.list(SETS, namespace="default")
    metadata = replica_set["metadata"]
    digest = metadata["labels"]["pod-template-hash"]
    assert metadata["name"] == f"web-{digest}"
    assert replica_set["spec"]["selector"]["matchLabels"] == {"app": "web", "pod-template-hash": digest}
    assert metadata["annotations"] == {
        "deployment.kubernetes.io/desired-replicas": "2",
        "deployment.kubernetes.io/max-replicas": "3",
        "deployment.kubernetes.io/revision": "1",
    }
    assert metadata["ownerReferences"][0]["kind"] == "Deployment"
    for pod in living.client.list("pods", namespace="default"):
        assert pod["metadata"]["labels"]["pod-template-hash"] == digest
        assert pod["metadata"]["name"].startswith(f"web-{digest}-")
    assert living.get(DEPLOYMENTS, "web")["metadata"]["annotations"]["deployment.kubernetes.io/revision"] == "1"


def test_an_update_rolls_over_and_never_falls_below_what_must_be_available(living: Living) -> None:
    deploy(living, replicas=4)
    living.advance(3)
    set_image(living, "registry.example/app:2.0.0")
    fewest, most = 99, 0
    for _ in range(40):
        living.advance(0.1)
        status = living.status(DEPLOYMENTS, "web")
        fewest = min(fewest, status.get("availableReplicas", 0))
        most = max(most, len(living.names("pods")))
    assert fewest >= 3
    assert sizes(living) == {"1.0.0": 0, "2.0.0": 4}
    assert most <= 8
    assert reasons(living.status(DEPLOYMENTS, "web"))["Progressing"] == ("True", "NewReplicaSetAvailable")
    assert living.get(DEPLOYMENTS, "web")["metadata"]["annotations"]["deployment.kubernetes.io/revision"] == "2"


def test_events_say_what_was_scaled(living: Living) -> None:
    deploy(living)
    living.advance(3)
    set_image(living, "registry.example/app:2.0.0")
    living.advance(5)
    names = {
        rs["spec"]["template"]["spec"]["containers"][0]["image"][-5:]: rs["metadata"]["name"]
        for rs in living.client.list(SETS, namespace="default")
    }
    old, new = names["1.0.0"], names["2.0.0"]
    messages = [message for reason, message in living.events("Deployment") if reason == "ScalingReplicaSet"]
    assert sorted(messages) == sorted(
        [
            f"Scaled up replica set {old} from 0 to 2",
            f"Scaled up replica set {new} from 0 to 1",
            f"Scaled down replica set {old} from 2 to 1",
            f"Scaled up replica set {new} from 1 to 2",
            f"Scaled down replica set {old} from 1 to 0",
        ]
    )


def test_an_image_that_cannot_be_pulled_stops_the_rollout_and_leaves_what_ran(living: Living) -> None:
    deploy(living)
    living.advance(3)
    set_image(living, "registry.example/broken:3.0.0")
    living.advance(8)
    status = living.status(DEPLOYMENTS, "web")
    assert {k: status[k] for k in ("replicas", "updatedReplicas", "availableReplicas", "unavailableReplicas")} == {
        "replicas": 3,
        "updatedReplicas": 1,
        "availableReplicas": 2,
        "unavailableReplicas": 1,
    }
    assert reasons(status) == {
        "Available": ("True", "MinimumReplicasAvailable"),
        "Progressing": ("False", "ProgressDeadlineExceeded"),
    }
    [progressing] = [c for c in status["conditions"] if c["type"] == "Progressing"]
    assert progressing["message"].endswith("has timed out progressing.")


def test_one_that_never_ran_is_not_available(living: Living) -> None:
    deploy(living, "never", image="registry.example/broken:1")
    living.advance(7)
    assert reasons(living.status(DEPLOYMENTS, "never")) == {
        "Available": ("False", "MinimumReplicasUnavailable"),
        "Progressing": ("False", "ProgressDeadlineExceeded"),
    }


def test_until_the_deadline_it_is_progressing(living: Living) -> None:
    deploy(living, "never", image="registry.example/broken:1", progressDeadlineSeconds=60)
    living.advance(20)
    found = reasons(living.status(DEPLOYMENTS, "never"))
    assert found["Progressing"] in (("True", "ReplicaSetUpdated"), ("True", "NewReplicaSetCreated"))


def test_going_back_to_an_old_template_uses_its_replica_set_again(living: Living) -> None:
    deploy(living)
    living.advance(3)
    set_image(living, "registry.example/app:2.0.0")
    living.advance(5)
    set_image(living, "registry.example/app:1.0.0")
    living.advance(5)
    assert sizes(living) == {"1.0.0": 2, "2.0.0": 0}
    found = {
        rs["spec"]["replicas"]: rs["metadata"]["annotations"] for rs in living.client.list(SETS, namespace="default")
    }
    assert found[2]["deployment.kubernetes.io/revision"] == "3"
    assert found[2]["deployment.kubernetes.io/revision-history"] == "1"


def test_paused_it_scales_but_does_not_roll(living: Living) -> None:
    deploy(living)
    living.advance(3)
    living.client.patch(DEPLOYMENTS, "web", {"spec": {"paused": True}}, namespace="default")
    living.advance(1)
    assert reasons(living.status(DEPLOYMENTS, "web"))["Progressing"] == ("Unknown", "DeploymentPaused")
    set_image(living, "registry.example/app:2.0.0")
    scale(living, 3)
    living.advance(3)
    assert sizes(living) == {"1.0.0": 3}
    living.client.patch(DEPLOYMENTS, "web", {"spec": {"paused": None}}, namespace="default")
    living.advance(5)
    assert sizes(living) == {"1.0.0": 0, "2.0.0": 3}
    assert reasons(living.status(DEPLOYMENTS, "web"))["Progressing"] == ("True", "NewReplicaSetAvailable")


def test_recreate_stops_everything_first(living: Living) -> None:
    deploy(living, strategy={"type": "Recreate"})
    living.advance(3)
    set_image(living, "registry.example/app:2.0.0")
    together = False
    for _ in range(60):
        living.advance(0.1)
        images = {p["spec"]["containers"][0]["image"] for p in living.client.list("pods", namespace="default")}
        together = together or len(images) > 1
    assert not together
    assert sizes(living) == {"1.0.0": 0, "2.0.0": 2}
    assert living.status(DEPLOYMENTS, "web")["availableReplicas"] == 2


def test_scaled_to_nothing_it_is_still_available(living: Living) -> None:
    deploy(living)
    living.advance(3)
    scale(living, 0)
    living.advance(3)
    assert living.names("pods") == []
    assert reasons(living.status(DEPLOYMENTS, "web"))["Available"] == ("True", "MinimumReplicasAvailable")


def test_old_replica_sets_are_deleted_beyond_the_history_limit(living: Living) -> None:
    deploy(living, revisionHistoryLimit=1)
    for tag in ("2.0.0", "3.0.0", "4.0.0"):
        living.advance(4)
        set_image(living, f"registry.example/app:{tag}")
    living.advance(6)
    assert sizes(living) == {"3.0.0": 0, "4.0.0": 2}


def test_deleting_it_takes_replica_sets_and_pods_along(living: Living) -> None:
    deploy(living)
    living.advance(3)
    living.client.delete(DEPLOYMENTS, "web", namespace="default", propagation="Background")
    living.advance(3)
    assert living.names(SETS) == []
    assert living.names("pods") == []


def test_orphaned_and_made_again_it_adopts_what_is_there(living: Living) -> None:
    deploy(living)
    living.advance(3)
    before = set(living.names("pods"))
    living.client.delete(DEPLOYMENTS, "web", namespace="default", propagation="Orphan")
    living.advance(1)
    assert set(living.names("pods")) == before
    deploy(living)
    living.advance(3)
    assert set(living.names("pods")) == before
    assert living.status(DEPLOYMENTS, "web")["availableReplicas"] == 2


def test_minimum_seconds_make_ready_pods_wait_to_be_available(living: Living) -> None:
    deploy(living, minReadySeconds=10, progressDeadlineSeconds=60)
    living.advance(3)
    status = living.status(DEPLOYMENTS, "web")
    assert (status["readyReplicas"], status.get("availableReplicas", 0)) == (2, 0)
    living.advance(10)
    assert living.status(DEPLOYMENTS, "web")["availableReplicas"] == 2


def test_a_deleted_pod_is_replaced(living: Living) -> None:
    deploy(living)
    living.advance(3)
    victim = living.names("pods")[0]
    living.client.delete("pods", victim, namespace="default")
    living.advance(3)
    assert victim not in living.names("pods")
    assert living.status(DEPLOYMENTS, "web")["availableReplicas"] == 2


@pytest.mark.parametrize(
    ("surge", "unavailable", "replicas", "expected"),
    [
        ("25%", "25%", 2, (1, 0)),
        ("25%", "25%", 4, (1, 1)),
        ("100%", "0%", 3, (3, 0)),
        (0, 0, 5, (0, 1)),
        (2, 9, 3, (2, 3)),
        ("1%", "99%", 10, (1, 9)),
    ],
)
def test_surge_is_rounded_up_and_unavailable_down(
    surge: int | str, unavailable: int | str, replicas: int, expected: tuple[int, int]
) -> None:
    strategy = {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": surge, "maxUnavailable": unavailable}}
    assert rollout_math.bounds({"spec": {"replicas": replicas, "strategy": strategy}}) == expected


def test_nothing_is_written_while_nothing_happens(living: Living) -> None:
    deploy(living)
    living.advance(5)
    before = living.server.store.version
    living.clock.advance(25)
    assert living.server.store.version - before <= 1, "but for the heartbeat of the node"
