"""Variables and keys without a value, as kustomize 5.8 has them."""

from __future__ import annotations

from typing import Any

import pytest

from kymatui.errors import SourceError
from kymatui.kustomize.model.file_tree import ArchiveTree, KustomizationFolder
from kymatui.kustomize.transformers.build import Build, build

SERVICE = "apiVersion: v1\nkind: Service\nmetadata: {name: web}\nspec: {ports: [{port: 80, name: http}]}\n"
DEPLOYMENT = """apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  replicas: 2
  template:
    spec:
      containers:
      - name: web
        command: [serve, --to, $(HOST), '$(PORT)', $$(HOST), $(OTHER), "$(HOST):$(PORT)"]
        env: [{name: A, value: 'http://$(HOST)/'}, {name: B, value: $(PORT)}, {name: C, value: '$HOST $'}]
"""
HOST = "{name: HOST, objref: {kind: Service, name: web, apiVersion: v1}}"
PORT = "{name: PORT, objref: {kind: Service, name: web, apiVersion: v1}, fieldref: {fieldpath: 'spec.ports[0].port'}}"


def built(**files: str) -> Build:
    tree = {f"{name.replace('__', '/')}.yaml": text.encode() for name, text in files.items()}
    return build(KustomizationFolder(ArchiveTree(tree, "archive"), "/top"))


def of_kind(result: Build, kind: str) -> dict[str, Any]:
    (body,) = [body for body in result.objects if body["kind"] == kind]
    return body


def test_variables_are_replaced_after_all_names_are_known() -> None:
    result = built(
        base__all=SERVICE + "---\n" + DEPLOYMENT,
        base__kustomization=f"resources: [all.yaml]\nvars: [{HOST}, {PORT}]\n",
        top__kustomization="resources: [../base]\nnamePrefix: my-\nnameSuffix: -x\n",
    )
    (container,) = of_kind(result, "Deployment")["spec"]["template"]["spec"]["containers"]
    assert container["command"] == ["serve", "--to", "my-web-x", 80, "$(HOST)", "$(OTHER)", "my-web-x:80"]
    assert [entry["value"] for entry in container["env"]] == ["http://my-web-x/", 80, "$HOST $"]
    assert result.notes == (
        "archive: base/kustomization.yaml uses vars, which kustomize deprecates; use replacements.",
    )


def test_configurations_name_further_fields_and_an_unused_variable_is_a_note() -> None:
    custom = "apiVersion: x.io/v1\nkind: Foo\nmetadata: {name: f}\nspec: {host: $(HOST), m: {a: $(HOST), b: 1}}\n"
    config = "varReference: [{path: spec/host, kind: Foo}, {path: spec/m, kind: Foo}]\n"
    result = built(
        top__all=f"{SERVICE}---\n{custom}",
        top__config=config,
        top__kustomization=f"resources: [all.yaml]\nconfigurations: [config.yaml]\nvars: [{HOST}, {PORT}]\n",
    )
    assert of_kind(result, "Foo")["spec"] == {"host": "web", "m": {"a": "web", "b": 1}}
    assert result.notes[-1] == "Variables without a use: PORT."


def test_a_component_has_the_variables_of_its_parent() -> None:
    component = "apiVersion: kustomize.config.k8s.io/v1alpha1\nkind: Component\n"
    result = built(
        top__all=f"{SERVICE}---\n{DEPLOYMENT}",
        part__kustomization=f"{component}vars: [{HOST}, {PORT}]\n",
        top__kustomization="resources: [all.yaml]\ncomponents: [../part]\nnamespace: apart\n",
    )
    (container,) = of_kind(result, "Deployment")["spec"]["template"]["spec"]["containers"]
    assert container["command"][2:4] == ["web", 80]


def test_an_object_that_is_used_for_a_variable_only_is_not_part_of_the_result() -> None:
    local = SERVICE.replace("{name: web}", "{name: web, annotations: {config.kubernetes.io/local-config: 'true'}}")
    result = built(
        top__all=f"{local}---\n{DEPLOYMENT}", top__kustomization=f"resources: [all.yaml]\nvars: [{HOST}, {PORT}]\n"
    )
    assert [body["kind"] for body in result.objects] == ["Deployment"]
    assert result.objects[0]["spec"]["template"]["spec"]["containers"][0]["command"][2] == "web"


@pytest.mark.parametrize(
    ("variables", "message"),
    [
        (f"{HOST}, {HOST}", "variable HOST is defined twice"),
        (HOST.replace("name: web", "name: other"), "is a field of Service other, which does not exist"),
        (HOST.replace(", apiVersion: v1", ""), "is a field of Service web, which does not exist"),
        (PORT.replace("ports[0]", "ports[7]"), r"Service web has no spec\.ports\[7\]\.port"),
        (HOST.replace("objref", "objRef2"), "objRef2 is not a known field"),
    ],
)
def test_a_variable_that_has_no_value_is_refused(variables: str, message: str) -> None:
    with pytest.raises(SourceError, match=message):
        built(top__all=SERVICE, top__kustomization=f"resources: [all.yaml]\nvars: [{variables}]\n")


FOO = """apiVersion: x.io/v1
kind: Foo
metadata: {name: f}
spec:
  gone:
  kept: null
  tilde: ~
  deep: {gone: , kept: ~}
  items:
  - gone:
"""
MERGE = "patches: [{patch: '{apiVersion: x.io/v1, kind: Foo, metadata: {name: f}, spec: {new: 1}}'}]\n"


def test_a_merge_drops_keys_without_a_value_and_keeps_null() -> None:
    (body,) = built(top__a=FOO, top__kustomization=f"resources: [a.yaml]\n{MERGE}").objects
    items = [{"gone": None}]  # a list without merge keys is not entered
    assert body["spec"] == {"kept": None, "tilde": None, "deep": {"kept": None}, "items": items, "new": 1}


def test_without_a_merge_keys_without_a_value_are_null() -> None:
    (body,) = built(top__a=FOO, top__kustomization="resources: [a.yaml]\n").objects
    assert (body["spec"]["gone"], body["spec"]["deep"]) == (None, {"gone": None, "kept": None})


def test_after_a_json_patch_every_key_has_a_value() -> None:
    json_patch = "patches: [{target: {kind: Foo}, patch: '[{op: add, path: /spec/x, value: 1}]'}]\n"
    (body,) = built(
        base__a=FOO,
        base__kustomization=f"resources: [a.yaml]\n{json_patch}",
        top__kustomization=f"resources: [../base]\n{MERGE}",
    ).objects
    assert body["spec"]["gone"] is None
    assert body["spec"]["deep"] == {"gone": None, "kept": None}


def test_a_key_that_got_a_value_before_the_merge_is_kept() -> None:
    config = "namespace: apart\nreplacements:\n- source: {kind: Foo, fieldPath: metadata.name}\n"
    config += "  targets: [{select: {kind: Foo}, fieldPaths: [spec.gone], options: {create: true}}]\n"
    (body,) = built(
        base__a=FOO,
        base__kustomization=f"resources: [a.yaml]\n{config}",
        top__kustomization=f"resources: [../base]\n{MERGE}",
    ).objects
    assert body["spec"]["gone"] == "f"
