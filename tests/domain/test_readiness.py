"""Readiness of workloads and of other objects, in words, and as lifecycle-manager sees managers."""

from __future__ import annotations

from typing import Any

import pytest

from kymatui.domain.kyma.states import State
from kymatui.domain.modules.readiness import (
    check_readiness,
    is_gate_open,
    klm_deployment_state,
    klm_manager_state,
    klm_stateful_set_state,
)
from tests.domain.builders import NOW, Json, deployment, stamp


def condition(kind: str, status: str, reason: str = "", message: str = "", ago: float = 3600.0) -> Json:
    return {"type": kind, "status": status, "reason": reason, "message": message, "lastTransitionTime": stamp(ago)}


def deploy(*conditions: Json, age: float = 86400.0, wanted: int = 1, generation: int = 1, **status: Any) -> Json:
    found = deployment("mod", "1.0.0", age=age)
    found["spec"]["replicas"] = wanted
    found["metadata"]["generation"] = generation
    found["status"] = {**status, **({"conditions": list(conditions)} if conditions else {})}
    return found


FULL = {"observedGeneration": 1, "replicas": 1, "updatedReplicas": 1, "availableReplicas": 1, "readyReplicas": 1}
DONE = condition("Progressing", "True", "NewReplicaSetAvailable")
AVAILABLE = condition("Available", "True")
UNAVAILABLE = condition("Available", "False", "MinimumReplicasUnavailable")
UNAVAILABLE_NOW = condition("Available", "False", "MinimumReplicasUnavailable", ago=60)


@pytest.mark.parametrize(
    ("raw", "state", "words"),
    [
        pytest.param(deploy(AVAILABLE, DONE, **FULL), "Ready", "1 of 1 pods available", id="rolled out"),
        pytest.param(deploy(age=10), "Processing", "starting: no status yet", id="30 just made"),
        pytest.param(deploy(age=301), "Error", "starting: no status yet", id="30 never answered"),
        pytest.param(
            deploy(AVAILABLE, condition("Progressing", "False", "ProgressDeadlineExceeded", "x has timed out"), **FULL),
            "Error",
            "the rollout is stuck (ProgressDeadlineExceeded: x has timed out)",
            id="30 the deadline is exceeded",
        ),
        pytest.param(
            deploy(condition("ReplicaFailure", "True", "FailedCreate", "quota"), **FULL),
            "Error",
            "pods cannot be created (FailedCreate: quota)",
            id="no pods can be made",
        ),
        pytest.param(
            deploy(AVAILABLE, DONE, generation=2, **FULL),
            "Processing",
            "rollout starting",
            id="a change that nobody has seen",
        ),
        pytest.param(
            deploy(AVAILABLE, DONE, wanted=3, **{**FULL, "replicas": 3}),
            "Processing",
            "1 of 3 pods updated",
            id="rolling out",
        ),
        pytest.param(
            deploy(AVAILABLE, DONE, **{**FULL, "replicas": 2}),
            "Processing",
            "1 old pod still running",
            id="old pods stop",
        ),
        pytest.param(
            deploy(AVAILABLE, DONE, **{**FULL, "replicas": 2, "unavailableReplicas": 1}),
            "Processing",
            "1 new pod not available yet, 1 old pod still running",
            id="a new pod that does not come up",
        ),
        pytest.param(
            deploy(UNAVAILABLE_NOW, DONE, **{**FULL, "availableReplicas": 0}),
            "Processing",
            "0 of 1 pods available (MinimumReplicasUnavailable)",
            id="unavailable for a minute",
        ),
        pytest.param(
            deploy(UNAVAILABLE, DONE, **{**FULL, "availableReplicas": 0}),
            "Error",
            "0 of 1 pods available for 60 minutes (MinimumReplicasUnavailable)",
            id="unavailable for an hour",
        ),
        pytest.param(
            deploy(AVAILABLE, DONE, wanted=0, observedGeneration=1), "Ready", "scaled to zero", id="no replicas"
        ),
    ],
)
def test_deployments(raw: Json, state: str, words: str) -> None:
    found = check_readiness(raw, NOW)
    assert (found.state, found.message) == (state, words)


def sts(wanted: int = 1, age: float = 86400.0, **status: Any) -> Json:
    return {
        "apiVersion": "apps/v1",
        "kind": "StatefulSet",
        "metadata": {"name": "s", "namespace": "n", "creationTimestamp": stamp(age)},
        "spec": {"replicas": wanted},
        "status": status,
    }


