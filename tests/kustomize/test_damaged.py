"""Whatever stands in a kustomization, it is built, or refused with words: never an error that nobody expects."""

from __future__ import annotations

import copy
import json
import random
from collections.abc import Iterator
from typing import Any

import pytest

from kymatui.engine.sources import render_target
from kymatui.errors import KymatuiError, SourceError
from kymatui.helm.yaml.limits import YamlBudget
from kymatui.helm.yaml.reading import documents
from kymatui.kustomize.transformers.json6902_patch import apply
from tests.kustomize.test_recorded import cases, contents

ODD: list[Any] = [None, True, 0, -1, 1.5, "", "x", "../..", "$patch", [], {}, [None], [[]], [{}], {"a": None}, 10**30]


def places(value: Any) -> Iterator[tuple[Any, Any]]:
    """Every place in a value: what holds it, and its key or number there."""
    held = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, below in list(held):
        yield value, key
        yield from places(below)


def damaged(data: bytes, chance: random.Random) -> bytes:
    found = copy.deepcopy(list(documents(data)))
    for _ in range(chance.choice([1, 1, 2])):
        holder, key = chance.choice(list(places(found)) or [([None], 0)])
        if chance.random() < 0.2:
            del holder[key]
        else:
            holder[key] = copy.deepcopy(chance.choice(ODD))
    return "\n---\n".join(json.dumps(one) for one in found).encode()


@pytest.mark.parametrize("seed", range(3))
def test_damaged_kustomizations_are_built_or_refused(seed: int) -> None:
    refused = made = 0
    for case in cases():
        chance = random.Random(f"{case['name']} {seed}")
        files = contents(case)
        name = chance.choice([one for one in sorted(files) if one.endswith(".yaml")])
        try:
            files[name] = damaged(files[name], chance)
            render_target.from_files(files, "archive", name="m", folder="top")
            made += 1
        except KymatuiError:
            refused += 1
    assert made > 20
    assert refused > 20


@pytest.mark.parametrize(
    ("base", "patch", "words"),
    [
        ("ports: [{port: 80}, null]", "ports: [{port: 81}]", "spec.ports: an element is not a map with port"),
        ("ports: [{port: 80}, 1]", "type: X", "spec.ports: an element is not a map with port: 1"),
        ("ports: [{port: 80}]", "ports: [x]", "spec.ports: an element is not a map with port: 'x'"),
        ("ports: [{port: 80}]", "ports: [{name: x}]", "spec.ports: an element of a patch has no port"),
    ],
)
def test_lists_with_elements_that_do_not_belong_there_are_refused(base: str, patch: str, words: str) -> None:
    head = "apiVersion: v1\nkind: Service\nmetadata: {name: s}\nspec: {%s}\n"
    files = {
        "kustomization.yaml": b"resources: [a.yaml]\npatches: [{path: p.yaml}]\n",
        "a.yaml": (head % base).encode(),
        "p.yaml": (head % patch).encode(),
    }
    with pytest.raises(KymatuiError) as caught:
        render_target.from_files(files, "archive", name="m")
    assert words in str(caught.value)


@pytest.mark.parametrize("kind", [{"a": 1}, ["add"], 5, None, "spin"])
def test_a_patch_with_an_unknown_operation_is_refused(kind: object) -> None:
    with pytest.raises(SourceError, match=r"operation 1, .*: Unexpected kind"):
        apply({}, [{"op": kind, "path": "/a", "value": 1}], "patch", YamlBudget())


@pytest.mark.parametrize(
    "operation",
    [
        {"op": "add", "path": "", "value": "x"},
        {"op": "replace", "path": "", "value": []},
        {"op": "replace", "path": "", "value": None},
        {"op": "move", "from": "/data/k", "path": ""},
        {"op": "copy", "from": "/data/k", "path": ""},
        {"op": "remove", "path": ""},
    ],
)
def test_a_patch_that_leaves_no_object_is_refused(operation: dict[str, Any]) -> None:
    files = {
        "kustomization.yaml": b"resources: [a.yaml]\npatches: [{path: p.yaml, target: {kind: ConfigMap}}]\n",
        "a.yaml": b"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata: {k: v}\n",
        "p.yaml": json.dumps([operation]).encode(),
    }
    with pytest.raises(SourceError, match=r"^archive: p\.yaml for ConfigMap a: "):
        render_target.from_files(files, "archive", name="m")


