"""Kinds of volumes, nodes, quotas, classes and policies: what a real server refuses, in its words."""

from __future__ import annotations

from typing import Any

import pytest

from kymatui.sandbox.schemas.kinds.builtin_defaults import default_builtin
from kymatui.sandbox.schemas.kinds.builtin_validation import validate_create, validate_update
from kymatui.schemas.objects.typed_decoding import decode
from kymatui.schemas.types.builtin_schemas import builtin_schema

Obj = dict[str, Any]
POD = {"containers": [{"name": "c", "image": "i"}]}
PLACES = {
    "ControllerRevision": "apps",
    "CSIDriver": "storage.k8s.io",
    "CSINode": "storage.k8s.io",
    "EndpointSlice": "discovery.k8s.io",
    "IngressClass": "networking.k8s.io",
    "RuntimeClass": "node.k8s.io",
    "ValidatingAdmissionPolicy": "admissionregistration.k8s.io",
    "ValidatingAdmissionPolicyBinding": "admissionregistration.k8s.io",
    "VolumeAttachment": "storage.k8s.io",
}


def made(kind: str, **fields: Any) -> Obj:
    gvk = (PLACES.get(kind, ""), "v1", kind)
    decoded, _ = decode(builtin_schema(gvk), {"kind": kind, "metadata": {"name": "n"}, **fields})
    default_builtin(gvk, decoded)
    return decoded


def told(kind: str, **fields: Any) -> list[str]:
    found = validate_create(PLACES.get(kind, ""), kind, made(kind, **fields), namespaced=False)
    return [str(error) for error in found]


VOLUME = {"capacity": {"storage": "1Gi"}, "accessModes": ["ReadWriteOnce"], "hostPath": {"path": "/a"}}
SLICE = {"addressType": "IPv4", "endpoints": [{"addresses": ["10.0.0.1"]}]}
GOOD = [
    ("ResourceQuota", {"spec": {"hard": {"pods": "2", "count/configmaps": "3", "requests.cpu": "1"}}}),
    ("LimitRange", {"spec": {"limits": [{"type": "Container", "min": {"cpu": "1"}, "max": {"cpu": "2"}}]}}),
    ("PersistentVolume", {"spec": VOLUME}),
    ("Node", {"spec": {"podCIDR": "10.1.0.0/24", "taints": [{"key": "a", "effect": "NoSchedule"}]}}),
    ("EndpointSlice", SLICE),
    ("IngressClass", {"spec": {"controller": "a.example/b"}}),
    ("RuntimeClass", {"handler": "runc", "overhead": {"podFixed": {"cpu": "250m"}}}),
    ("CSIDriver", {"spec": {}}),
    ("CSINode", {"spec": {"drivers": [{"name": "d", "nodeID": "n"}]}}),
    ("VolumeAttachment", {"spec": {"attacher": "a", "nodeName": "n", "source": {"persistentVolumeName": "p"}}}),
    ("ControllerRevision", {"revision": 1, "data": {"a": 1}}),
    ("ReplicationController", {"spec": {"template": {"metadata": {"labels": {"a": "b"}}, "spec": POD}}}),
    ("PodTemplate", {"template": {"spec": POD}}),
    (
        "ValidatingAdmissionPolicy",
        {"spec": {"matchConstraints": {"resourceRules": []}, "validations": [{"expression": "true"}]}},
    ),
    ("ValidatingAdmissionPolicyBinding", {"spec": {"policyName": "p", "validationActions": ["Deny"]}}),
]
BAD: list[tuple[str, Obj, list[str]]] = [
    (
        "ResourceQuota",
        {"spec": {"hard": {"nothing": "1"}}},
        [
            'spec.hard[nothing]: Invalid value: "nothing": must be a standard resource type or fully qualified',
            'spec.hard[nothing]: Invalid value: "nothing": must be a standard resource for quota',
        ],
    ),
    (
        "ResourceQuota",
        {"spec": {"hard": {"pods": "-1"}}},
        ['spec.hard[pods]: Invalid value: "-1": must be greater than or equal to 0'],
    ),
    (
        "ResourceQuota",
        {"spec": {"hard": {"pods": "1.5"}}},
        ['spec.hard[pods]: Invalid value: "1500m": must be an integer'],
    ),
    ("ResourceQuota", {"spec": {"scopes": ["Nope"]}}, ['spec.scopes: Invalid value: ["Nope"]: unsupported scope']),
    (
        "LimitRange",
        {"spec": {"limits": [{"type": "Container", "min": {"cpu": "2"}, "max": {"cpu": "1"}}]}},
        [
            'spec.limits[0].min[cpu]: Invalid value: "2": min value 2 is greater than max value 1',
            'spec.limits[0].defaultRequest[cpu]: Invalid value: "1": '
            "min value 2 is greater than default request value 1",
            'spec.limits[0].default[cpu]: Invalid value: "2": min value 2 is greater than default value 1',
        ],
    ),
    (
        "LimitRange",
        {"spec": {"limits": [{"type": "Pod", "default": {"cpu": "1"}}]}},
        ["spec.limits[0].default: Forbidden: may not be specified when `type` is 'Pod'"],
    ),
    (
        "PersistentVolume",
        {"spec": {}},
        [
            "spec.accessModes: Required value",
            "spec.capacity: Required value",
            'spec.capacity: Unsupported value: null: supported values: "storage"',
            "spec: Required value: must specify a volume type",
        ],
    ),
    (
        "PersistentVolume",
        {"spec": {**VOLUME, "hostPath": {"path": "/x/../y"}}},
        ["spec.hostPath.path: Invalid value: \"/x/../y\": must not contain '..'"],
    ),
    (
        "PersistentVolume",
        {"spec": {**VOLUME, "nfs": {"server": "s", "path": "/p"}}},
        ["spec.nfs: Forbidden: may not specify more than 1 volume type"],
    ),
    (
        "Node",
        {"spec": {"podCIDR": "x"}},
        ['spec.podCIDRs[0]: Invalid value: "x": must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)'],
    ),
    (
        "Node",
        {"spec": {"taints": [{"key": "a", "effect": "X"}]}},
        [
            'metadata.taints[0].effect: Unsupported value: "X": supported values: '
            '"NoSchedule", "PreferNoSchedule", "NoExecute"'
        ],
    ),
    ("EndpointSlice", {"endpoints": []}, ["addressType: Required value"]),
    (
        "EndpointSlice",
        {"addressType": "IPv4", "endpoints": [{"addresses": []}]},
        ["endpoints[0].addresses: Required value: must contain at least 1 address"],
    ),
    (
        "IngressClass",
        {"spec": {"controller": "nodomain"}},
        ['spec.controller: Invalid value: "nodomain": must be a domain-prefixed path (such as "acme.io/foo")'],
    ),
    ("RuntimeClass", {}, ["handler: Required value"]),
    (
        "CSIDriver",
        {"spec": {"volumeLifecycleModes": ["X"]}},
        ['spec.volumeLifecycleModes: Unsupported value: "X": supported values: "Persistent", "Ephemeral"'],
    ),
    (
        "CSINode",
        {"spec": {"drivers": [{"name": "", "nodeID": ""}]}},
        ["spec.drivers[0].name: Required value", "spec.drivers[0].nodeID: Required value"],
    ),
    (
        "ControllerRevision",
        {"revision": -1},
        ["revision: Invalid value: -1: must be greater than or equal to 0", "data: Required value: data is mandatory"],
    ),
    ("ReplicationController", {"spec": {}}, ["spec.selector: Required value", "spec.template: Required value"]),
    (
        "ReplicationController",
        {"spec": {"selector": {"a": "x"}, "template": {"metadata": {"labels": {"a": "b"}}, "spec": POD}}},
        ['spec.template.metadata.labels: Invalid value: {"a":"b"}: `selector` does not match template `labels`'],
    ),
    ("PodTemplate", {}, ["template.spec.containers: Required value"]),
    (
        "ValidatingAdmissionPolicyBinding",
        {"spec": {}},
        [
            "spec.policyName: Required value",
            "spec.validationActions: Required value: at least one validation action is required",
        ],
    ),
]


