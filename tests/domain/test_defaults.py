"""A field that says the same written and left out is no difference, for every field of the CRDs; any other value is."""

from __future__ import annotations

import copy
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import pytest
import yaml

from kymatui.crds import read_crds
from kymatui.domain.kyma.field_defaults import FieldSchema, read_field_schema
from kymatui.domain.kyma.maintenance_windows import ControllerSettings
from kymatui.domain.kyma.module_templates import ModuleTemplate, read_template
from kymatui.domain.remote.differences import LineVerdict
from kymatui.domain.versions.version_diff import compare_versions, spec_changes
from tests.domain.builders import Json
from tests.domain.test_pairs import World, control_template, synced

KINDS: Final = {"ModuleTemplate": "moduletemplates", "ModuleReleaseMeta": "modulereleasemetas", "Kyma": "kymas"}
_ZERO: Final = {"string": "", "boolean": False, "integer": 0, "number": 0.0, "array": [], "object": {}}
_STEERING: Final = frozenset({"moduleName", "version", "mandatory", "kymaSelector", "beta", "internal"})
"""Fields that decide whether there is a copy at all."""
_OTHER: Final = {"string": "other", "boolean": True, "integer": 7, "number": 7.5, "array": ["other"]}


def schema_of(definition: Json) -> Json:
    version = next(one for one in definition["spec"]["versions"] if one["name"] == "v1beta2")
    found: Json = version["schema"]["openAPIV3Schema"]["properties"]["spec"]
    return found


def real_schemas(shared: Path) -> Iterator[tuple[str, Json]]:
    for kind, plural in KINDS.items():
        for path in sorted((shared / "kyma/crds").glob(f"klm-*/operator.kyma-project.io_{plural}.yaml")):
            yield kind, schema_of(yaml.safe_load(path.read_text()))


def own_schemas() -> Iterator[tuple[str, Json]]:
    for definition in read_crds():
        if (kind := definition["spec"]["names"]["kind"]) in KINDS:
            yield kind, schema_of(definition)


def fields(schema: Json, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Json]]:
    """Every field with its path; the items of a list as "[]"."""
    for name, child in (schema.get("properties") or {}).items():
        yield (*path, name), child
        yield from fields(child, (*path, name))
        yield from fields(child.get("items") or {}, (*path, name, "[]"))


def with_field(path: tuple[str, ...], *value: object) -> Any:
    """A spec with the parents of a path, and with its last field where a value is given."""
    [name, *below] = path
    if name == "[]":
        return [with_field(tuple(below), *value)]
    if not below:
        return {name: copy.deepcopy(value[0])} if value else {}
    return {name: with_field(tuple(below), *value)}


def absent(field: Json) -> object:
    """What a field is where it is left out."""
    return field["default"] if "default" in field else _ZERO[field["type"]]


def others(field: Json) -> Iterator[object]:
    """Values that say something else than the absence of the field."""
    if "default" in field and field["type"] == "boolean":
        yield not field["default"]
    elif field["type"] == "object":
        if not field.get("properties"):
            yield {"key": ""}
            yield {"key": "value"}
    else:
        yield _OTHER[field["type"]]


def is_free_form(field: Json) -> bool:
    """A value of the user's, or a pointer: {} is not its absence."""
    keeps = field.get("x-kubernetes-preserve-unknown-fields") or "additionalProperties" in field
    return bool(keeps) or "matchLabels" in (field.get("properties") or {})


def catalog_fields(schemas: Iterator[tuple[str, Json]]) -> Iterator[tuple[str, tuple[str, ...], Json]]:
    for kind, schema in schemas:
        if kind != "Kyma":
            for path, field in fields(schema):
                yield kind, path, field


def check_catalog_fields(schemas: Iterator[tuple[str, Json]]) -> None:
    count = 0
    for kind, path, field in catalog_fields(schemas):
        nothing = with_field(path)
        for value, differs in [(absent(field), is_free_form(field)), *((one, True) for one in others(field))]:
            for pair in ((nothing, with_field(path, value)), (with_field(path, value), nothing)):
                assert bool([*spec_changes(*pair)]) is differs, (kind, path, value)
        assert not [*spec_changes(nothing, with_field(path, None))], (kind, path, None)
        count += 1
    assert count > 30


def every_crd(shared: Path) -> Iterator[tuple[str, str, Json]]:
    """The name of the file, the version and the CRD of everything that Kyma's components define."""
    for path in sorted((shared / "kyma/crds").rglob("*.yaml")):
        for definition in yaml.safe_load_all(path.read_text()):
            if definition and definition.get("kind") == "CustomResourceDefinition":
                for version in definition["spec"]["versions"]:
                    yield path.name, version["name"], definition


def test_the_schema_of_every_crd_tells_the_defaults_of_every_field(shared: Path) -> None:
    counts = Counter[str]()
    for file, version, definition in every_crd(shared):
        schema = read_field_schema(definition, version)
        if schema is None or "spec" not in (schema.root.get("properties") or {}):
            continue
        for path, field in fields(schema.root["properties"]["spec"]):
            if "type" not in field:
                continue
            nothing, where = with_field(path), (file, version, path)
            values = [(absent(field), is_free_form(field)), *((one, True) for one in others(field))]
            if "default" in field and field["default"] and field["type"] in _ZERO:
                values.append((_ZERO[field["type"]], True))  # a written zero value is not the default
                counts["other defaults"] += 1
            for value, differs in values:
                for pair in ((nothing, with_field(path, value)), (with_field(path, value), nothing)):
                    assert bool([*spec_changes(*pair, schema)]) is differs, (*where, value)
            counts[definition["spec"]["names"]["kind"]] += 1
    assert {"Kyma", "Manifest", "ModuleTemplate", "ModuleReleaseMeta", "Watcher"} <= counts.keys()
    assert counts["other defaults"] > 5
    assert counts.total() > 300


