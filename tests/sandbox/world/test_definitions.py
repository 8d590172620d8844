"""The definitions of Kyma accept what the real ones accept."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from kymatui import crds
from kymatui.crds import read_crds
from kymatui.sandbox.apimachinery.statuses import StatusError
from kymatui.sandbox.world.story.world_population import prepare
from tests.sandbox.living import Living, Obj

NAMES = [d["spec"]["names"]["plural"] for d in read_crds()]
STRICTER = ("pattern", "maxLength", "minLength", "minimum", "maximum", "maxItems", "format")


def fields(schema: Obj, path: str = "") -> Iterator[tuple[str, Obj]]:
    """Every field of a schema with its path; items of lists as `[]`."""
    for name, child in (schema.get("properties") or {}).items():
        yield f"{path}.{name}", child
        yield from fields(child, f"{path}.{name}")
    if "items" in schema:
        yield f"{path}[]", schema["items"]
        yield from fields(schema["items"], f"{path}[]")


def at(schema: Obj, path: str) -> Obj | None:
    """The schema of a path; {} below a field that keeps everything."""
    for part in path.replace("[]", ".[]").split(".")[1:]:
        if schema.get("x-kubernetes-preserve-unknown-fields") and part not in (schema.get("properties") or {}):
            return {}
        found = schema.get("items") if part == "[]" else (schema.get("properties") or {}).get(part)
        if found is None:
            return None
        schema = found
    return schema


def own_version(plural: str, version: str) -> Obj:
    [found] = [d for d in read_crds() if d["spec"]["names"]["plural"] == plural]
    return next(v for v in found["spec"]["versions"] if v["name"] == version)


def real(shared: Path, folder: str, plural: str, version: str) -> Obj:
    name = {
        "klm-head": f"operator.kyma-project.io_{plural}.yaml",
        "klm-2024-06": f"operator.kyma-project.io_{plural}.yaml",
        "module-manager-v1alpha1": "jan23-operator.kyma-project.io_manifests.yaml",
    }[folder]
    definition = yaml.safe_load((shared / "kyma/crds" / folder / name).read_text())
    return next(v for v in definition["spec"]["versions"] if v["name"] == version)


CASES = [
    *(("klm-head", plural, "v1beta2") for plural in NAMES),
    *(("klm-2024-06", plural, "v1beta2") for plural in NAMES if plural != "modulereleasemetas"),
    ("module-manager-v1alpha1", "manifests", "v1alpha1"),
]


@pytest.mark.parametrize(("folder", "plural", "version"), CASES)
def test_no_field_is_missing_and_none_is_stricter(shared: Path, folder: str, plural: str, version: str) -> None:
    theirs = real(shared, folder, plural, version)["schema"]["openAPIV3Schema"]
    ours = own_version(plural, version)["schema"]["openAPIV3Schema"]
    for path, field in fields(theirs):
        mine = at(ours, path)
        assert mine is not None, f"{plural}{path} is not there"
        assert mine.get("type") in (None, field.get("type")), path
        assert set(mine.get("required") or []) <= set(field.get("required") or []), path
        if "enum" in mine:
            assert set(field.get("enum") or _enums(field)) <= set(mine["enum"]), path
        for word in STRICTER:
            if word in mine and folder == "klm-head":
                assert mine[word] == field.get(word), f"{path}: {word}"


def _enums(field: Obj) -> set[str]:
    """The values that all of several restrictions leave."""
    sets = [set(part["enum"]) for part in field.get("allOf") or [] if "enum" in part]
    return set.intersection(*sets) if sets else set()


def test_every_file_of_a_crd_is_read() -> None:
    assert {path.stem for path in Path(crds.__file__).parent.glob("*.yaml")} == set(NAMES)


def test_a_caller_changes_its_own_crds_only() -> None:
    crds.read_crds()[0]["spec"].clear()
    assert crds.read_crds()[0]["spec"]["names"]["kind"] == "Kyma"


@pytest.mark.parametrize("plural", NAMES)
def test_subresources_columns_and_list_types_are_the_same(shared: Path, plural: str) -> None:
    theirs, ours = real(shared, "klm-head", plural, "v1beta2"), own_version(plural, "v1beta2")
    assert bool(theirs.get("subresources")) == bool(ours.get("subresources"))
    assert theirs["additionalPrinterColumns"] == [
        {k: c[k] for k in ("jsonPath", "name", "type")} for c in ours["additionalPrinterColumns"]
    ]
    for path, field in fields(theirs["schema"]["openAPIV3Schema"]):
        kind = field.get("x-kubernetes-list-type")
        mine: Any = at(ours["schema"]["openAPIV3Schema"], path)
        assert mine.get("x-kubernetes-list-type") == kind or path.endswith("matchExpressions"), path


@pytest.fixture
def prepared() -> Living:
    living = Living()
    prepare(living.client)
    living.advance(1)
    return living


def release(**spec: Any) -> Obj:
    return {
        "apiVersion": "operator.kyma-project.io/v1beta2",
        "kind": "ModuleReleaseMeta",
        "metadata": {"name": "keda"},
        "spec": {"moduleName": "keda", **spec},
    }


@pytest.mark.parametrize(
    ("spec", "accepted"),
    [
        ({"channels": [{"channel": "regular", "version": "1.0.0"}]}, True),
        ({"mandatory": {"version": "1.0.0-rc.1+build"}}, True),
        ({"channels": [{"channel": "regular", "version": "1.0.0"}], "mandatory": {"version": "1.0.0"}}, False),
        ({}, False),
        ({"channels": [{"channel": "UPPER", "version": "1.0.0"}]}, False),
        ({"channels": [{"channel": "regular", "version": "1.0"}]}, False),
        ({"channels": [{"channel": "fast", "version": "1.0.0"}, {"channel": "fast", "version": "2.0.0"}]}, False),
    ],
)
def test_a_release_meta_has_either_channels_or_a_mandatory_version(prepared: Living, spec: Obj, accepted: bool) -> None:
    resource = "modulereleasemetas.operator.kyma-project.io"
    if accepted:
        prepared.create(resource, release(**spec), "kyma-system")
        return
    with pytest.raises(StatusError) as refused:
        prepared.create(resource, release(**spec), "kyma-system")
    assert refused.value.code == 422


def test_an_old_manifest_keeps_its_installs(prepared: Living) -> None:
    installs = [{"name": "nginx", "source": {"type": "helm-chart", "url": "https://example.com", "chartName": "nginx"}}]
    manifest = {
        "apiVersion": "operator.kyma-project.io/v1alpha1",
        "kind": "Manifest",
        "metadata": {"name": "old"},
        "spec": {"installs": installs, "resource": {"kind": "Sample", "resource": "samples"}},
    }
    resource = "manifests.operator.kyma-project.io"
    prepared.client.create(resource, manifest, namespace="default", version="v1alpha1")
    found = prepared.client.get(resource, "old", namespace="default", version="v1alpha1")
    assert found["spec"]["installs"] == installs
    assert found["spec"]["remote"] is True
