"""Replacements, names of fields, keys and annotations as kustomize 5.8 has them, where it surprises."""

from __future__ import annotations

from typing import Any

import pytest

from kymatui.errors import SourceError
from kymatui.kustomize.model.file_tree import ArchiveTree, KustomizationFolder
from kymatui.kustomize.transformers.build import build

FOO = "apiVersion: x.io/v1\nkind: Foo\nmetadata: {name: f}\n"


def built(body: str, replacement: str = "", kustomization: str = "resources: [a.yaml]\n") -> dict[str, Any]:
    """Return the one object of a kustomization with one replacement."""
    files = {"top/a.yaml": body.encode(), "top/kustomization.yaml": (kustomization + replacement).encode()}
    (found,) = build(KustomizationFolder(ArchiveTree(files, "archive"), "/top")).objects
    return found


def replacing(target: str, source: str = "{kind: Foo, fieldPath: metadata.name}", options: str = "") -> str:
    extra = f", options: {options}" if options else ""
    return (
        f"replacements:\n- source: {source}\n  targets:\n"
        f"  - {{select: {{kind: Foo}}, fieldPaths: ['{target}']{extra}}}\n"
    )


@pytest.mark.parametrize(
    ("spec", "replacement", "expected"),
    [
        pytest.param("{l: [v, v, x]}", replacing("spec.l.1"), {"l": ["v", "f", "x"]}, id="an item by its place"),
        pytest.param(
            "{l: [{a: 1}, {a: 1}]}",
            replacing("spec.l.1.b", options="{create: true}"),
            {"l": [{"a": 1}, {"a": 1, "b": "f"}]},
            id="a field of the second of equal items",
        ),
        pytest.param("{l: [v, v]}", replacing("spec.l.[=v]"), {"l": ["f", "f"]}, id="all equal items by value"),
        pytest.param(
            "{a: b}",
            replacing("spec.new", options="{create: true, delimiter: '-', index: -1}"),
            {"a": "b", "new": "f-"},
            id="before an empty text",
        ),
        pytest.param(
            "{a: b}",
            replacing("spec.new", options="{create: true, delimiter: '-', index: 0}"),
            {"a": "b", "new": "f"},
            id="in place of an empty text",
        ),
        pytest.param(
            "{l: [a, true], s: x}",
            replacing("spec.s", "{kind: Foo, fieldPath: spec.l}", "{delimiter: ',', index: 1}"),
            {"l": ["a", True], "s": "x,"},
            id="a list has no text",
        ),
        pytest.param(
            "{n: 3, t: '7'}",
            replacing("spec.n", "{kind: Foo, fieldPath: spec.t}"),
            {"n": 7, "t": "7"},
            id="a whole number stays one",
        ),
        pytest.param(
            "{n: 1.5, t: '7'}",
            replacing("spec.n", "{kind: Foo, fieldPath: spec.t}"),
            {"n": 7.0, "t": "7"},
            id="a whole number in a field for numbers",
        ),
        pytest.param(
            "{b: false, t: 'true'}",
            replacing("spec.b", "{kind: Foo, fieldPath: spec.t}"),
            {"b": True, "t": "true"},
            id="a boolean stays one",
        ),
        pytest.param(
            '{s: "server:\\n  host: old\\n  port: 80\\n"}',
            replacing("spec.s.server.host"),
            {"s": "server:\n  host: f\n  port: 80"},
            id="YAML in a text",
        ),
        pytest.param(
            """{s: '{"z": 1, "server": {"host": "old"}}'}""",
            replacing("spec.s.server.host"),
            {"s": '{"server":{"host":"f"},"z":1}'},
            id="JSON on one line",
        ),
        pytest.param(
            '{s: "{\\n  \\"a\\": [1, 2]\\n}"}',
            replacing("spec.s.b", options="{create: true}"),
            {"s": '{\n  "a": [\n    1,\n    2\n  ],\n  "b": "f"\n}'},
            id="JSON on several lines",
        ),
    ],
)
def test_a_replacement_writes(spec: str, replacement: str, expected: dict[str, Any]) -> None:
    assert built(f"{FOO}spec: {spec}\n", replacement)["spec"] == expected


@pytest.mark.parametrize(
    ("spec", "replacement", "words"),
    [
        pytest.param("{n: 3}", replacing("spec.n"), "whole number", id="a text for a whole number"),
        pytest.param("{b: true}", replacing("spec.b"), "boolean", id="a text for a boolean"),
        pytest.param(
            "{l: [{n: a}], t: x}",
            replacing("spec.t", "{kind: Foo, fieldPath: 'spec.l.*.n'}"),
            "one value",
            id="a source with a wildcard",
        ),
        pytest.param("{s: plain}", replacing("spec.s.a.b"), "has no fields", id="a text without fields"),
        pytest.param("{s: '[: {'}", replacing("spec.s.a.b"), "not valid YAML", id="a text that is no YAML"),
        pytest.param("{n: 3}", replacing("spec.n.a"), "not valid in a scalar", id="below a number"),
    ],
)
def test_a_replacement_is_refused(spec: str, replacement: str, words: str) -> None:
    with pytest.raises(SourceError, match=words):
        built(f"{FOO}spec: {spec}\n", replacement)


def test_fields_of_a_kustomization_are_known_in_any_case() -> None:
    assert built(FOO, kustomization="Resources: [a.yaml]\nnameprefix: p-\n")["metadata"]["name"] == "p-f"
    with pytest.raises(SourceError, match="is not a known field"):
        built(FOO, kustomization="resources: [a.yaml]\nnamePrefx: p-\n")


@pytest.mark.parametrize(
    ("body", "kustomization"),
    [
        pytest.param(f"{FOO}spec:\n  a: 1\n  a: 2\n", "resources: [a.yaml]\n", id="a resource"),
        pytest.param(FOO, "resources: [a.yaml]\nnamePrefix: a\nnamePrefix: b\n", id="the kustomization"),
    ],
)
def test_equal_keys_are_refused(body: str, kustomization: str) -> None:
    with pytest.raises(SourceError, match="a key is repeated"):
        built(body, kustomization=kustomization)


def test_annotations_of_kustomizes_own_tools_are_not_built() -> None:
    own = "internal.config.kubernetes.io/index: '1', config.kubernetes.io/path: x, config.kubernetes.io/index: '0'"
    body = f"apiVersion: x.io/v1\nkind: Foo\nmetadata: {{name: f, annotations: {{{own}, keep: me}}}}\n"
    assert built(body)["metadata"]["annotations"] == {"keep": "me"}
    assert "annotations" not in built(body.replace(", keep: me", ""))["metadata"]


def test_images_of_volumes_change_in_the_pods_of_a_cron_job_too() -> None:
    body = (
        "apiVersion: batch/v1\nkind: CronJob\nmetadata: {name: c}\nspec: {jobTemplate: {spec: {template: {spec: "
        "{containers: [{name: c, image: 'art:1'}], volumes: [{name: v, image: {reference: 'art:1'}}, {name: w}]}}}}}\n"
    )
    found = built(body, kustomization="resources: [a.yaml]\nimages: [{name: art, newTag: '2'}]\n")
    pod = found["spec"]["jobTemplate"]["spec"]["template"]["spec"]
    assert (pod["containers"][0]["image"], pod["volumes"]) == (
        "art:2",
        [{"name": "v", "image": {"reference": "art:2"}}, {"name": "w"}],
    )