def test_a_default_of_the_clusters_own_crd_counts() -> None:
    """A newer CRD may have defaults that this version of kymatui does not know."""
    (definition,) = (one for one in read_crds() if one["spec"]["names"]["kind"] == "ModuleTemplate")
    definition = copy.deepcopy(definition)
    schema_of(definition)["properties"]["requiresDowntime"]["default"] = True
    schema = read_field_schema(definition, "v1beta2")
    world = World()
    world.templates[0]["spec"].pop("requiresDowntime", None)
    copied = next(one for one in world.copies if one["kind"] == "ModuleTemplate")
    copied["spec"]["requiresDowntime"] = True
    assert differing(world, "spec.requiresDowntime")
    world.rules = ControllerSettings(schemas={"ModuleTemplate": schema} if schema is not None else {})
    assert not differing(world, "spec.requiresDowntime")
    copied["spec"]["requiresDowntime"] = False
    assert differing(world, "spec.requiresDowntime")


def differing(world: World, field: str) -> bool:
    return any(line.field == field for line in world.compared().lines if line.verdict is LineVerdict.WRONG)


def test_a_schema_that_is_none_tells_nothing() -> None:
    for spec in ({}, {"versions": None}, {"versions": [{"name": "v1beta2", "schema": None}]}, {"versions": "x"}):
        assert read_field_schema({"spec": spec}, "v1beta2") is None
    odd = FieldSchema({"properties": {"spec": {"properties": [1], "items": 3}}})
    assert odd.field("spec.a") is None
    assert odd.field("spec[0].a") is None
    assert [*spec_changes({}, {"a": ""}, odd)] == []


def test_every_field_of_the_own_crds() -> None:
    check_catalog_fields(own_schemas())


def test_every_field_of_the_real_crds(shared: Path) -> None:
    check_catalog_fields(real_schemas(shared))


def check_compare(schemas: Iterator[tuple[str, Json]]) -> None:
    """`compare_versions` of the two sides: a default or zero value on one of them is the same, another value is not."""
    for kind, path, field in catalog_fields(schemas):
        if len(path) > 1 or (kind == "ModuleReleaseMeta" and path[0] in ("channels", "mandatory")):
            continue
        for value, differs in [(absent(field), is_free_form(field)), *((one, True) for one in others(field))]:
            if differs and path[0] in _STEERING:
                continue
            for side in ("control", "runtime"):
                assert wrong_with(kind, path[0], side, value) is differs, (kind, path, side, value)


def wrong_with(kind: str, field: str, side: str, value: object) -> bool:
    """Whether a field that one side alone has is not intended."""
    world = World()
    original = (world.metas if kind == "ModuleReleaseMeta" else world.templates)[0]
    copied = next(one for one in world.copies if one["kind"] == kind)
    for raw in (original, copied):
        raw["spec"].pop(field, None)
    (original if side == "control" else copied)["spec"][field] = value
    lines = [line for line in world.compared().lines if line.verdict is LineVerdict.WRONG]
    return any(line.field.startswith(f"spec.{field}") for line in lines)


def test_compare_takes_no_default_for_a_difference() -> None:
    check_compare(own_schemas())


def test_compare_takes_no_default_of_the_real_crds_for_a_difference(shared: Path) -> None:
    check_compare(real_schemas(shared))


def check_kymas(schemas: Iterator[tuple[str, Json]]) -> None:
    for path, field in (found for kind, schema in schemas if kind == "Kyma" for found in fields(schema)):
        if path[0] == "channel" or field["type"] == "object" or path[-1] == "name":
            continue
        for side in ("control_kyma", "runtime_kyma"):
            world = World()
            for raw in (world.control_kyma, world.runtime_kyma):
                raw["spec"]["modules"] = [{"name": "keda"}]
            before = {line for line in world.compared().lines if line.differs}
            spec = getattr(world, side)["spec"]
            at = spec["modules"][0] if path[0] == "modules" and len(path) > 1 else spec
            if path != ("modules",):
                at[path[-1]] = absent(field)
            assert {line for line in world.compared().lines if line.differs} == before, (path, side)


def test_a_written_default_of_the_kyma_is_no_difference(shared: Path) -> None:
    check_kymas(own_schemas())
    check_kymas(real_schemas(shared))


@pytest.mark.parametrize(("field", "value"), [("channel", ""), ("mandatory", False)])
def test_what_the_real_lifecycle_manager_writes_into_the_copy(field: str, value: object) -> None:
    world = World()
    for raw in world.copies:
        raw["spec"][field] = value
    assert not [line for line in world.compared().lines if line.verdict is LineVerdict.WRONG]


def test_two_versions_differ_in_nothing_that_is_a_default() -> None:
    old, new = (template_of(control_template("keda", "1.0.0")) for _ in range(2))
    new.raw["spec"].update(mandatory=False, requiresDowntime=False, associatedResources=[], channel="")
    assert not compare_versions(old, new).template
    new.raw["spec"].update(requiresDowntime=True)
    assert [change.path for change in compare_versions(old, new).template] == ["requiresDowntime"]


def template_of(raw: Json) -> ModuleTemplate:
    found = read_template(synced(raw))
    assert isinstance(found, ModuleTemplate)
    return found
