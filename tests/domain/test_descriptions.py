"""What is said of one object: its references, containers, owners and conditions, problems first, and no secrets."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings

from kymatui.domain.catalog.module_events import Event
from kymatui.domain.kubernetes.refs import GroupVersionKind, ObjectRef
from kymatui.domain.objects.description import Description, find_owners
from kymatui.domain.objects.description_text import container_reports, describe_lines
from kymatui.domain.objects.references import Reference, ReferenceState, ResolvedReference, find_references
from tests.domain import builders as b
from tests.domain.test_any_input import JSON

RBAC = "rbac.authorization.k8s.io/v1"

POD_SPEC: dict[str, Any] = {
    "serviceAccountName": "keda",
    "imagePullSecrets": [{"name": "pull"}],
    "initContainers": [{"name": "setup", "image": "busybox", "envFrom": [{"configMapRef": {"name": "setup"}}]}],
    "containers": [
        {
            "name": "manager",
            "image": "keda:1",
            "env": [
                {"name": "PLAIN", "value": "hunter2"},
                {"name": "TOKEN", "valueFrom": {"secretKeyRef": {"name": "token", "key": "value"}}},
                {"name": "MODE", "valueFrom": {"configMapKeyRef": {"name": "mode", "key": "x", "optional": True}}},
            ],
            "envFrom": [{"secretRef": {"name": "env", "optional": True}}],
        }
    ],
    "volumes": [
        {"name": "certs", "secret": {"secretName": "certs", "items": [{"key": "tls.crt"}, {"key": "tls.key"}]}},
        {"name": "conf", "configMap": {"name": "conf"}},
        {"name": "all", "projected": {"sources": [{"secret": {"name": "one"}}, {"configMap": {"name": "two"}}]}},
        {"name": "disk", "persistentVolumeClaim": {"claimName": "disk"}},
        {"name": "tmp", "emptyDir": {}},
    ],
}

FOUND = [
    "ServiceAccount ns/keda · service account",
    "Secret ns/pull · image pull Secret",
    "ConfigMap ns/setup · container setup: envFrom",
    "Secret ns/env · container manager: envFrom · optional",
    "Secret ns/token · container manager: env TOKEN · value",
    "ConfigMap ns/mode · container manager: env MODE · x · optional",
    "Secret ns/certs · volume certs · tls.crt",
    "Secret ns/certs · volume certs · tls.key",
    "ConfigMap ns/conf · volume conf",
    "Secret ns/one · volume all",
    "ConfigMap ns/two · volume all",
    "PersistentVolumeClaim ns/disk · volume disk",
]


def raw(kind: str, api: str, spec: Any = None, namespace: str = "ns", **more: Any) -> dict[str, Any]:
    metadata = {"name": "one", "namespace": namespace, **more.pop("metadata", {})}
    return {"apiVersion": api, "kind": kind, "metadata": metadata, "spec": spec or {}, **more}


def written(one: Reference) -> str:
    return " · ".join(filter(None, (str(one.ref), one.where, one.key, "optional" if one.optional else "")))


@pytest.mark.parametrize(
    "found",
    [
        raw("Pod", "v1", POD_SPEC),
        raw("Deployment", "apps/v1", {"template": {"spec": POD_SPEC}}),
        raw("StatefulSet", "apps/v1", {"template": {"spec": POD_SPEC}}),
        raw("Job", "batch/v1", {"template": {"spec": POD_SPEC}}),
        raw("CronJob", "batch/v1", {"jobTemplate": {"spec": {"template": {"spec": POD_SPEC}}}}),
    ],
    ids=lambda one: one["kind"],
)
def test_what_pods_need_is_found_wherever_they_are_described(found: dict[str, Any]) -> None:
    assert [written(one) for one in find_references(found)] == FOUND
    assert [one.name for one in container_reports(found)] == ["setup", "manager"]


def test_rules_point_to_roles_accounts_and_services() -> None:
    binding = raw("RoleBinding", RBAC, roleRef={"kind": "Role", "name": "r"})
    binding["subjects"] = [{"kind": "ServiceAccount", "name": "a"}, {"kind": "User", "name": "jane"}]
    assert [written(one) for one in find_references(binding)] == ["Role ns/r · role", "ServiceAccount ns/a · subject"]
    whole = raw("ClusterRoleBinding", RBAC, namespace="", roleRef={"kind": "ClusterRole", "name": "c"})
    assert [written(one) for one in find_references(whole)] == ["ClusterRole c · role"]
    hooks = raw("ValidatingWebhookConfiguration", "admissionregistration.k8s.io/v1", namespace="")
    hooks["webhooks"] = [{"name": "h", "clientConfig": {"service": {"namespace": "ns", "name": "s"}}}]
    assert [written(one) for one in find_references(hooks)] == ["Service ns/s · webhook h"]
    assert find_references(raw("ConfigMap", "v1")) == ()


def test_owners_are_references_and_the_manifest() -> None:
    references = [{"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "rs", "controller": True}]
    annotations = {"operator.kyma-project.io/owned-by": "kcp-system/keda-1"}
    found = find_owners(raw("Pod", "v1", metadata={"ownerReferences": references, "annotations": annotations}))
    assert [(str(one.ref), one.is_controller, one.is_manifest) for one in found] == [
        ("ReplicaSet ns/rs", True, False),
        ("Manifest kcp-system/keda-1", False, True),
    ]


STATUS = {
    "conditions": [
        {"type": "Ready", "status": "False", "reason": "ContainersNotReady", "lastTransitionTime": b.stamp(300)},
        {"type": "PodScheduled", "status": "True"},
        {"type": "DiskPressure", "status": "False"},
    ],
    "initContainerStatuses": [{"name": "setup", "state": {"terminated": {"reason": "Completed", "exitCode": 0}}}],
    "containerStatuses": [
        {
            "name": "manager",
            "restartCount": 7,
            "state": {"waiting": {"reason": "CrashLoopBackOff", "message": "back-off 5m0s"}},
            "lastState": {"terminated": {"reason": "OOMKilled", "exitCode": 137}},
        }
    ],
}


def resolved(name: str, resolution: ReferenceState, **more: Any) -> ResolvedReference:
    ref = ObjectRef(GroupVersionKind("", "v1", "Secret"), "ns", name)
    return ResolvedReference(Reference(ref, "volume certs", **more), resolution)


def test_a_description_starts_with_what_is_wrong() -> None:
    references = (
        resolved("gone", ReferenceState.MISSING),
        resolved("maybe", ReferenceState.MISSING, optional=True),
        resolved("half", ReferenceState.NO_KEY, key="tls.key"),
        resolved("secret", ReferenceState.FORBIDDEN),
        resolved("there", ReferenceState.FOUND),
    )
    pod = raw("Pod", "v1", POD_SPEC, status=STATUS, metadata={"creationTimestamp": b.stamp(7200)})
    event = Event("e", "Pod", "ns", "one", "Warning", "BackOff", "restarting failed container", 14, b.NOW - 60)
    lines = describe_lines(Description(pod, references, [event]), b.NOW)
    assert lines[:6] == [
        "Problems:",
        "  Secret ns/gone does not exist (volume certs)",
        "  Secret ns/half has no key tls.key (volume certs)",
        "  container manager is CrashLoopBackOff: back-off 5m0s",
        "  Ready is False: ContainersNotReady",
        "Name:             one",
    ]
    text = "\n".join(lines)
    assert "  Secret ns/maybe: does not exist (volume certs, optional)" in lines
    assert "  Secret ns/secret: unknown: you may not get it (volume certs)" in lines
    assert "  manager: keda:1\n    CrashLoopBackOff, 7 restarts\n    before: OOMKilled (exit code 137)" in text
    assert "  Ready: False for 5m (ContainersNotReady)" in lines
    assert "   60s Warning BackOff ×14: restarting failed container" in text or "1m Warning BackOff ×14" in text
    assert "Created:          2h ago" in lines


def test_values_of_variables_and_applied_configurations_are_not_printed() -> None:
    annotations = {"kubectl.kubernetes.io/last-applied-configuration": '{"data":{"a":"aHVudGVyMg=="}}', "other": "x"}
    found = Description(raw("Pod", "v1", POD_SPEC, metadata={"annotations": annotations}))
    text = "\n".join(describe_lines(found, b.NOW))
    assert "hunter2" not in text
    assert "aHVudGVyMg" not in text
    assert "other: x" in text


def test_unknown_events_are_never_none() -> None:
    found = Description(raw("ConfigMap", "v1"), events_unknown="forbidden (you may not list events in ns)")
    assert describe_lines(found, b.NOW)[-1] == "Events:           forbidden (you may not list events in ns)"
    assert describe_lines(Description(raw("ConfigMap", "v1")), b.NOW)[-1].startswith("Events:           none")


@settings(max_examples=60, deadline=None)
@given(JSON)
def test_any_object_is_described(value: Any) -> None:
    for kind, api in (("Pod", "v1"), ("Deployment", "apps/v1"), ("RoleBinding", RBAC), ("X", "y/v1")):
        hostile = {"apiVersion": api, "kind": kind, "metadata": value, "spec": value, "status": value}
        found = Description({**hostile, "roleRef": value, "subjects": value, "webhooks": value})
        find_references(found.raw)
        assert all(line.isprintable() for line in describe_lines(found, b.NOW))