def test_lists_of_texts_hold_each_once_and_no_nulls() -> None:
    head = "apiVersion: v1\nkind: Service\nmetadata: {name: s, finalizers: %s}\n"
    files = {
        "kustomization.yaml": b"resources: [a.yaml]\npatches: [{path: p.yaml}]\n",
        "a.yaml": (head % "[a, null, b]").encode(),
        "p.yaml": (head % "[c, null, a]").encode(),
    }
    (found,) = render_target.from_files(files, "archive", name="m").objects
    assert found["metadata"]["finalizers"] == ["c", "a", "b"]


@pytest.mark.parametrize("patch", ["", "# nothing\n", "---\n", "{}", "null", "---\n# nothing\n---\n# nothing\n"])
def test_patches_of_comments_do_nothing_except_where_their_field_is_of_the_old_ones(patch: str) -> None:
    files = {"a.yaml": b"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n", "p.yaml": patch.encode()}
    for field in ("[{path: p.yaml}]", "[{path: p.yaml, target: {kind: ConfigMap}}]"):
        text = f"resources: [a.yaml]\npatches: {field}\n"
        bundle = render_target.from_files({**files, "kustomization.yaml": text.encode()}, "archive", name="m")
        assert [one["metadata"] for one in bundle.objects] == [{"name": "a"}]
    old = b"resources: [a.yaml]\npatchesStrategicMerge: [p.yaml]\n"
    with pytest.raises(KymatuiError, match="has no patch"):
        render_target.from_files({**files, "kustomization.yaml": old}, "archive", name="m")


def test_a_patch_with_a_target_needs_no_api_version() -> None:
    files = {
        "a.yaml": b"apiVersion: v1\nkind: Namespace\nmetadata: {name: a}\n",
        "p.yaml": b"kind: Namespace\nmetadata: {name: a, labels: {b: c}}\n",
    }
    text = "resources: [a.yaml]\npatches: [{path: p.yaml%s}]\n"
    with_target = (text % ", target: {kind: Namespace}").encode()
    (found,) = render_target.from_files({**files, "kustomization.yaml": with_target}, "archive", name="m").objects
    assert found == {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "a", "labels": {"b": "c"}}}
    without = (text % "").encode()
    with pytest.raises(KymatuiError, match="the object has no apiVersion"):
        render_target.from_files({**files, "kustomization.yaml": without}, "archive", name="m")


def test_objects_of_one_kind_are_in_the_order_of_namespace_and_name_as_one_text() -> None:
    head = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: %s, namespace: %s}\n"
    texts = [head % one for one in (("z", "a"), ("b", "a-b"), ("a", "b"), ("c", "a"))]
    files = {"kustomization.yaml": b"resources: [a.yaml]\n", "a.yaml": "---\n".join(texts).encode()}
    found = render_target.from_files(files, "archive", name="m").objects
    names = [(one["metadata"]["namespace"], one["metadata"]["name"]) for one in found]
    assert names == [("a-b", "b"), ("a", "c"), ("a", "z"), ("b", "a")]


@pytest.mark.parametrize("nothing", ["{}", "null", ""])
def test_annotations_that_are_empty_are_left_out(nothing: str) -> None:
    text = f"apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a\n  annotations: {nothing}\n"
    files = {"kustomization.yaml": b"resources: [a.yaml]\n", "a.yaml": text.encode()}
    (found,) = render_target.from_files(files, "archive", name="m").objects
    assert found["metadata"] == {"name": "a"}


def test_a_behavior_that_is_none_makes_an_object_and_changes_none() -> None:
    generator = (
        "configMapGenerator: [{name: a, behavior: add, literals: [k=v], options: {disableNameSuffixHash: true}}]"
    )
    files = {"kustomization.yaml": generator.encode()}
    (found,) = render_target.from_files(files, "archive", name="m").objects
    assert found["data"] == {"k": "v"}
    files = {
        "kustomization.yaml": f"resources: [a.yaml]\n{generator}".encode(),
        "a.yaml": b"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n",
    }
    with pytest.raises(KymatuiError, match="already exists"):
        render_target.from_files(files, "archive", name="m")
