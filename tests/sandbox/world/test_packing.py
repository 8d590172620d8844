"""What lies in the registry: manifests, archives, descriptors, charts and kustomizations."""

from __future__ import annotations

import gzip
import io
import json
import tarfile

import pytest
import yaml

from kymatui.ocm import module_layers
from kymatui.sandbox.registry.registry_store import RegistryStore
from kymatui.sandbox.world.lifecycle.lifecycle_manager import RegistryComponents, parse, unpack
from kymatui.sandbox.world.modules.module_manifest import manifest_objects
from kymatui.sandbox.world.modules.module_packages import pack, repository_of
from kymatui.sandbox.world.modules.sample_module import Packing, SampleModule
from kymatui.sandbox.world.modules.sample_modules import MODULES, module_named

EVERY = [(module, version) for module in MODULES for version in module.versions]


def unpacked(content: bytes) -> dict[str, bytes]:
    with tarfile.open(fileobj=io.BytesIO(content)) as archive:
        files = {m.name: archive.extractfile(m) for m in archive}
        return {name: file.read() for name, file in files.items() if file is not None}


@pytest.mark.parametrize(("module", "version"), EVERY, ids=lambda v: v.name if isinstance(v, SampleModule) else v)
def test_a_version_is_found_by_its_descriptor(module: SampleModule, version: str) -> None:
    store = RegistryStore()
    packed = pack(store, module, version, "127.0.0.1:5000")
    found = module_layers(RegistryComponents(store).component(module.component, version)).raw_manifest
    assert found is not None
    assert found.digest == packed.layer
    content = store.blob(repository_of(module), found.digest)
    kind = "oci-dir" if found.is_archive else "oci-ref"
    assert parse(unpack(content, kind)) == manifest_objects(module, version)
    assert b"&id" not in store.blob(repository_of(module), packed.raw), "anchors do not belong in manifests"


def test_packing_twice_gives_the_same_digests() -> None:
    one, two = RegistryStore(), RegistryStore()
    for module, version in EVERY:
        assert pack(one, module, version, "r") == pack(two, module, version, "r")


def test_a_plain_manifest_and_an_archive_have_their_media_types() -> None:
    store = RegistryStore()
    plain = pack(store, module_named("keda"), "1.5.0", "r")
    archive = pack(store, module_named("istio"), "1.11.0", "r")
    assert plain.media_type == "application/octet-stream"
    assert archive.media_type == "application/x-tar"


def test_a_chart_has_definitions_apart_and_the_image_as_a_value() -> None:
    store = RegistryStore()
    module = module_named("registry-proxy")
    packed = pack(store, module, "0.15.0", "r")
    manifest = json.loads(store.manifest("charts/registry-proxy", "0.15.0").content)
    assert store.manifest("charts/registry-proxy", packed.chart).digest == packed.chart
    [layer] = manifest["layers"]
    files = unpacked(gzip.decompress(store.blob("charts/registry-proxy", layer["digest"])))
    chart = yaml.safe_load(files["registry-proxy/Chart.yaml"])
    assert (chart["name"], chart["version"]) == ("registry-proxy", "0.15.0")
    assert any(name.startswith("registry-proxy/crds/") for name in files)
    [workload] = [text for name, text in files.items() if "/templates/deployment-" in name]
    assert b'image: "{{ .Values.image.repository }}:{{ .Values.image.tag | default .Chart.AppVersion }}"' in workload
    assert b"CustomResourceDefinition" not in b"".join(t for n, t in files.items() if "/templates/" in n)


def test_a_kustomization_sets_the_tag() -> None:
    store = RegistryStore()
    module = module_named("backup-operator")
    assert module.packing is Packing.KUSTOMIZATION
    packed = pack(store, module, "0.4.0", "r")
    files = unpacked(store.blob(repository_of(module), packed.kustomization))
    kustomization = yaml.safe_load(files["kustomization.yaml"])
    assert set(kustomization["resources"]) < set(files)
    assert kustomization["images"][0]["newTag"] == "0.4.0"


@pytest.mark.parametrize(
    ("text", "names"),
    [
        (
            b"kind: A\napiVersion: v1\nmetadata: {name: a}\n---\n---\nkind: A\napiVersion: v1\nmetadata: {name: a}\n",
            ["a"],
        ),
        (b"kind: List\napiVersion: v1\nitems: [{kind: A, apiVersion: v1, metadata: {name: b}}]\n", ["b"]),
        (b"", []),
        (b"just words\n", []),
    ],
    ids=["duplicates", "a list", "nothing", "no objects"],
)
def test_manifests_are_parsed(text: bytes, names: list[str]) -> None:
    assert [o["metadata"]["name"] for o in parse(text)] == names