def other(api: str, kind: str, spec: Json | None = None, age: float = 86400.0, **status: Any) -> Json:
    metadata = {"name": "x", "creationTimestamp": stamp(age)}
    return {"apiVersion": api, "kind": kind, "metadata": metadata, "spec": spec or {}, "status": status}


CRD = ("apiextensions.k8s.io/v1", "CustomResourceDefinition")


@pytest.mark.parametrize(
    ("raw", "state", "words"),
    [
        pytest.param(sts(readyReplicas=1), "Ready", "1 of 1 pods ready", id="StatefulSet"),
        pytest.param(sts(readyReplicas=0), "Error", "0 of 1 pods ready", id="31 StatefulSet without ready pods"),
        pytest.param(sts(age=10), "Processing", "0 of 1 pods ready", id="StatefulSet just made"),
        pytest.param(sts(wanted=0), "Ready", "scaled to zero", id="31 StatefulSet with no replicas"),
        pytest.param(
            sts(readyReplicas=1, wanted=2, currentRevision="a", updateRevision="b", updatedReplicas=1),
            "Processing",
            "1 of 2 pods updated",
            id="StatefulSet rolling out",
        ),
        pytest.param(
            other("apps/v1", "DaemonSet", desiredNumberScheduled=2, numberReady=2, updatedNumberScheduled=2),
            "Ready",
            "2 of 2 pods ready",
            id="DaemonSet",
        ),
        pytest.param(
            other("apps/v1", "DaemonSet", desiredNumberScheduled=2, numberReady=2, updatedNumberScheduled=1),
            "Processing",
            "1 of 2 pods updated",
            id="DaemonSet rolling out",
        ),
        pytest.param(other(*CRD, conditions=[condition("Established", "True")]), "Ready", "established", id="CRD"),
        pytest.param(other(*CRD), "Error", "not established yet", id="CRD never established"),
        pytest.param(other(*CRD, age=1), "Processing", "not established yet", id="CRD just made"),
        pytest.param(
            other(*CRD, conditions=[condition("NamesAccepted", "False", "PluralConflict")]),
            "Error",
            "name conflict (PluralConflict)",
            id="CRD with names that are taken",
        ),
        pytest.param(
            other(*CRD, conditions=[condition("Terminating", "True", "InstanceDeletionInProgress")]),
            "Deleting",
            "deleting its objects (InstanceDeletionInProgress)",
            id="CRD being deleted",
        ),
        pytest.param(
            other("batch/v1", "Job", conditions=[condition("Complete", "True")]), "Ready", "complete", id="Job complete"
        ),
        pytest.param(
            other("batch/v1", "Job", conditions=[condition("Failed", "True", "BackoffLimitExceeded")]),
            "Error",
            "failed (BackoffLimitExceeded)",
            id="Job failed",
        ),
        pytest.param(
            other("batch/v1", "Job", active=1), "Processing", "0 of 1 completions, 1 running", id="Job running"
        ),
        pytest.param(other("v1", "PersistentVolumeClaim", phase="Bound"), "Ready", "bound", id="claim bound"),
        pytest.param(other("v1", "PersistentVolumeClaim"), "Processing", "waiting for a volume", id="claim pending"),
        pytest.param(other("v1", "PersistentVolumeClaim", phase="Lost"), "Error", "volume lost", id="claim lost"),
        pytest.param(other("v1", "Service"), "Ready", "no load balancer needed", id="Service"),
        pytest.param(
            other("v1", "Service", {"type": "LoadBalancer"}),
            "Processing",
            "waiting for the load balancer's address",
            id="Service without its address",
        ),
        pytest.param(
            other("v1", "Service", {"type": "LoadBalancer"}, loadBalancer={"ingress": [{"ip": "10.0.0.1"}]}),
            "Ready",
            "load balancer has an address",
            id="Service with its address",
        ),
        pytest.param(other("v1", "ConfigMap"), "Ready", "exists", id="something without a status"),
        pytest.param(
            other("x.io/v1", "Thing", conditions=[condition("Ready", "False", "Waiting", "for you")]),
            "Processing",
            "not Ready (Waiting: for you)",
            id="conditions of any kind",
        ),
        pytest.param(
            other("x.io/v1", "Thing", conditions=[condition("Stalled", "True", "Why")]),
            "Error",
            "Stalled (Why)",
            id="a stalled thing",
        ),
        pytest.param(
            other(
                "v1",
                "Pod",
                phase="Running",
                containerStatuses=[{"name": "c", "state": {"waiting": {"reason": "CrashLoopBackOff"}}}],
            ),
            "Error",
            "container c: CrashLoopBackOff",
            id="a pod that crashes",
        ),
    ],
)
def test_other_kinds(raw: Json, state: str, words: str) -> None:
    found = check_readiness(raw, NOW)
    assert (found.state, found.message) == (state, words)


