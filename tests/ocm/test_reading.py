"""Documents become descriptors: both schemas, and what is wrong by its place."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from kymatui.helm import load_yaml
from kymatui.ocm import DescriptorError, Digest, Label, module_layers, parse_descriptor, read_descriptor
from tests.ocm.components import component, resource


def test_all_fields_of_the_second_schema() -> None:
    digest = {"hashAlgorithm": "SHA-256", "normalisationAlgorithm": "x/v1", "value": "ab"}
    document = component(
        provider='{"name":"acme","labels":[{"name":"l","value":{"a":1},"version":"v1"}]}',
        labels=[{"name": "l", "value": None, "signing": True}],
        creationTime="2024-05-17T12:00:00Z",
        repositoryContexts=[{"type": "OCIRegistry", "baseUrl": "reg.io"}],
        resources=[resource(extraIdentity={"a": "b"}, digest=digest)],
        sources=[{"name": "s", "version": "1", "type": "git", "access": {"type": "gitHub"}}],
        componentReferences=[{"name": "x", "version": "2", "componentName": "b.org/x", "digest": digest}],
    )
    found = read_descriptor({**document, "signatures": [{"name": "n", "digest": digest, "signature": {"value": "v"}}]})
    assert (found.name, found.version, found.provider) == ("acme.org/c", "1.0.0", "acme")
    assert found.provider_labels == (Label("l", {"a": 1}, "v1"),)
    assert found.labels == (Label("l", None, signing=True),)
    assert found.resources[0].extra_identity == {"a": "b"}
    assert found.resources[0].digest == Digest("SHA-256", "x/v1", "ab")
    assert (found.sources[0].type, found.references[0].component) == ("git", "b.org/x")
    assert (found.signatures[0].name, found.signatures[0].value) == ("n", "v")


@pytest.mark.parametrize(
    ("document", "words"),
    [
        (None, "no schema version"),
        ([], "a component descriptor is a list"),
        ({"meta": {"schemaVersion": "v1"}}, "not a readable component descriptor: v1"),
        ({"apiVersion": "ocm.software/v9"}, "ocm.software/v9"),
        ({"apiVersion": "ocm.software/v3alpha1", "kind": "Odd"}, "kind is 'Odd'"),
        ({"meta": {"schemaVersion": "v2"}}, "component.name is missing"),
        (component(version=1.0), "component.version is a number, not text"),
        (component(version=""), "component.version is missing"),
        (component(resources={}), "component.resources is an object, not a list"),
        (component(resources=["a"]), r"component.resources\[0\] is text, not an object"),
        (component(resources=[resource(labels=[{"signing": "true"}])]), r"resources\[0\].labels\[0\].signing is text"),
        (component(resources=[resource(extraIdentity={"a": 1})]), r"resources\[0\].extraIdentity.a is a number"),
        (component(resources=[resource(digest="ab")]), r"resources\[0\].digest is text"),
    ],
)
def test_what_is_wrong_is_named_by_its_place(document: Any, words: str) -> None:
    with pytest.raises(DescriptorError, match=words):
        read_descriptor(document)


@pytest.mark.parametrize("text", ["{", "", "[" * 100_000])
def test_texts_that_are_no_json(text: str) -> None:
    with pytest.raises(DescriptorError):
        parse_descriptor(text)


def test_the_descriptors_in_real_module_templates(shared: Path) -> None:
    folder = shared / "kyma" / "moduletemplates"
    counted = 0
    for path in sorted([*folder.glob("old-style/*.yaml"), *folder.glob("busola-fixtures/*.yaml")]):
        descriptor = load_yaml(path.read_bytes())["spec"].get("descriptor")
        if descriptor:
            found = read_descriptor(descriptor)
            module_layers(found)
            assert found.name.startswith("kyma-project.io/"), path.name
            counted += 1
    assert counted > 5
