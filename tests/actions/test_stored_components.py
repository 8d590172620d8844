"""Components in a registry, in every wrapping that tools gave their descriptors."""

from __future__ import annotations

import json
from typing import Any

import pytest

from kymatui.actions.components.stored_components import StoredComponent, component_versions, require_component
from kymatui.adapters.oci.image_manifest import IMAGE_INDEX, IMAGE_MANIFEST
from kymatui.adapters.oci.registry import Registry, RegistryArtifacts
from kymatui.errors import RegistryError
from kymatui.ocm import DescriptorError
from kymatui.ocm.component_location import ComponentLocation, tag_of, version_of
from tests.engine.sources.packing import tar
from tests.ocm.components import component
from tests.sandbox.registry.conftest import Serve, serve  # noqa: F401 (a fixture)

NAME, VERSION = "acme.org/c", "1.0.0+4"
TEXT = json.dumps(component(version=VERSION)).encode()
LAYER = "application/vnd.ocm.software.component-descriptor.v2+yaml+tar"
CONFIG = "application/vnd.ocm.software.component.config.v1+json"
OLD = "application/vnd.gardener.cloud.cnudie"


def find(host: str, base: str = "base") -> StoredComponent:
    return require_component(RegistryArtifacts(insecure=[host]), ComponentLocation(f"{host}/{base}", NAME, VERSION))


@pytest.fixture
def host(serve: Serve) -> str:  # noqa: F811
    return serve().registry.address


def push(
    host: str, content: bytes, media_type: str = LAYER, config_type: str = CONFIG, *, named: bool = True, **more: Any
) -> str:
    """A component as tools push it; the digest of its manifest."""
    client, where = Registry(insecure=True), f"{host}/base/component-descriptors/{NAME}:{tag_of(VERSION)}"
    other = client.push_blob(where, b"other", "text/plain")
    layer = client.push_blob(where, content, media_type).to_json()
    told = json.dumps({"componentDescriptorLayer": layer} if named else {}).encode()
    config = client.push_blob(where, told, config_type)
    layers = [other.to_json(), {**layer, **more}]
    body = {"schemaVersion": 2, "mediaType": IMAGE_MANIFEST, "config": config.to_json(), "layers": layers}
    return client.push_manifest(where, json.dumps(body).encode(), IMAGE_MANIFEST)


@pytest.mark.parametrize(
    ("content", "media_type", "config_type", "named"),
    [
        (tar({"component-descriptor.yaml": TEXT}), LAYER, CONFIG, True),
        (tar({"component-descriptor.yaml": TEXT}, packed=True), LAYER, CONFIG, True),
        (TEXT, "application/vnd.ocm.software.component-descriptor.v2+json", CONFIG, True),
        (TEXT, f"{OLD}.component-descriptor.v2+json", f"{OLD}.component.config.v1+json", True),
        (TEXT, f"{OLD}.component-descriptor.v2+yaml", "application/vnd.oci.empty.v1+json", False),
        (TEXT, "application/odd", CONFIG, True),
    ],
    ids=["a tar", "packed", "JSON", "the old types", "no config", "an odd type"],
)
def test_a_component_in_every_wrapping(
    host: str, content: bytes, media_type: str, config_type: str, named: bool
) -> None:
    digest = push(host, content, media_type, config_type, named=named)
    found = find(host)
    assert (found.descriptor.name, found.descriptor.version) == (NAME, VERSION)
    assert found.digest == digest
    assert [one["mediaType"] for one in found.layers] == ["text/plain"]
    assert component_versions(RegistryArtifacts(insecure=[host]), found.location) == [VERSION]


def test_a_time_in_yaml_stays_a_text(host: str) -> None:
    body = json.loads(TEXT)
    body["component"]["creationTime"] = "TIME"
    push(host, json.dumps(body).replace('"TIME"', "2024-05-17T12:00:00Z").encode())
    assert find(host).descriptor.creation_time == "2024-05-17T12:00:00Z"


def test_a_component_within_an_index(host: str) -> None:
    client = Registry(insecure=True)
    digest = push(host, TEXT, "application/odd", named=False, annotations={"software.ocm.descriptor": "true"})
    where = f"{host}/base/component-descriptors/{NAME}"
    manifest = client.fetch_manifest(f"{where}@{digest}")
    other = {"mediaType": IMAGE_MANIFEST, "digest": "sha256:" + "0" * 64, "size": 1}
    mine = {"mediaType": IMAGE_MANIFEST, "digest": digest, "size": len(manifest.raw)}
    mine["annotations"] = {"software.ocm.descriptor": "true"}
    index = {"schemaVersion": 2, "mediaType": IMAGE_INDEX, "manifests": [mine]}
    for entries in ([mine], [mine, other]):
        raw = json.dumps({**index, "manifests": entries}).encode()
        try:
            client.push_manifest(f"{where}:{tag_of(VERSION)}", raw, IMAGE_INDEX)
        except RegistryError:
            continue  # registries may want all that an index names
        assert find(host).digest == digest


@pytest.mark.parametrize(
    ("content", "media_type", "named", "words"),
    [
        (TEXT.replace(b"acme.org/c", b"evil.org/c"), LAYER, True, "is evil.org/c:1.0.0"),
        (TEXT, "application/odd", False, "is not a component"),
        (tar({"other.yaml": TEXT}), LAYER, True, "has no component-descriptor.yaml"),
        (b"a: b", LAYER, True, "is not a readable component descriptor"),
        (b"a: [", LAYER, True, "line 2, column 1: did not find expected node content"),
    ],
    ids=["another one", "no descriptor", "another file", "no component", "no YAML"],
)
def test_what_is_no_component(host: str, content: bytes, media_type: str, named: bool, words: str) -> None:
    push(host, content, media_type, named=named)
    with pytest.raises((RegistryError, DescriptorError), match=words):
        find(host)


def test_a_descriptor_that_is_too_large_is_not_read(host: str, monkeypatch: pytest.MonkeyPatch) -> None:
    push(host, TEXT)
    monkeypatch.setattr("kymatui.actions.components.stored_components.LARGEST_DESCRIPTOR", len(TEXT) - 1)
    with pytest.raises(RegistryError, match="is larger than"):
        find(host)


def test_versions_and_tags_are_each_others_other_side() -> None:
    assert tag_of("1.0.0+4") == "1.0.0.build-4"
    assert version_of(tag_of("1.0.0-rc.1+a.b")) == "1.0.0-rc.1+a.b"


def test_a_version_that_does_not_exist_is_named_with_its_place(host: str) -> None:
    with pytest.raises(RegistryError, match=r"acme.org/c:1.0.0\+4 does not exist") as refused:
        find(host, "elsewhere")
    assert f"{host}/elsewhere/component-descriptors/{NAME}:1.0.0.build-4" in refused.value.hint
