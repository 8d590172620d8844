"""One pod's life: scheduled, waiting for what it needs, started, crashing, stopped."""

from __future__ import annotations

from typing import Any

import pytest

from kymatui.sandbox.controllers.kubelet.kubelet import attempts, quality_of_service
from tests.sandbox.living import Living, Obj, reasons


def pod(name: str = "p", image: str = "registry.example/app:1", **spec: Any) -> Obj:
    return {"metadata": {"name": name}, "spec": {"containers": [{"name": "c", "image": image}], **spec}}


def state(living: Living, name: str = "p") -> Obj:
    [status] = living.status("pods", name)["containerStatuses"]
    found: Obj = status["state"]
    return found


def test_it_is_scheduled_started_and_ready(living: Living) -> None:
    living.create("pods", pod())
    living.advance(2)
    found = living.get("pods", "p")
    assert found["spec"]["nodeName"] == "sandbox-0"
    status = found["status"]
    assert status["phase"] == "Running"
    assert status["podIP"]
    assert {kind: value for kind, (value, _) in reasons(status).items()} == {
        "PodScheduled": "True",
        "PodReadyToStartContainers": "True",
        "Initialized": "True",
        "Ready": "True",
        "ContainersReady": "True",
    }
    [container] = status["containerStatuses"]
    assert (container["ready"], container["started"], container["restartCount"]) == (True, True, 0)
    assert [reason for reason, _ in living.events("Pod", "p")] == ["Scheduled", "Pulled", "Created", "Started"]
    assert ("Scheduled", "Successfully assigned default/p to sandbox-0") in living.events("Pod", "p")


def test_an_image_that_cannot_be_pulled(living: Living) -> None:
    living.create("pods", pod(image="registry.example/broken:1"))
    living.advance(0.6)
    assert state(living)["waiting"]["reason"] == "ErrImagePull"
    living.advance(3)
    waiting = state(living)["waiting"]
    assert waiting["reason"] == "ImagePullBackOff"
    assert waiting["message"].startswith('Back-off pulling image "registry.example/broken:1"')
    status = living.status("pods", "p")
    assert status["phase"] == "Pending"
    assert reasons(status)["Ready"] == ("False", "ContainersNotReady")
    found = [reason for reason, _ in living.events("Pod", "p")]
    assert found == ["Scheduled", "Pulling", "Failed", "Failed", "BackOff", "Failed"]


def test_a_container_that_crashes_is_restarted_ever_later(living: Living) -> None:
    living.create("pods", pod(image="registry.example/crashing:1"))
    living.advance(2)
    assert state(living)["waiting"]["reason"] == "CrashLoopBackOff"
    living.advance(60)
    [container] = living.status("pods", "p")["containerStatuses"]
    assert container["restartCount"] == 3
    assert container["lastState"]["terminated"]["exitCode"] == 1
    assert living.status("pods", "p")["phase"] == "Running"


def test_a_secret_that_is_not_there_keeps_the_container_waiting_until_it_is(living: Living) -> None:
    reference = {"secretKeyRef": {"name": "credentials", "key": "token"}}
    containers = [{"name": "c", "image": "x", "env": [{"name": "TOKEN", "valueFrom": reference}]}]
    living.create("pods", {"metadata": {"name": "p"}, "spec": {"containers": containers}})
    living.advance(2)
    waiting = state(living)["waiting"]
    assert (waiting["reason"], waiting["message"]) == ("CreateContainerConfigError", 'secret "credentials" not found')
    living.create("secrets", {"metadata": {"name": "credentials"}, "data": {"other": "eA=="}})
    living.advance(1)
    assert "couldn't find key token" in state(living)["waiting"]["message"]
    living.client.patch("secrets", "credentials", {"data": {"token": "eA=="}}, namespace="default")
    living.advance(1)
    assert living.status("pods", "p")["phase"] == "Running"


def test_a_volume_that_cannot_be_mounted_keeps_the_pod_from_starting(living: Living) -> None:
    volumes = [{"name": "settings", "configMap": {"name": "absent"}}]
    living.create("pods", pod(volumes=volumes))
    living.advance(2)
    assert state(living)["waiting"]["reason"] == "ContainerCreating"
    message = 'MountVolume.SetUp failed for volume "settings" : configmap "absent" not found'
    assert ("FailedMount", message) in living.events("Pod", "p")