def test_a_deletion_comes_first() -> None:
    raw = deployment("mod", "1.0.0", deletionTimestamp=stamp(1), finalizers=["a/b"])
    assert check_readiness(raw, NOW).message == "being deleted (finalizers: a/b)"


@pytest.mark.parametrize(
    ("available", "progressing", "reason", "state"),
    [
        ("True", "True", "NewReplicaSetAvailable", "Ready"),
        ("True", "True", "ReplicaSetUpdated", "Processing"),
        ("True", "True", "FoundNewReplicaSet", "Processing"),
        ("True", "True", "NewReplicaSetCreated", "Processing"),
        ("True", "True", "SomethingElse", "Error"),
        ("False", "True", "NewReplicaSetAvailable", "Processing"),
        ("False", "True", "SomethingElse", "Error"),
        ("True", "False", "ProgressDeadlineExceeded", "Error"),
        (None, "True", "NewReplicaSetCreated", "Processing"),
        ("True", None, "", "Error"),
        (None, None, "", "Error"),
    ],
)
def test_30_what_lifecycle_manager_says_of_a_deployment(
    available: str | None, progressing: str | None, reason: str, state: str
) -> None:
    conditions = [condition("Available", available)] if available else []
    conditions += [condition("Progressing", progressing, reason)] if progressing else []
    assert klm_deployment_state(deploy(*conditions)) == state


def pod(*containers: Json) -> Json:
    return {"status": {"containerStatuses": list(containers)}}


@pytest.mark.parametrize(
    ("raw", "pods", "state"),
    [
        pytest.param(sts(readyReplicas=1), [], "Ready", id="all ready"),
        pytest.param(sts(wanted=0), [], "Ready", id="31 no replicas, and no count in the status"),
        pytest.param(sts(wanted=0, readyReplicas=0), [], "Ready", id="31 no replicas"),
        pytest.param(sts(), [pod({"started": False, "ready": False})], "Error", id="31 a pod that crashes"),
        pytest.param(sts(), [pod({"ready": False})], "Error", id="a container that does not say"),
        pytest.param(sts(), [pod({"started": True, "ready": False})], "Processing", id="started"),
        pytest.param(sts(), [pod({"started": True, "ready": True})], "Ready", id="the first container is ready"),
        pytest.param(sts(), [pod(), pod({"started": True, "ready": False})], "Processing", id="the first that says"),
        pytest.param(sts(), [], "Error", id="no pods"),
    ],
)
def test_31_what_lifecycle_manager_says_of_a_stateful_set(raw: Json, pods: list[Json], state: str) -> None:
    assert klm_stateful_set_state(raw, pods) == state


def test_32_the_manager_is_the_first_workload_and_without_one_all_is_ready() -> None:
    broken = deploy(age=10)
    assert klm_manager_state([other("v1", "ConfigMap")]) is State.READY
    assert klm_manager_state([other("v1", "ConfigMap"), broken, sts(readyReplicas=1)]) is State.ERROR
    assert klm_manager_state([sts(readyReplicas=1), broken]) is State.READY


@pytest.mark.parametrize(
    ("raw", "is_open"),
    [
        pytest.param(deploy(AVAILABLE), True, id="available"),
        pytest.param(deploy(wanted=2, readyReplicas=2), True, id="all replicas ready"),
        pytest.param(deploy(condition("Available", "False")), False, id="neither"),
        pytest.param(sts(), True, id="no Deployment"),
    ],
)
def test_the_gate_before_the_rules(raw: Json, is_open: bool) -> None:
    assert is_gate_open(raw) is is_open


def test_a_new_daemon_set_with_the_servers_zeros_is_not_ready() -> None:
    """The API server itself writes the counts of a new one; its controller has not looked at it."""
    counts = dict.fromkeys(("currentNumberScheduled", "desiredNumberScheduled", "numberMisscheduled", "numberReady"), 0)
    body = {"apiVersion": "apps/v1", "kind": "DaemonSet", "metadata": {"name": "d", "generation": 1}, "status": counts}
    assert check_readiness(body, 0.0).state is State.PROCESSING
    assert check_readiness({**body, "status": {**counts, "observedGeneration": 1}}, 0.0).ready
