"""StatefulSets, DaemonSets, Jobs, budgets, autoscalers, services and claims."""

from __future__ import annotations

from typing import Any

import pytest

from tests.sandbox.living import Living, Obj, reasons, workload

STATEFUL, JOBS, CLAIMS = "statefulsets.apps", "jobs.batch", "persistentvolumeclaims"


def stateful(living: Living, **spec: Any) -> None:
    living.create(STATEFUL, workload("db", **{"replicas": 3, "serviceName": "db", **spec}))


def storage() -> list[Obj]:
    spec = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
    return [{"metadata": {"name": "data"}, "spec": spec}]


def test_a_stateful_set_starts_its_pods_one_after_another(living: Living) -> None:
    stateful(living)
    seen: list[list[str]] = []
    for _ in range(30):
        living.advance(0.1)
        names = living.names("pods")
        if not seen or seen[-1] != names:
            seen.append(names)
    assert [n for n in seen if n] == [["db-0"], ["db-0", "db-1"], ["db-0", "db-1", "db-2"]]
    status = living.status(STATEFUL, "db")
    assert {k: status[k] for k in ("replicas", "readyReplicas", "currentReplicas", "updatedReplicas")} == {
        "replicas": 3,
        "readyReplicas": 3,
        "currentReplicas": 3,
        "updatedReplicas": 3,
    }
    assert status["availableReplicas"] == 3
    assert status["currentRevision"] == status["updateRevision"]


def test_in_parallel_they_start_together(living: Living) -> None:
    stateful(living, podManagementPolicy="Parallel")
    living.advance(0.2)
    assert living.names("pods") == ["db-0", "db-1", "db-2"]


def test_its_pods_know_their_names_and_have_their_own_claims(living: Living) -> None:
    stateful(living, replicas=2, volumeClaimTemplates=storage())
    living.advance(4)
    assert living.names(CLAIMS) == ["data-db-0", "data-db-1"]
    pod = living.get("pods", "db-1")
    assert pod["spec"]["hostname"] == "db-1"
    assert pod["metadata"]["labels"]["statefulset.kubernetes.io/pod-name"] == "db-1"
    assert pod["metadata"]["labels"]["apps.kubernetes.io/pod-index"] == "1"
    assert {"name": "data", "persistentVolumeClaim": {"claimName": "data-db-1"}} in pod["spec"]["volumes"]
    events = living.events("StatefulSet", "db")
    assert ("SuccessfulCreate", "Create Pod db-0 in StatefulSet db successful") in events
    assert ("SuccessfulCreate", "Create Claim data-db-0 Pod db-0 in StatefulSet db success") in events


def test_an_update_goes_from_the_last_pod_to_the_first_and_stops_at_the_partition(living: Living) -> None:
    stateful(living, updateStrategy={"type": "RollingUpdate", "rollingUpdate": {"partition": 1}})
    living.advance(4)
    pod = {"containers": [{"name": "manager", "image": "registry.example/app:2.0.0"}]}
    living.client.patch(STATEFUL, "db", {"spec": {"template": {"spec": pod}}}, namespace="default", type="strategic")
    living.advance(8)
    images = {
        p["metadata"]["name"]: p["spec"]["containers"][0]["image"][-5:]
        for p in living.client.list("pods", namespace="default")
    }
    assert images == {"db-0": "1.0.0", "db-1": "2.0.0", "db-2": "2.0.0"}
    status = living.status(STATEFUL, "db")
    assert status["currentRevision"] != status["updateRevision"]
    assert (status["currentReplicas"], status["updatedReplicas"]) == (1, 2)
    living.client.patch(
        STATEFUL, "db", {"spec": {"updateStrategy": {"rollingUpdate": {"partition": 0}}}}, namespace="default"
    )
    living.advance(5)
    status = living.status(STATEFUL, "db")
    assert status["currentRevision"] == status["updateRevision"]
    assert (status["currentReplicas"], status["updatedReplicas"]) == (3, 3)


def test_scaled_down_the_last_goes_first_and_claims_stay(living: Living) -> None:
    stateful(living, volumeClaimTemplates=storage())
    living.advance(6)
    living.client.patch(STATEFUL, "db", {"spec": {"replicas": 1}}, namespace="default")
    living.advance(4)
    assert living.names("pods") == ["db-0"]
    assert living.names(CLAIMS) == ["data-db-0", "data-db-1", "data-db-2"]


def test_a_broken_pod_holds_the_next_ones_back(living: Living) -> None:
    stateful(living, image="registry.example/broken:1")
    living.advance(5)
    assert living.names("pods") == ["db-0"]
    assert living.status(STATEFUL, "db").get("readyReplicas", 0) == 0


