"""Modules by their components: layers that are verified before anything of them is used."""

from __future__ import annotations

from typing import Any

import pytest

from kymatui.engine.bundles.addresses import content_digest
from kymatui.engine.sources.component_source import ModuleComponent, Trust
from kymatui.errors import SourceError
from kymatui.ocm import Keys, SignatureError, read_descriptor
from tests.engine.sources.fetching import StoredBlobs
from tests.engine.sources.packing import tar
from tests.ocm.components import component, public_pem, resource, signed

RAW = b"apiVersion: v1\nkind: Secret\nmetadata: {name: raw}\n"
CR = "apiVersion: x.io/v1\nkind: A\nmetadata: {name: a}\n"
CRD = "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {name: as.x.io}\n"
CONTEXT = [{"type": "OCIRegistry", "baseUrl": "reg.io"}]
TRUST = Trust(Keys(public_key=public_pem()))


def layer(blobs: StoredBlobs, name: str, content: bytes, kind: str = "yaml", media: str = "application/x-tar") -> Any:
    digest = blobs.add(content)
    access = {"type": "localBlob", "localReference": digest, "mediaType": media}
    told = {"hashAlgorithm": "SHA-256", "normalisationAlgorithm": "genericBlobDigest/v1", "value": digest[7:]}
    return resource(name, type=kind, access=access, digest=told)


def described(*resources: Any) -> dict[str, Any]:
    return component(resources=list(resources), repositoryContexts=CONTEXT)


def test_the_manifest_and_the_default_resource_of_a_module() -> None:
    blobs = StoredBlobs()
    document = described(
        layer(blobs, "raw-manifest", tar({"raw.yaml": RAW})),
        layer(blobs, "default-cr", tar({"cr.yaml": CR})),
        layer(blobs, "crds", tar({"crd.yaml": CRD}, packed=True)),
    )
    [bundle] = ModuleComponent(read_descriptor(document), blobs).bundles(namespace="shop")
    assert [one["metadata"]["name"] for one in bundle.objects] == ["raw"]
    assert [one["metadata"]["name"] for one in bundle.crds] == ["as.x.io"]
    assert bundle.resource is not None
    assert bundle.resource["kind"] == "A"
    assert (bundle.name, bundle.namespace, bundle.version) == ("raw-manifest", "shop", "1.0.0")
    assert bundle.origin.address.startswith("reg.io/component-descriptors/acme.org/c@sha256:")


def test_charts_of_the_first_generation_with_their_config() -> None:
    chart = {
        "Chart.yaml": "apiVersion: v2\nname: redis\nversion: 0.1.0\n",
        "templates/a.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata: {a: '{{ .Values.a }}'}\n",
    }
    blobs = StoredBlobs()
    document = described(
        layer(blobs, "config", b'configs: [{name: redis, clientConfig: "Namespace=db", overrides: "a=1"}]', media=""),
        layer(blobs, "redis", tar(chart, packed=True), kind="helm-chart"),
    )
    [bundle] = ModuleComponent(read_descriptor(document), blobs).bundles()
    assert (bundle.name, bundle.namespace, bundle.objects[0]["data"]) == ("redis", "db", {"a": "1"})


def test_a_signed_module_is_used_once_it_is_verified() -> None:
    blobs = StoredBlobs()
    document = signed(described(layer(blobs, "raw-manifest", tar({"raw.yaml": RAW}))))
    assert ModuleComponent(read_descriptor(document), blobs, trust=TRUST).bundles()[0].objects


def test_nothing_is_fetched_of_a_module_that_is_not_signed_as_asked() -> None:
    blobs = StoredBlobs()
    document = described(layer(blobs, "raw-manifest", tar({"raw.yaml": RAW})))
    for one in (document, signed(document, number=1)):
        with pytest.raises(SignatureError):
            ModuleComponent(read_descriptor(one), blobs, trust=TRUST)
    assert blobs.asked == []


def test_a_layer_that_was_put_in_the_place_of_the_signed_one_is_refused() -> None:
    blobs = StoredBlobs()
    document = signed(described(layer(blobs, "raw-manifest", tar({"raw.yaml": RAW}))))
    other = blobs.add(tar({"raw.yaml": RAW.replace(b"raw", b"evil")}))
    document["component"]["resources"][0]["access"]["localReference"] = other
    descriptor = read_descriptor(document)
    assert ModuleComponent(descriptor, blobs).bundles()
    with pytest.raises(SignatureError, match="was signed"):
        ModuleComponent(descriptor, blobs, trust=TRUST).bundles()


@pytest.mark.parametrize(
    ("resources", "words"),
    [
        ([], "no installable layer"),
        ([("default-cr", tar({"a.yaml": CR}))], "no installable layer"),
        ([("raw-manifest", b"plain")], "not a tar archive"),
        ([("raw-manifest", tar({"a.yaml": RAW})), ("default-cr", tar({"a.yaml": ""}))], "has 0 objects"),
    ],
    ids=["nothing", "only a resource", "not an archive", "an empty resource"],
)
def test_modules_that_cannot_be_installed(resources: list[tuple[str, bytes]], words: str) -> None:
    blobs = StoredBlobs()
    document = described(*(layer(blobs, name, content) for name, content in resources))
    with pytest.raises(SourceError, match=words):
        ModuleComponent(read_descriptor(document), blobs).bundles()


def test_a_module_whose_registry_nobody_knows() -> None:
    blobs = StoredBlobs()
    document = component(resources=[layer(blobs, "raw-manifest", tar({"raw.yaml": RAW}))])
    with pytest.raises(SourceError, match="the descriptor names no registry for layer raw-manifest"):
        ModuleComponent(read_descriptor(document), blobs).bundles()
    moved = ModuleComponent(read_descriptor(document), blobs, registry="http://reg.io:5000", insecure=True)
    assert moved.bundles()
    assert blobs.asked[-1][1:] == (
        "reg.io:5000/component-descriptors/acme.org/c",
        content_digest(tar({"raw.yaml": RAW})),
        "insecure",
    )
