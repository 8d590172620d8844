"""Texts of YAML become objects: what is read, what is dropped, and what is told where."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kymatui.engine.bundles.yaml_objects import DEEPEST, document_key, read_objects
from kymatui.errors import SourceError
from kymatui.helm import dump_yaml


def config_map(name: str, data: str = "", **metadata: str) -> str:
    more = "".join(f"\n  {key}: {value}" for key, value in metadata.items())
    return f"apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: {name}{more}\n{data}"


def names(text: str) -> list[str]:
    return [one["metadata"]["name"] for one in read_objects(text, "manifest.yaml")]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param("", [], id="an empty file"),
        pytest.param("---\n---\n# nothing\n---\n", [], id="documents without content"),
        pytest.param("{}\n---\nnull\n", [], id="documents that say nothing"),
        pytest.param("---\n" + config_map("a") + "---\n" + config_map("b"), ["a", "b"], id="several documents"),
        pytest.param("\ufeff" + config_map("a"), ["a"], id="a byte order mark"),
        pytest.param(config_map("a") + "...\n---\n" + config_map("b"), ["a", "b"], id="documents that end"),
        pytest.param('{"apiVersion":"v1","kind":"Secret","metadata":{"name":"j"}}', ["j"], id="JSON"),
        pytest.param(config_map("a").replace("\n", "\r\n"), ["a"], id="lines of Windows"),
        pytest.param(config_map("b") + "---\n" + config_map("a"), ["b", "a"], id="the order of the file"),
    ],
)
def test_the_documents_of_a_text(text: str, expected: list[str]) -> None:
    assert names(text) == expected


PEM = """data:
  ca.crt: |
    -----BEGIN CERTIFICATE-----
    MIIB
    -----END CERTIFICATE-----
  page: |
    ---
    title: x
    ---
"""


def test_certificates_and_rules_within_block_scalars_are_text() -> None:
    first, second = read_objects(config_map("a", PEM) + "---\n" + config_map("b"), "manifest.yaml")
    assert first["data"]["ca.crt"].startswith("-----BEGIN CERTIFICATE-----\nMIIB\n")
    assert first["data"]["page"] == "---\ntitle: x\n---\n"
    assert second["metadata"]["name"] == "b"


def test_lists_are_flattened_also_within_lists() -> None:
    text = """
apiVersion: v1
kind: List
items:
- {apiVersion: v1, kind: ConfigMap, metadata: {name: a}}
- apiVersion: v1
  kind: SecretList
  items:
  - {metadata: {name: b}}