@pytest.mark.parametrize(
    ("spec", "words"),
    [
        ({"nodeSelector": {"gpu": "yes"}}, "didn't match Pod's node affinity/selector"),
        ({"volumes": [{"name": "v", "persistentVolumeClaim": {"claimName": "none"}}]}, '"none" not found'),
    ],
)
def test_a_pod_that_no_node_takes_says_why(living: Living, spec: Obj, words: str) -> None:
    living.create("pods", pod(**spec))
    living.advance(1)
    status = living.status("pods", "p")
    assert status["phase"] == "Pending"
    assert reasons(status)["PodScheduled"] == ("False", "Unschedulable")
    assert words in status["conditions"][0]["message"]
    assert living.events("Pod", "p")[0][0] == "FailedScheduling"


def test_initial_containers_run_first_and_a_broken_one_holds_the_pod(living: Living) -> None:
    init = [{"name": "setup", "image": "registry.example/setup:1"}]
    living.create("pods", pod("good", initContainers=init))
    living.create("pods", pod("bad", initContainers=[{"name": "setup", "image": "registry.example/broken:1"}]))
    living.advance(2)
    good, bad = living.status("pods", "good"), living.status("pods", "bad")
    assert good["phase"] == "Running"
    assert good["initContainerStatuses"][0]["state"]["terminated"]["exitCode"] == 0
    assert bad["phase"] == "Pending"
    assert reasons(bad)["Initialized"] == ("False", "ContainersNotInitialized")
    assert bad["containerStatuses"][0]["state"]["waiting"]["reason"] == "PodInitializing"


def test_a_pod_that_is_not_restarted_runs_to_its_end(living: Living) -> None:
    living.create("pods", pod("test", restartPolicy="Never"))
    living.create("pods", pod("red", "registry.example/failing:1", restartPolicy="Never"))
    living.advance(3)
    assert living.status("pods", "test")["phase"] == "Succeeded"
    assert reasons(living.status("pods", "test"))["Ready"] == ("False", "PodCompleted")
    assert living.status("pods", "red")["phase"] == "Failed"


def test_a_deleted_pod_gets_a_moment_to_end(living: Living) -> None:
    living.create("pods", pod())
    living.advance(2)
    living.client.delete("pods", "p", namespace="default")
    assert living.get("pods", "p")["metadata"]["deletionTimestamp"]
    living.advance(1)
    assert living.names("pods") == []
    assert ("Killing", "Stopping container c") in living.events("Pod", "p")


def test_a_finalizer_keeps_a_stopped_pod(living: Living) -> None:
    held = pod()
    held["metadata"]["finalizers"] = ["example.com/hold"]
    living.create("pods", held)
    living.advance(2)
    living.client.delete("pods", "p", namespace="default")
    living.advance(3)
    assert living.names("pods") == ["p"]
    living.client.patch("pods", "p", {"metadata": {"finalizers": None}}, namespace="default")
    living.advance(1)
    assert living.names("pods") == []


@pytest.mark.parametrize(("age", "count"), [(0, 1), (9, 1), (10, 2), (29, 2), (30, 3), (70, 4)])
def test_pauses_between_attempts_double(age: float, count: int) -> None:
    assert attempts(age, 10.0)[0] == count


@pytest.mark.parametrize(
    ("resources", "expected"),
    [
        ({}, "BestEffort"),
        ({"requests": {"cpu": "1"}}, "Burstable"),
        ({"limits": {"cpu": "1", "memory": "1Gi"}}, "Guaranteed"),
        ({"limits": {"cpu": "1", "memory": "1Gi"}, "requests": {"cpu": "500m"}}, "Burstable"),
    ],
)
def test_quality_of_service(resources: Obj, expected: str) -> None:
    assert quality_of_service({"containers": [{"resources": resources}]}) == expected


def test_the_node_is_there_and_beats(living: Living) -> None:
    status = living.status("nodes", "sandbox-0", "")
    assert reasons(status)["Ready"] == ("True", "KubeletReady")
    before = status["conditions"][0]["lastHeartbeatTime"]
    living.clock.advance(400)
    assert living.status("nodes", "sandbox-0", "")["conditions"][0]["lastHeartbeatTime"] > before
    assert living.names("leases.coordination.k8s.io", "kube-node-lease") == ["sandbox-0"]
