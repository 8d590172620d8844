"""Built-in kinds: decoding, defaults and rules."""

from __future__ import annotations

from typing import Any

import pytest

from kymatui.sandbox.schemas.kinds.builtin_defaults import default_builtin
from kymatui.sandbox.schemas.kinds.builtin_validation import validate_create, validate_update
from kymatui.schemas.objects.typed_decoding import DecodeError, decode
from kymatui.schemas.types.builtin_schemas import UnknownKindError, builtin_schema
from kymatui.schemas.types.schema_node import GVK
from kymatui.schemas.values.quantity import QuantityError, canonical

Obj = dict[str, Any]
CONFIG: GVK = ("", "v1", "ConfigMap")
DEPLOYMENT: GVK = ("apps", "v1", "Deployment")


def read(gvk: GVK, **fields: Any) -> Obj:
    obj, _ = decode(builtin_schema(gvk), {"kind": gvk[2], "metadata": {"name": "x", "namespace": "n"}, **fields})
    default_builtin(gvk, obj)
    return obj


def problems(gvk: GVK, **fields: Any) -> list[str]:
    return [str(error) for error in validate_create(gvk[0], gvk[2], read(gvk, **fields), namespaced=True)]


def deployment(**spec: Any) -> Obj:
    template = {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
    return {"spec": {"selector": {"matchLabels": {"a": "b"}}, "template": template, **spec}}


def test_an_unknown_kind() -> None:
    with pytest.raises(UnknownKindError):
        builtin_schema(("", "v1", "Nothing"))


@pytest.mark.parametrize(
    ("gvk", "fields", "text"),
    [
        (
            CONFIG,
            {"data": {"n": 5}},
            "json: cannot unmarshal number into Go struct field ConfigMap.data of type string",
        ),
        (
            CONFIG,
            {"data": []},
            "json: cannot unmarshal array into Go struct field ConfigMap.data of type map[string]string",
        ),
        (CONFIG, {"binaryData": {"a": "###"}}, "illegal base64 data at input byte 0"),
        (
            CONFIG,
            {"metadata": {"ownerReferences": [{"name": 1}]}},
            "json: cannot unmarshal number into Go struct field OwnerReference.metadata.ownerReferences.name "
            "of type string",
        ),
        (
            DEPLOYMENT,
            {"spec": {"replicas": 1.5}},
            "json: cannot unmarshal number 1.5 into Go struct field DeploymentSpec.spec.replicas of type int32",
        ),
        (
            CONFIG,
            {"metadata": {"creationTimestamp": "zzz"}},
            'parsing time "zzz" as "2006-01-02T15:04:05Z07:00": cannot parse "zzz" as "2006"',
        ),
    ],
)
def test_wrong_types(gvk: GVK, fields: Obj, text: str) -> None:
    with pytest.raises(DecodeError) as caught:
        decode(builtin_schema(gvk), fields)
    assert str(caught.value) == text


def test_unknown_fields_are_told_with_their_path_and_dropped() -> None:
    given = {"spec": {"template": {"spec": {"containers": [{"name": "c", "bad": 1}], "zz": 1}}}}
    obj, unknown = decode(builtin_schema(DEPLOYMENT), given)
    assert unknown == ['unknown field "spec.template.spec.containers[0].bad"', 'unknown field "spec.template.spec.zz"']
    assert obj["spec"]["template"]["spec"]["containers"] == [{"name": "c", "resources": {}}]


def test_empty_values_go_where_go_leaves_them_out() -> None:
    pod = read(("", "v1", "Pod"), spec={"hostNetwork": False, "containers": [], "nodeName": "", "volumes": []})
    assert not {"hostNetwork", "nodeName", "volumes"} & pod["spec"].keys()
    assert read(DEPLOYMENT, **deployment(replicas=0))["spec"]["replicas"] == 0


def test_a_deployment_gets_its_defaults() -> None:
    spec = read(DEPLOYMENT, **deployment())["spec"]
    assert spec["strategy"] == {"type": "RollingUpdate", "rollingUpdate": {"maxUnavailable": "25%", "maxSurge": "25%"}}
    assert (spec["replicas"], spec["progressDeadlineSeconds"]) == (1, 600)
    assert spec["template"]["spec"]["containers"][0]["imagePullPolicy"] == "Always"


@pytest.mark.parametrize(
    ("given", "shown"),
    [("1000m", "1"), ("1024Mi", "1Gi"), ("0.5", "500m"), (2, "2"), ("1e3", "1e3"), ("1500Mi", "1500Mi"), ("0", "0")],
)
def test_quantities(given: Any, shown: str) -> None:
    assert canonical(given) == shown


@pytest.mark.parametrize("given", ["", "x", "1x", "--1"])
def test_what_is_no_quantity(given: str) -> None:
    with pytest.raises(QuantityError):
        canonical(given)


@pytest.mark.parametrize(
    ("gvk", "fields", "texts"),
    [
        (CONFIG, {"data": {"a": "b"}}, []),
        (CONFIG, {"data": {"..": "x"}}, ["data[..]: Invalid value: \"..\": must not be '..'"]),
        (DEPLOYMENT, deployment(), []),
        (
            DEPLOYMENT,
            deployment(selector={"matchLabels": {"x": "y"}}),
            ['spec.template.metadata.labels: Invalid value: {"a":"b"}: `selector` does not match template `labels`'],
        ),
        (DEPLOYMENT, deployment(replicas=-1), ["spec.replicas: Invalid value: -1: must be greater than or equal to 0"]),
        (("", "v1", "Service"), {"spec": {}}, ["spec.ports: Required value"]),
        (
            ("", "v1", "Secret"),
            {"type": "kubernetes.io/tls"},
            ["data[tls.crt]: Required value", "data[tls.key]: Required value"],
        ),
        (
            ("", "v1", "Pod"),
            {"spec": {"containers": [{}]}},
            ["spec.containers[0].name: Required value", "spec.containers[0].image: Required value"],
        ),
    ],
)
def test_rules(gvk: GVK, fields: Obj, texts: list[str]) -> None:
    assert problems(gvk, **fields) == texts


def test_a_selector_is_immutable() -> None:
    old, new = read(DEPLOYMENT, **deployment()), read(DEPLOYMENT, **deployment())
    new["spec"]["selector"] = {"matchLabels": {"a": "b", "c": "d"}}
    errors = validate_update("apps", "Deployment", new, old)
    assert [error.field for error in errors] == ["spec.template.metadata.labels", "spec.selector"]
    assert errors[1].body.endswith(": field is immutable")


def test_immutable_data_stays() -> None:
    old = read(CONFIG, data={"a": "1"}, immutable=True)
    new = read(CONFIG, data={"a": "2"}, immutable=True)
    assert [str(error) for error in validate_update("", "ConfigMap", new, old)] == [
        "data: Forbidden: field is immutable when `immutable` is set"
    ]