- {apiVersion: v1, kind: List, items: []}
"""
    assert [(one["kind"], one["metadata"]["name"]) for one in read_objects(text, "x")] == [
        ("ConfigMap", "a"),
        ("Secret", "b"),
    ]


@pytest.mark.parametrize("kind", ["[Kyma]", "{Kyma: 1}", "1", "true", "~", "!!set {Kyma}"])
def test_of_chosen_kinds_what_has_no_kind_in_text_is_skipped(kind: str) -> None:
    text = f"kind: {kind}\nitems: [{{kind: Kyma}}]\n---\napiVersion: v1\nkind: Kyma\nmetadata: {{name: k}}\n"
    assert [one["kind"] for one in read_objects(text, "change", only={"Kyma": 1})] == ["Kyma"]


def test_a_kind_that_only_sounds_like_a_list_stays_whole() -> None:
    text = "apiVersion: x.io/v1\nkind: AllowList\nmetadata: {name: a}\nitems: [1]\n"
    assert read_objects(text, "x")[0]["items"] == [1]


def test_of_duplicates_the_first_stays() -> None:
    text = "---\n".join(
        [
            config_map("a", "data: {x: first}\n"),
            config_map("a", "data: {x: other}\n", namespace="other"),
            config_map("a", "data: {x: second}\n"),
            config_map("a", "data: {x: third}\n").replace("v1", "example.io/v1"),
        ]
    )
    assert [one["data"]["x"] for one in read_objects(text, "x")] == ["first", "other", "third"]


@pytest.mark.parametrize(
    ("written", "value"),
    [
        ("1", 1),
        ("1.0", 1),
        ("1e3", 1000),
        ("1.5", 1.5),
        ("9223372036854775807", 9223372036854775807),
        ("9007199254740993", 9007199254740993),
        ("0644", 420),
        ("18446744073709551615", 1.8446744073709552e19),
        ("yes", True),
        ("2024-01-01", "2024-01-01"),
        ("22:22", "22:22"),
        ("=", "="),
    ],
)
def test_scalars_are_those_of_an_api_server(written: str, value: object) -> None:
    [found] = read_objects(config_map("a", f"spec: {{x: {written}}}\n"), "x")
    assert found["spec"]["x"] == value
    assert type(found["spec"]["x"]) is type(value)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("onlyHaveKey\n", ["m.yaml", "document 1, line 1", "expected an object, found text"]),
        (config_map("a") + "---\n# c\n\n- 1\n", ["document 2, line 8", "a list"]),
        (config_map("a") + "---\nkind: Secret\n", ["document 2, line 6", "no apiVersion"]),
        ("\n\n# x\n---\napiVersion: v1\n", ["document 1, line 5", "no kind"]),
        ("apiVersion: v1\nkind: [a]\n", ["its kind is a list, not text"]),
        ("apiVersion: v1\nkind: Pod\n", ["this Pod has no name"]),
        ("apiVersion: v1\nkind: Pod\nmetadata: {generateName: x-}\n", ["has no name"]),
        ("apiVersion: v1\nkind: Pod\nmetadata: a\n", ["metadata of this Pod is text"]),
        (config_map("12"), ["the name of this ConfigMap is a number, not text"]),
        (config_map("a", labels="{on: true}"), ["label true of ConfigMap a", "true or false"]),
        (config_map("a", annotations="[x]"), ["annotations of ConfigMap a are a list"]),
        ("a: 1\n\tb: 2\n", ["m.yaml: document 1: line 2, column 1", "found a tab character"]),
        (config_map("a") + "---\nb: c\n d: e\n", ["document 2: line 7", "mapping values are not allowed"]),
        ("apiVersion: v1\nkind: List\nitems: [1]\n", ["expected an object, found a number"]),
    ],
)
def test_what_cannot_be_read_is_named_with_its_place(text: str, words: list[str]) -> None:
    with pytest.raises(SourceError) as caught:
        read_objects(text, "m.yaml")
    assert all(word in str(caught.value) for word in words), str(caught.value)


def test_aliases_that_grow_without_end_are_refused() -> None:
    lines = ["a0: &a0 [x,x,x,x,x,x,x,x,x]"] + [f"a{n}: &a{n} [{','.join([f'*a{n - 1}'] * 9)}]" for n in range(1, 9)]
    with pytest.raises(SourceError, match="excessive aliasing"):
        read_objects("\n".join(lines), "x")


_letters = "abcdefghijklmnopqrstuvwxyz"
_names = st.builds("{}{}".format, st.sampled_from(_letters), st.text(f"{_letters}0123456789-", max_size=8))
_scalars = (
    st.text(st.characters(exclude_categories=["Cs", "Cc", "Cn", "Co", "Zl", "Zp"], exclude_characters="\ufeff"))
    | st.integers(-(2**63), 2**63 - 1)
    | st.booleans()
)
_objects = st.builds(
    lambda name, namespace, spec: {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": name, "namespace": namespace},
        "spec": spec,
    },
    _names,
    _names,
    st.dictionaries(_names, _scalars | st.lists(_scalars, max_size=3), max_size=4),
)


@given(st.lists(_objects, max_size=5, unique_by=document_key))
def test_what_is_written_is_read(objects: list[dict[str, Any]]) -> None:
    text = "".join(f"---\n{dump_yaml(one)}" for one in objects)
    assert read_objects(text, "x") == objects


def test_every_real_manifest_can_be_read(shared: Path) -> None:
    derived = shared / "kyma" / "catalog" / "derived"
    for path in sorted(derived.rglob("*.yaml")):
        objects = read_objects(path.read_bytes(), path.name)
        assert objects or path.name.startswith("transparent-proxy"), path.name


@pytest.mark.parametrize(
    "name",
    [
        "btp-operator-manifest.yaml",
        "klm-raw-manifest.yaml",
        "manifest-contains-duplicate-resources.yaml",
        "mm-raw-manifest.yaml",
        "rendered.yaml",
        "template-operator-manifest.yaml",
        "template-operator_module-data_sample-manifest.yaml",
    ],
)
def test_the_manifests_of_the_module_managers(shared: Path, name: str) -> None:
    objects = read_objects((shared / "kyma" / "raw-manifests" / name).read_bytes(), name)
    assert objects
    assert len({document_key(one) for one in objects}) == len(objects)


def test_an_empty_manifest_has_no_objects(shared: Path) -> None:
    assert read_objects((shared / "kyma" / "raw-manifests" / "empty-file.yaml").read_bytes(), "empty") == []


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("invalid-yaml.yaml", "document 1, line 1: expected an object, found text"),
        ("valid-yaml.yaml", "line 1: the object has no api"),
    ],
)
def test_what_is_no_manifest_is_refused_with_its_line(shared: Path, name: str, words: str) -> None:
    with pytest.raises(SourceError, match=words):
        read_objects((shared / "kyma" / "raw-manifests" / name).read_bytes(), name)


@pytest.mark.parametrize(("begin", "end"), [("[", "]"), ("{a: ", "}")])
def test_an_object_has_a_deepest_level(begin: str, end: str) -> None:
    def nested(levels: int) -> str:
        return config_map("a", f"data: {begin * levels}{end * levels}")

    assert names(nested(DEEPEST - 1)) == ["a"]
    for levels in (DEEPEST + 1, 490, 5000):
        with pytest.raises(SourceError, match=r"manifest\.yaml: document 1[:,].*(levels|max depth)"):
            names(nested(levels))