def test_a_daemon_set_has_one_pod_on_the_one_node_and_replaces_it(living: Living) -> None:
    living.create("daemonsets.apps", workload("agent"))
    living.advance(2)
    status = living.status("daemonsets.apps", "agent")
    assert status == {
        "currentNumberScheduled": 1,
        "numberMisscheduled": 0,
        "desiredNumberScheduled": 1,
        "numberReady": 1,
        "updatedNumberScheduled": 1,
        "numberAvailable": 1,
        "observedGeneration": 1,
    }
    [before] = living.names("pods")
    pod = {"containers": [{"name": "manager", "image": "registry.example/app:2.0.0"}]}
    living.client.patch(
        "daemonsets.apps", "agent", {"spec": {"template": {"spec": pod}}}, namespace="default", type="strategic"
    )
    living.advance(3)
    [after] = living.names("pods")
    assert before != after


def test_a_daemon_set_for_other_nodes_has_none(living: Living) -> None:
    living.create("daemonsets.apps", workload("gpu", pod={"nodeSelector": {"gpu": "yes"}}))
    living.advance(2)
    assert living.names("pods") == []
    assert living.status("daemonsets.apps", "gpu")["desiredNumberScheduled"] == 0


# -- jobs


def job(name: str, image: str = "registry.example/job:1", policy: str = "Never", **spec: Any) -> Obj:
    pod = {"restartPolicy": policy, "containers": [{"name": "c", "image": image}]}
    return {"metadata": {"name": name}, "spec": {"template": {"spec": pod}, **spec}}


def test_a_job_runs_to_its_end(living: Living) -> None:
    living.create(JOBS, job("good"))
    living.advance(0.5)
    assert living.status(JOBS, "good")["active"] == 1
    living.advance(3)
    status = living.status(JOBS, "good")
    assert reasons(status) == {
        "SuccessCriteriaMet": ("True", "CompletionsReached"),
        "Complete": ("True", "CompletionsReached"),
    }
    assert (status["succeeded"], status["ready"], status["terminating"]) == (1, 0, 0)
    assert status["completionTime"] >= status["startTime"]
    assert ("Completed", "Job completed") in living.events("Job", "good")
    [pod] = living.client.list("pods", namespace="default")
    assert pod["status"]["phase"] == "Succeeded"


def test_a_job_that_fails_is_tried_again_until_its_limit(living: Living) -> None:
    living.create(JOBS, job("bad", "registry.example/failing:1", backoffLimit=1))
    living.advance(5)
    assert living.status(JOBS, "bad")["failed"] == 1
    living.advance(12)
    status = living.status(JOBS, "bad")
    assert status["failed"] == 2
    assert reasons(status) == {
        "FailureTarget": ("True", "BackoffLimitExceeded"),
        "Failed": ("True", "BackoffLimitExceeded"),
    }
    assert status["conditions"][1]["message"] == "Job has reached the specified backoff limit"


def test_parallel_completions(living: Living) -> None:
    living.create(JOBS, job("many", completions=5, parallelism=2))
    most = 0
    for _ in range(60):
        living.advance(0.1)
        most = max(most, living.status(JOBS, "many").get("active", 0))
    assert most == 2
    assert living.status(JOBS, "many")["succeeded"] == 5


def test_indexed_completions_are_told(living: Living) -> None:
    living.create(JOBS, job("indexed", completions=3, parallelism=3, completionMode="Indexed"))
    living.advance(4)
    assert living.status(JOBS, "indexed")["completedIndexes"] == "0-2"


def test_a_suspended_job_waits(living: Living) -> None:
    living.create(JOBS, job("later", suspend=True))
    living.advance(2)
    assert living.names("pods") == []
    assert reasons(living.status(JOBS, "later"))["Suspended"] == ("True", "JobSuspended")
    living.client.patch(JOBS, "later", {"spec": {"suspend": False}}, namespace="default")
    living.advance(4)
    assert living.status(JOBS, "later")["succeeded"] == 1


def test_a_job_past_its_deadline_fails(living: Living) -> None:
    living.create(JOBS, job("slow", "registry.example/broken:1", activeDeadlineSeconds=4))
    living.advance(8)
    assert reasons(living.status(JOBS, "slow"))["Failed"] == ("True", "DeadlineExceeded")


def test_a_finished_job_goes_after_its_time(living: Living) -> None:
    living.create(JOBS, job("brief", ttlSecondsAfterFinished=5))
    living.advance(3)
    assert living.names(JOBS) == ["brief"]
    living.advance(7)
    assert living.names(JOBS) == []
    living.advance(2)
    assert living.names("pods") == []


# -- what looks at pods


@pytest.mark.parametrize(
    ("spec", "desired", "allowed"),
    [
        ({"minAvailable": 1}, 1, 2),
        ({"minAvailable": "50%"}, 2, 1),
        ({"maxUnavailable": 1}, 2, 1),
        ({"maxUnavailable": "100%"}, 0, 3),
        ({"minAvailable": 3}, 3, 0),
    ],
)
def test_a_budget_says_how_many_may_go(living: Living, spec: Obj, desired: int, allowed: int) -> None:
    living.create("deployments.apps", workload("web", replicas=3))
    budget = {"metadata": {"name": "web"}, "spec": {"selector": {"matchLabels": {"app": "web"}}, **spec}}
    living.create("poddisruptionbudgets.policy", budget)
    living.advance(3)
    status = living.status("poddisruptionbudgets.policy", "web")
    assert (status["expectedPods"], status["currentHealthy"]) == (3, 3)
    assert (status["desiredHealthy"], status["disruptionsAllowed"]) == (desired, allowed)
    expected = ("True", "SufficientPods") if allowed else ("False", "InsufficientPods")
    assert reasons(status)["DisruptionAllowed"] == expected


