"""CustomResourceDefinitions: what a real server refuses, in its words."""

from __future__ import annotations

from typing import Any

import pytest

from kymatui.sandbox.schemas.kinds.builtin_defaults import default_builtin
from kymatui.sandbox.schemas.kinds.builtin_validation import validate_create, validate_update
from kymatui.schemas.objects.typed_decoding import decode
from kymatui.schemas.types.builtin_schemas import builtin_schema

Obj = dict[str, Any]
GVK = ("apiextensions.k8s.io", "v1", "CustomResourceDefinition")
ROOT = "spec.validation.openAPIV3Schema"
AT = f"{ROOT}.properties[a]"


def definition(*versions: Obj, names: Obj | None = None, **spec: Any) -> Obj:
    given = {"plural": "things", "kind": "Thing", **(names or {})}
    obj = {
        "kind": GVK[2],
        "metadata": {"name": "things.example.com"},
        "spec": {"group": "example.com", "scope": "Namespaced", "names": given, "versions": list(versions), **spec},
    }
    decoded, _ = decode(builtin_schema(GVK), obj)
    default_builtin(GVK, decoded)
    return decoded


def version(schema: Obj | None = None, **more: Any) -> Obj:
    document = {"type": "object"} if schema is None else schema
    return {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": document}, **more}


def field(**schema: Any) -> Obj:
    return version({"type": "object", "properties": {"a": schema}})


def problems(*versions: Obj, names: Obj | None = None, **spec: Any) -> list[str]:
    obj = definition(*versions, names=names, **spec)
    return [str(error) for error in validate_create(GVK[0], GVK[2], obj, namespaced=False)]


def test_a_good_one() -> None:
    assert problems(version()) == []


@pytest.mark.parametrize(
    ("made", "complaint"),
    [
        (version({}), f"{ROOT}.type: Required value: must not be empty at the root"),
        (version({"type": "string"}), f'{ROOT}.type: Invalid value: "string": must be object at the root'),
        (
            version({"type": "object", "nullable": True}),
            f"{ROOT}.nullable: Forbidden: nullable cannot be true at the root",
        ),
        (field(), f"{AT}.type: Required value: must not be empty for specified object fields"),
        (field(type="array"), f"{AT}.items: Required value: must be specified"),
        (
            field(type="array", items={}),
            f"{AT}.items.type: Required value: must not be empty for specified array items",
        ),
        (
            field(type="object", uniqueItems=True),
            f"{AT}.uniqueItems: Forbidden: uniqueItems cannot be set to true since",
        ),
        (field(type="object", id="x"), f"{AT}.id: Forbidden: id is not supported"),
        (
            field(type="string", pattern="("),
            f'{AT}.pattern: Invalid value: "(": must be a valid regular expression, but isn\'t: '
            "error parsing regexp: missing closing ): `(`",
        ),
        (
            field(**{"type": "array", "items": {"type": "string"}, "x-kubernetes-list-type": "map"}),
            f"{AT}.x-kubernetes-list-map-keys: Required value: must not be empty if x-kubernetes-list-type is map",
        ),
        (
            field(**{"type": "object", "x-kubernetes-embedded-resource": True}),
            f"{AT}.properties: Required value: must not be empty if x-kubernetes-embedded-resource is true without "
            "x-kubernetes-preserve-unknown-fields",
        ),
        (
            field(type="integer", default="x"),
            f'{AT}.default: Invalid value: "string":  in body must be of type integer',
        ),
        (
            field(type="object", default={"x": 1}, properties={"y": {"type": "string"}}),
            f'{AT}.default: Invalid value: {{"x":1}}: must not have unknown fields',
        ),
        (
            field(type="object", anyOf=[{"type": "object"}]),
            f"{AT}.anyOf[0].type: Forbidden: must be empty to be structural",
        ),
        (
            field(type="object", anyOf=[{"properties": {"x": {"minLength": 1}}}]),
            f"{AT}.properties[x]: Required value: because it is defined in {AT}.anyOf[0].properties[x]",
        ),
        (
            version({"type": "object", "properties": {"metadata": {"type": "object", "description": "d"}}}),
            f"{ROOT}.properties[metadata]: Forbidden: must not specify anything other than name and generateName",
        ),
        (
            field(**{"type": "string", "x-kubernetes-validations": [{"rule": "self.x"}]}),
            f"{AT}.x-kubernetes-validations[0].rule: Invalid value: "
            '{"Rule":"self.x","Message":"","MessageExpression":"","Reason":null,"FieldPath":"","OptionalOldSelf":null}'
            ": compilation failed: ERROR: <input>:1:5: type 'string' does not support field selection",
        ),
        (
            version(additionalPrinterColumns=[{"name": "x", "type": "no", "jsonPath": ".a"}]),
            'spec.additionalPrinterColumns[0].type: Invalid value: "no": '
            "must be one of boolean,date,integer,number,string",
        ),
        (
            version(subresources={"scale": {"specReplicasPath": ".x", "statusReplicasPath": ".status.x"}}),
            'spec.subresources.scale.specReplicasPath: Invalid value: ".x": should be a json path under .spec',
        ),
        (
            version(deprecationWarning="x"),
            'spec.versions[0].deprecationWarning: Invalid value: "x": can only be set for',
        ),
    ],
)
def test_what_is_wrong_with_a_version(made: Obj, complaint: str) -> None:
    assert [found for found in problems(made) if found.startswith(complaint)], problems(made)


@pytest.mark.parametrize(
    "made",
    [
        field(**{"x-kubernetes-int-or-string": True, "anyOf": [{"type": "integer"}, {"type": "string"}]}),
        field(**{"type": "object", "x-kubernetes-preserve-unknown-fields": True}),
        field(type="object", additionalProperties=True),
        field(type="string", default=None),
        version({"type": "object", "properties": {"metadata": {"type": "object"}}}),
    ],
)
def test_what_is_right(made: Obj) -> None:
    assert problems(made) == []


def test_the_spec_around_the_versions() -> None:
    assert problems(version(), scope="") == ["spec.scope: Required value"]
    assert problems(version(), names={"plural": "others"}) == [
        'metadata.name: Invalid value: "things.example.com": must be spec.names.plural+"."+spec.group'
    ]
    assert problems(version(), preserveUnknownFields=True)[0].startswith("spec.preserveUnknownFields: Invalid value")
    assert problems(version(), conversion={"strategy": "Webhook"}) == [
        "spec.conversion.webhookClientConfig: Required value: required when strategy is set to Webhook",
        "spec.conversion.conversionReviewVersions: Required value",
    ]
    two = problems(version(), version(name="v2"))
    assert two[0].endswith("must have exactly one version marked as storage version")
    assert two[1] == 'status.storedVersions: Invalid value: ["v1"]: must have the storage version v2'


def test_what_may_not_change() -> None:
    old, new = definition(version()), definition(version(), group="other.org", scope="Cluster")
    old["status"] = {"storedVersions": ["v1"], "conditions": [{"type": "Established", "status": "True"}]}
    found = [str(error) for error in validate_update(GVK[0], GVK[2], new, old)]
    assert found == [
        'spec.scope: Invalid value: "Cluster": field is immutable',
        'spec.group: Invalid value: "other.org": field is immutable',
    ]
