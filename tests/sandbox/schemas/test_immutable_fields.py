"""The table of immutable fields says what the sandbox's API server refuses, as the real one does."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from kymatui.domain.versions.version_risks import IMMUTABLE_FIELDS, STATEFUL_SET_MUTABLE, immutable_changes
from kymatui.sandbox.schemas.kinds.builtin_validation import validate_update
from kymatui.sandbox.schemas.pods.workload_rules import _STATEFUL_FIELDS

Json = dict[str, Any]
LABELS = {"app": "a"}
POD = {
    "metadata": {"labels": LABELS},
    "spec": {
        "containers": [{"name": "a", "image": "a", "imagePullPolicy": "Always", "terminationMessagePolicy": "File"}],
        "restartPolicy": "Never",
        "dnsPolicy": "ClusterFirst",
    },
}
WORKLOAD = {"selector": {"matchLabels": LABELS}, "template": POD, "replicas": 1}
NAMES = {"kind": "Box", "plural": "boxes", "singular": "box", "listKind": "BoxList"}
VERSION = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": {"type": "object"}}}
ROLE = {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "a"}
CASES: list[tuple[str, str, Json, str, object]] = [
    ("apps", "Deployment", {"spec": WORKLOAD}, "spec.selector", {"matchLabels": {"app": "b"}}),
    ("apps", "DaemonSet", {"spec": WORKLOAD}, "spec.selector", {"matchLabels": {"app": "b"}}),
    ("apps", "ReplicaSet", {"spec": WORKLOAD}, "spec.selector", {"matchLabels": {"app": "b"}}),
    ("batch", "Job", {"spec": WORKLOAD}, "spec.selector", {"matchLabels": {"app": "b"}}),
    ("batch", "Job", {"spec": WORKLOAD}, "spec.template", {**POD, "metadata": {}}),
    ("batch", "Job", {"spec": WORKLOAD}, "spec.completionMode", "Indexed"),
    ("", "PersistentVolumeClaim", {"spec": {"accessModes": ["ReadWriteOnce"]}}, "spec.accessModes", ["ReadOnlyMany"]),
    ("", "PersistentVolumeClaim", {"spec": {"accessModes": ["ReadWriteOnce"]}}, "spec.volumeMode", "Block"),
    ("", "Secret", {"type": "Opaque"}, "type", "example.org/other"),
    ("rbac.authorization.k8s.io", "RoleBinding", {"roleRef": ROLE}, "roleRef", {**ROLE, "name": "b"}),
    ("rbac.authorization.k8s.io", "ClusterRoleBinding", {"roleRef": ROLE}, "roleRef", {**ROLE, "name": "b"}),
    ("storage.k8s.io", "StorageClass", {"provisioner": "a.io/a"}, "provisioner", "b.io/b"),
    ("storage.k8s.io", "StorageClass", {"provisioner": "a.io/a"}, "parameters", {"a": "b"}),
    ("storage.k8s.io", "StorageClass", {"provisioner": "a.io/a"}, "reclaimPolicy", "Retain"),
    ("storage.k8s.io", "StorageClass", {"provisioner": "a.io/a"}, "volumeBindingMode", "WaitForFirstConsumer"),
    ("scheduling.k8s.io", "PriorityClass", {"value": 1}, "value", 2),
    ("scheduling.k8s.io", "PriorityClass", {"value": 1}, "preemptionPolicy", "Never"),
    ("networking.k8s.io", "IngressClass", {"spec": {"controller": "a.io/a"}}, "spec.controller", "b.io/b"),
    ("node.k8s.io", "RuntimeClass", {"handler": "a"}, "handler", "b"),
    *(
        (
            "apiextensions.k8s.io",
            "CustomResourceDefinition",
            {"spec": {"group": "a.io", "scope": "Cluster", "names": NAMES, "versions": [VERSION]}},
            path,
            value,
        )
        for path, value in (
            ("spec.group", "b.io"),
            ("spec.scope", "Namespaced"),
            ("spec.names.kind", "Crate"),
            ("spec.names.plural", "crates"),
        )
    ),
]
UNCHECKED = {
    "spec.podFailurePolicy",
    "spec.selector",  # of claims
    "spec.storageClassName",
    "spec.dataSource",
}
"""Fields of the real server for which the sandbox needs more objects or has no rule."""


@pytest.mark.parametrize(("group", "kind", "fields", "path", "value"), CASES)
def test_the_server_refuses_what_the_table_has(group: str, kind: str, fields: Json, path: str, value: object) -> None:
    version = f"{group}/v1" if group else "v1"
    status = {"conditions": [{"type": "Established", "status": "True"}], "storedVersions": ["v1"]}
    metadata = {"name": "boxes.a.io", "resourceVersion": "1"}
    before: Json = {"apiVersion": version, "kind": kind, "metadata": metadata, "status": status, **fields}
    after = copy.deepcopy(before)
    *parents, last = path.split(".")
    place = after
    for step in parents:
        place = place[step]
    place[last] = value
    assert immutable_changes(before, after) == (path,)
    refused = [
        one
        for one in validate_update(group, kind, after, before)
        if one not in validate_update(group, kind, before, before)
    ]
    assert refused, "the server accepts the change"


def test_each_field_of_the_table_is_tried_or_listed() -> None:
    tried = {(group, kind, path) for group, kind, _, path, _ in CASES}
    left = {(*kind, path) for kind, paths in IMMUTABLE_FIELDS.items() for path in paths if (*kind, path) not in tried}
    assert {path for *_, path in left} == UNCHECKED


def test_a_stateful_set_may_change_what_the_server_accepts() -> None:
    assert frozenset(_STATEFUL_FIELDS) == STATEFUL_SET_MUTABLE