@pytest.mark.parametrize(("kind", "fields"), GOOD, ids=[kind for kind, _ in GOOD])
def test_what_is_taken(kind: str, fields: Obj) -> None:
    assert told(kind, **fields) == []


@pytest.mark.parametrize(("kind", "fields", "errors"), BAD)
def test_what_is_refused(kind: str, fields: Obj, errors: list[str]) -> None:
    assert told(kind, **fields) == errors


@pytest.mark.parametrize(
    ("kind", "before", "after", "field"),
    [
        ("EndpointSlice", SLICE, {**SLICE, "addressType": "IPv6"}, "addressType"),
        ("IngressClass", {"spec": {"controller": "a.x/b"}}, {"spec": {"controller": "a.x/c"}}, "spec.controller"),
        ("RuntimeClass", {"handler": "a"}, {"handler": "b"}, "handler"),
        ("ControllerRevision", {"data": {"a": 1}}, {"data": {"a": 2}}, "data"),
        (
            "PersistentVolume",
            {"spec": VOLUME},
            {"spec": {**VOLUME, "hostPath": {"path": "/b"}}},
            "spec.persistentvolumesource",
        ),
    ],
)
def test_what_may_not_change(kind: str, before: Obj, after: Obj, field: str) -> None:
    found = validate_update(PLACES.get(kind, ""), kind, made(kind, **after), made(kind, **before))
    assert [error.field for error in found] == [field]


def test_a_range_fills_in_what_it_does_not_say() -> None:
    limit = made("LimitRange", spec={"limits": [{"type": "Container", "min": {"cpu": "1"}, "max": {"cpu": "2"}}]})
    assert limit["spec"]["limits"][0]["default"] == {"cpu": "2"}
    assert limit["spec"]["limits"][0]["defaultRequest"] == {"cpu": "2"}


def test_a_replication_controller_selects_its_template() -> None:
    template = {"metadata": {"labels": {"a": "b"}}, "spec": POD}
    found = made("ReplicationController", spec={"template": template})
    assert found["spec"]["selector"] == found["metadata"]["labels"] == {"a": "b"}
