"""What a Kyma module consists of, by its descriptor, in every generation of tools."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

import pytest

from kymatui.helm import load_yaml
from kymatui.ocm import DescriptorError, module_layers, read_descriptor
from kymatui.ocm.module_layers import repository
from tests.ocm.components import component, resource

DIGEST = "sha256:" + "a" * 64
CONTEXT = {"type": "OCIRegistry", "baseUrl": "reg.io/base", "subPath": "sub", "componentNameMapping": "urlPath"}
HERE = "reg.io/base/sub/component-descriptors/acme.org/c"


def layers(*resources: dict[str, Any], registry: str = "") -> Any:
    return module_layers(read_descriptor(component(resources=list(resources), repositoryContexts=[CONTEXT])), registry)


def test_the_layers_of_today() -> None:
    tar = {"type": "localBlob", "localReference": DIGEST, "mediaType": "application/x-tar"}
    image = {"type": "ociArtifact", "imageReference": "reg.io/manager:1.0.0"}
    found = layers(
        resource("raw-manifest", type="directoryTree", access=tar),
        resource("default-cr", type="directoryTree", access=tar),
        resource("manager", type="ociArtifact", access=image),
        resource("again", type="ociArtifact", access={**image, "type": "ociArtifact/v1"}),
    )
    assert (found.raw_manifest.repository, found.raw_manifest.digest) == (HERE, DIGEST)
    assert found.raw_manifest.is_archive
    assert found.default_resource.name == "default-cr"
    assert found.config is None
    assert found.images == ("reg.io/manager:1.0.0",)


@pytest.mark.parametrize(
    ("access", "expected"),
    [
        ({"type": "localBlob", "localReference": DIGEST, "mediaType": "application/octet-stream"}, (HERE, False)),
        ({"type": "localOciBlob", "digest": DIGEST}, (HERE, False)),
        ({"type": "ociBlob", "digest": DIGEST, "ref": "other.io/x", "mediaType": "a/b+tar"}, ("other.io/x", True)),
    ],
)
def test_the_ways_to_a_layer(access: dict[str, Any], expected: tuple[str, bool]) -> None:
    found = layers(resource("raw-manifest", access=access)).raw_manifest
    assert (found.repository, found.is_archive, found.digest) == (*expected, DIGEST)


def test_charts_and_their_config_of_the_first_generation() -> None:
    blob = {"type": "localOciBlob", "digest": DIGEST}
    found = layers(
        resource("config", type="yaml", access=blob),
        resource("redis", type="helm-chart", access=blob),
        resource("crds", type="yaml", access=blob),
    )
    assert (found.config.name, found.definitions.name) == ("config", "crds")
    assert [one.name for one in found.charts] == ["redis"]


@pytest.mark.parametrize(
    ("contexts", "registry", "expected"),
    [
        ([], "", ""),
        ([], "http://reg.io:5000/x/", "reg.io:5000/x/component-descriptors/acme.org/c"),
        ([], "reg.io/component-descriptors", "reg.io/component-descriptors/acme.org/c"),
        ([{"type": "OCIRegistry", "baseUrl": "first.io"}, CONTEXT], "", HERE),
        ([CONTEXT, {"type": "ctf"}], "", HERE),
        ([CONTEXT], "moved.io/y", "moved.io/y/component-descriptors/acme.org/c"),
        (
            [{**CONTEXT, "componentNameMapping": "sha256-digest"}],
            "",
            f"reg.io/base/sub/{hashlib.sha256(b'acme.org/c').hexdigest()}",
        ),
    ],
)
def test_where_a_component_is(contexts: list[Any], registry: str, expected: str) -> None:
    assert repository(read_descriptor(component(repositoryContexts=contexts)), registry) == expected


@pytest.mark.parametrize(
    ("access", "words"),
    [
        ({"type": "localBlob"}, "raw-manifest: its access has no localReference"),
        ({"type": "localBlob", "localReference": f"{DIGEST},{DIGEST}"}, "split into blobs"),
        ({"type": "localOciBlob", "digest": 5}, "has no digest"),
        ({"type": "ociArtifact"}, "has no imageReference"),
    ],
)
def test_an_access_that_is_wrong(access: dict[str, Any], words: str) -> None:
    with pytest.raises(DescriptorError, match=words):
        layers(resource("raw-manifest", access=access))


def test_an_access_of_an_unknown_kind_is_none_of_a_module() -> None:
    assert layers(resource("raw-manifest", access={"type": "s3"})).raw_manifest is None


def test_a_real_module_of_the_old_style(shared: Path) -> None:
    path = shared / "kyma/moduletemplates/old-style/klm-2024-06_mandatory_moduletemplate_template_operator_v2.yaml"
    found = module_layers(read_descriptor(load_yaml(path.read_bytes())["spec"]["descriptor"]))
    assert found.raw_manifest is not None
    assert found.raw_manifest.digest == "sha256:14ec96a1b7f7fcfbafefefb4b278456bafd49d8a74e19db15a1f2f8fc6b5e0fd"
    assert found.raw_manifest.repository == (
        "europe-west3-docker.pkg.dev/sap-kyma-jellyfish-dev/template-operator/component-descriptors/"
        "kyma-project.io/module/template-operator"
    )