@pytest.mark.parametrize(("replicas", "expected"), [(1, 2), (3, 3), (9, 4)])
def test_an_autoscaler_keeps_within_its_bounds(living: Living, replicas: int, expected: int) -> None:
    living.create("deployments.apps", workload("web", replicas=replicas))
    target = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"}
    spec = {"minReplicas": 2, "maxReplicas": 4, "scaleTargetRef": target}
    living.create("horizontalpodautoscalers.autoscaling", {"metadata": {"name": "web"}, "spec": spec})
    living.advance(5)
    assert living.get("deployments.apps", "web")["spec"]["replicas"] == expected
    status = living.status("horizontalpodautoscalers.autoscaling", "web")
    assert (status["currentReplicas"], status["desiredReplicas"]) == (expected, expected)
    assert reasons(status)["AbleToScale"] == ("True", "ReadyForNewScale")


def service(**spec: Any) -> Obj:
    return {"metadata": {"name": "web"}, "spec": {"selector": {"app": "web"}, "ports": [{"port": 80}], **spec}}


def test_a_service_finds_its_ready_pods(living: Living) -> None:
    living.create("services", service())
    living.advance(0.2)
    assert living.get("endpoints", "web").get("subsets") is None
    living.create("deployments.apps", workload("web", replicas=2))
    living.advance(3)
    [subset] = living.get("endpoints", "web")["subsets"]
    assert len(subset["addresses"]) == 2
    assert subset["ports"] == [{"port": 80, "protocol": "TCP"}]
    [found] = living.client.list(
        "endpointslices.discovery.k8s.io", namespace="default", labels="kubernetes.io/service-name=web"
    )
    assert [e["conditions"] for e in found["endpoints"]] == [{"ready": True, "serving": True, "terminating": False}] * 2
    living.client.delete("services", "web", namespace="default")
    living.advance(1)
    assert "web" not in living.names("endpoints")


def test_a_pod_that_is_not_ready_is_listed_apart(living: Living) -> None:
    living.create("deployments.apps", workload("web", "registry.example/crashing:1", replicas=1))
    living.create("services", service())
    living.advance(3)
    [subset] = living.get("endpoints", "web")["subsets"]
    assert "addresses" not in subset
    assert len(subset["notReadyAddresses"]) == 1


def test_a_load_balancer_gets_an_address(living: Living) -> None:
    living.create("services", service(type="LoadBalancer"))
    living.advance(0.5)
    [ingress] = living.status("services", "web")["loadBalancer"]["ingress"]
    assert ingress["ip"].startswith("198.51.100.")


def claim(**spec: Any) -> Obj:
    resources = {"requests": {"storage": "2Gi"}}
    return {"metadata": {"name": "data"}, "spec": {"accessModes": ["ReadWriteOnce"], "resources": resources, **spec}}


def test_a_claim_is_bound_by_the_default_class(living: Living) -> None:
    living.create(CLAIMS, claim())
    living.advance(1)
    found = living.get(CLAIMS, "data")
    assert found["status"]["phase"] == "Bound"
    assert found["status"]["capacity"] == {"storage": "2Gi"}
    assert found["spec"]["storageClassName"] == "standard"
    assert found["spec"]["volumeName"] == f"pvc-{found['metadata']['uid']}"


def test_a_claim_of_an_unknown_class_stays_pending_and_says_why(living: Living) -> None:
    living.create(CLAIMS, claim(storageClassName="fast"))
    living.advance(1)
    assert living.status(CLAIMS, "data")["phase"] == "Pending"
    reason, message = living.events("PersistentVolumeClaim", "data")[0]
    assert (reason, message) == ("ProvisioningFailed", 'storageclass.storage.k8s.io "fast" not found')


def test_a_claim_in_use_is_not_deleted_until_its_pod_is_gone(living: Living) -> None:
    living.create(CLAIMS, claim())
    volumes = [{"name": "d", "persistentVolumeClaim": {"claimName": "data"}}]
    spec = {"containers": [{"name": "c", "image": "x"}], "volumes": volumes}
    living.create("pods", {"metadata": {"name": "user"}, "spec": spec})
    living.advance(2)
    living.client.delete(CLAIMS, "data", namespace="default")
    living.advance(2)
    assert living.names(CLAIMS) == ["data"]
    assert len(living.names("persistentvolumes", "")) == 1
    living.client.delete("pods", "user", namespace="default")
    living.advance(3)
    assert living.names(CLAIMS) == []
    assert living.names("persistentvolumes", "") == [], "a volume of the class goes with its claim"
