"""The cause of a rollout that is stuck comes before the rollout: what its newest Pod reports."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from kymatui.domain.catalog.catalog import build_catalog
from kymatui.domain.catalog.rows import ModuleRow
from kymatui.domain.kyma.problems import Actor, Severity
from kymatui.domain.modules.readiness import find_pod_failure
from tests.domain.builders import (
    NOW,
    Json,
    deployment,
    gvk,
    kyma,
    manifest,
    meta,
    report,
    resource,
    snapshot,
    stamp,
    template,
)

LABELS = {"app": "mod"}
IMAGE = "reg.io/prod/mod:1.0.0"


def failing() -> Json:
    body = deployment("mod", "1.0.0", ready=False)
    body["spec"]["selector"] = {"matchLabels": LABELS}
    body["status"]["conditions"] = [
        {"type": "Progressing", "status": "False", "reason": "ProgressDeadlineExceeded", "message": "timed out"}
    ]
    return body


def pod(
    name: str = "mod-1", *, waiting: Json | None = None, ended: Json | None = None, age: float = 60.0, **status: Any
) -> Json:
    state = {"waiting": waiting} if waiting else {"terminated": ended} if ended else {"running": {}}
    container = {"name": "manager", "image": IMAGE, "state": state, **status.pop("container", {})}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": "kyma-system", "labels": LABELS, "creationTimestamp": stamp(age)},
        "status": {"phase": "Pending", "containerStatuses": [container], **status},
    }


def event(reason: str, message: str) -> Json:
    about = {"kind": "Pod", "namespace": "kyma-system", "name": "mod-1"}
    return {"kind": "Event", "involvedObject": about, "reason": reason, "message": message, "type": "Warning"}


UNSCHEDULABLE: Json = {
    "conditions": [
        {
            "type": "PodScheduled",
            "status": "False",
            "reason": "Unschedulable",
            "message": "0/3 nodes are available: 3 Insufficient cpu.",
        }
    ],
    "containerStatuses": [],
}
CRASHED = {
    "lastState": {"terminated": {"exitCode": 2, "reason": "Error", "message": "starting\npanic: no webhook CA\n"}}
}
KILLED = {"lastState": {"terminated": {"exitCode": 137, "reason": "OOMKilled"}}}


@pytest.mark.parametrize(
    ("body", "events", "message", "actor"),
    [
        pytest.param(
            pod(
                waiting={
                    "reason": "ImagePullBackOff",
                    "message": f'Back-off pulling image "{IMAGE}": ErrImagePull: {IMAGE}: not found',
                }
            ),
            [],
            f"cannot start: image {IMAGE} is not in the registry",
            Actor.CATALOG,
            id="image",
        ),
        pytest.param(
            pod(waiting={"reason": "ErrImagePull", "message": "401 Unauthorized"}),
            [],
            f"cannot start: the registry refuses to hand out image {IMAGE}",
            Actor.CLUSTER,
            id="pull secret",
        ),
        pytest.param(
            pod(waiting={"reason": "ErrImagePull", "message": "dial tcp: i/o timeout"}),
            [],
            f"cannot start: image {IMAGE} cannot be pulled: dial tcp: i/o timeout",
            Actor.CLUSTER,
            id="registry",
        ),
        pytest.param(
            pod(**UNSCHEDULABLE),
            [],
            "cannot be scheduled: 0/3 nodes are available: 3 Insufficient cpu",
            Actor.CLUSTER,
            id="scheduling",
        ),
        pytest.param(
            pod(waiting={"reason": "CrashLoopBackOff", "message": "back-off 5m0s"}, container=CRASHED),
            [],
            "crashes: container manager ends with exit status 2: panic: no webhook CA",
            Actor.YOU,
            id="crash with its last line",
        ),
        pytest.param(
            pod(waiting={"reason": "CrashLoopBackOff"}, container=KILLED),
            [],
            "crashes: container manager needs more memory than its limit",
            Actor.YOU,
            id="memory",
        ),
        pytest.param(
            pod(ended={"exitCode": 1, "reason": "Error"}),
            [],
            "crashes: container manager ends with exit status 1",
            Actor.YOU,
            id="just ended",
        ),
        pytest.param(
            pod(waiting={"reason": "CreateContainerConfigError", "message": 'secret "sap-btp-manager" not found'}),
            [],
            'cannot start: secret "sap-btp-manager" not found',
            Actor.YOU,
            id="missing Secret",
        ),
        pytest.param(
            pod(waiting={"reason": "ContainerCreating"}),
            [event("FailedMount", 'MountVolume.SetUp failed for volume "tls": secret "tls" not found')],
            'cannot start: MountVolume.SetUp failed for volume "tls": secret "tls" not found',
            Actor.YOU,
            id="volume of a missing Secret",
        ),
        pytest.param(
            pod(waiting={"reason": "ContainerCreating"}),
            [event("FailedAttachVolume", "Multi-Attach error for volume pvc-1")],
            "cannot start: Multi-Attach error for volume pvc-1",
            Actor.CLUSTER,
            id="volume",
        ),
        pytest.param(
            pod(phase="Failed", reason="Evicted", message="The node was low on resource: memory."),
            [],
            "has failed: Evicted: The node was low on resource: memory",
            Actor.CLUSTER,
            id="evicted",
        ),
    ],
)
def test_the_newest_failing_pod_says_why(body: Json, events: list[Json], message: str, actor: Actor) -> None:
    well = pod("mod-0", age=9000.0)
    failure = find_pod_failure(failing(), [well, body], events)
    assert failure is not None
    assert (failure.message, failure.actor, failure.pod.name) == (message, actor, "mod-1")


@pytest.mark.parametrize(
    "body",
    [
        pytest.param(pod(), id="runs"),
        pytest.param(pod(waiting={"reason": "ContainerCreating"}), id="starts"),
        pytest.param(
            pod() | {"metadata": {"name": "x", "namespace": "kyma-system", "labels": {"app": "other"}}}, id="another's"
        ),
        pytest.param(pod() | {"metadata": {"name": "x", "namespace": "other", "labels": LABELS}}, id="elsewhere"),
    ],
)
def test_a_pod_that_does_not_fail_is_no_cause(body: Json) -> None:
    assert (
        find_pod_failure(failing(), [body], [event("FailedMount", "old")] if body["metadata"]["name"] == "x" else [])
        is None
    )


def row(workload: Json, *pods: Json) -> ModuleRow:
    world = snapshot(
        templates=[template("mod", "1.0.0")],
        release_metas=[meta("mod", {"regular": "1.0.0"})],
        kymas=[kyma([{"name": "mod"}], status=[report("mod", "1.0.0", "Error")])],
        manifests=[manifest("mod", "1.0.0", "Error")],
        workloads=[workload],
        module_resources={gvk("mod"): (resource("mod"),)},
        owned=pods,
    )
    found = build_catalog(world, NOW).row("mod")
    assert found is not None
    return found


def test_the_cause_comes_before_its_effect() -> None:
    missing = pod(waiting={"reason": "ImagePullBackOff", "message": f"{IMAGE}: not found"})
    found = row(failing(), missing)
    cause = f"Pod kyma-system/mod-1 cannot start: image {IMAGE} is not in the registry"
    assert found.reason.text.startswith(f"{cause}; Deployment kyma-system/mod-manager: the rollout is stuck")
    assert (found.reason.actor, found.reason.severity) == (Actor.CATALOG, Severity.ERROR)
    assert found.reason.about is not None
    assert found.reason.about.name == "mod-1"
    without = row(failing())
    assert without.reason.text.startswith("Deployment kyma-system/mod-manager: the rollout is stuck")


def test_a_crash_names_the_command_that_reads_its_log() -> None:
    crashing = pod(waiting={"reason": "CrashLoopBackOff"}, container=CRASHED)
    text = row(failing(), crashing).reason.text
    assert "panic: no webhook CA" in text
    assert "`kymatui logs mod -p`" in text


def test_a_rollout_that_cannot_end_is_no_silent_one() -> None:
    """The deadline of a rollout is ten minutes; its Pod says at once why it will be missed."""
    rolling = failing()
    rolling["status"]["conditions"] = [{"type": "Progressing", "status": "True", "reason": "ReplicaSetUpdated"}]
    rolling["status"] |= {"updatedReplicas": 1, "replicas": 2, "unavailableReplicas": 1}
    found = row(rolling, pod(waiting={"reason": "ErrImagePull", "message": "not found"}))
    assert found.reason.text.startswith("Pod kyma-system/mod-1 cannot start: image")
    assert found.reason.severity is not Severity.INFO


def test_pods_that_cannot_be_created_come_before_the_deadline() -> None:
    quota = failing()
    message = 'pods "mod-1" is forbidden: exceeded quota: small'
    quota["status"]["conditions"].append(
        {"type": "ReplicaFailure", "status": "True", "reason": "FailedCreate", "message": message}
    )
    found = row(quota)
    assert "pods cannot be created" in found.reason.text
    assert "exceeded quota" in found.reason.text


def test_a_deletion_that_waits_for_a_manager_names_why_it_does_not_run() -> None:
    leaving = resource("mod", deletionTimestamp=stamp(60), finalizers=["mod/finalizer"])
    world = snapshot(
        templates=[template("mod", "1.0.0")],
        release_metas=[meta("mod", {"regular": "1.0.0"})],
        kymas=[kyma(status=[report("mod", "1.0.0", "Deleting")])],
        workloads=[failing()],
        module_resources={gvk("mod"): (leaving,)},
        owned=[pod(waiting={"reason": "CrashLoopBackOff"}, container=CRASHED)],
    )
    found = build_catalog(world, NOW).row("mod")
    assert found is not None
    assert "blocked by finalizer mod/finalizer" in found.reason.text
    assert "panic: no webhook CA" in found.reason.text


def test_a_row_is_built_again_when_its_pods_change() -> None:
    from kymatui.domain.snapshot.snapshots import ReadCache

    world = snapshot(
        templates=[template("mod", "1.0.0")],
        release_metas=[meta("mod", {"regular": "1.0.0"})],
        kymas=[kyma([{"name": "mod"}], status=[report("mod", "1.0.0", "Error")])],
        workloads=[failing()],
    )
    memory = ReadCache()
    before = build_catalog(world, NOW, cache=memory).row("mod")
    after = build_catalog(replace(world, owned=(pod(waiting={"reason": "ErrImagePull"}),)), NOW, cache=memory).row(
        "mod"
    )
    assert before is not None
    assert after is not None
    assert "Pod" not in before.reason.text
    assert after.reason.text.startswith("Pod kyma-system/mod-1")
