"""Nothing of a chart or a module is used that is not signed may be outdated asked for."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import pytest

from kymatui.actions.modules.module_sources import ModuleSource
from kymatui.actions.modules.signatures import SignatureOptions, refuse_unsigned_kind, signed_module
from kymatui.domain.kyma.module_templates import ModuleTemplate, read_template
from kymatui.domain.plans.direct_install import InstallChoice
from kymatui.errors import ConfigurationError, UsageError
from kymatui.helm import dump_yaml
from kymatui.ocm import SignatureError
from kymatui.sessions.charts import signed_chart
from kymatui.sessions.fetching import FetchOptions
from tests.engine.sources.fetching import StoredBlobs
from tests.engine.sources.packing import tar
from tests.ocm.components import component, public_pem, resource, signed

RAW = b"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: raw}\n"
CR = "apiVersion: x.io/v1\nkind: A\nmetadata: {name: a}\n"


def described(blobs: StoredBlobs, name: str = "acme.org/module/shop", version: str = "1.0.0") -> dict[str, Any]:
    resources = []
    for title, content in (("raw-manifest", tar({"raw.yaml": RAW})), ("default-cr", tar({"cr.yaml": CR}))):
        digest = blobs.add(content)
        told = {"hashAlgorithm": "SHA-256", "normalisationAlgorithm": "genericBlobDigest/v1", "value": digest[7:]}
        access = {"type": "localBlob", "localReference": digest, "mediaType": "application/x-tar"}
        resources.append(resource(title, access=access, digest=told))
    context = [{"type": "OCIRegistry", "baseUrl": "reg.io"}]
    return component(name=name, version=version, resources=resources, repositoryContexts=context)


def choice(document: dict[str, Any] | None) -> InstallChoice:
    spec: dict[str, Any] = {"moduleName": "shop", "version": "1.0.0", "data": {"kind": "Evil", "apiVersion": "x/v1"}}
    if document is not None:
        spec["descriptor"] = document
    metadata = {"name": "shop-1.0.0", "namespace": "kyma-system"}
    kind = {"apiVersion": "operator.kyma-project.io/v1beta2", "kind": "ModuleTemplate"}
    template = read_template({**kind, "metadata": metadata, "spec": spec})
    assert isinstance(template, ModuleTemplate)
    return InstallChoice(template, "https://never.example", "shops")


@pytest.fixture
def key(tmp_path: Path) -> str:
    path = tmp_path / "key.pem"
    path.write_bytes(public_pem())
    return str(path)


def test_a_signed_module_comes_from_its_layers_alone(key: str) -> None:
    """Neither the address of the manifest nor the default resource in the template is signed."""
    blobs = StoredBlobs()
    found = signed_module(choice(signed(described(blobs))), SignatureOptions(public_key=key, signature="acme"), blobs)
    assert (found.name, found.namespace, found.version) == ("shop", "shops", "1.0.0")
    assert [one["metadata"]["name"] for one in found.objects] == ["raw"]
    assert found.resource is not None
    assert found.resource["kind"] == "A"
    assert {one[0] for one in blobs.asked} == {"layer"}
    assert not any("insecure" in one for one in blobs.asked)
    signed_module(choice(signed(described(blobs))), SignatureOptions(public_key=key), blobs, ("reg.io",))
    assert "insecure" in blobs.asked[-1]


def test_a_module_that_is_not_signed_as_asked_is_refused_before_anything_is_fetched(key: str) -> None:
    blobs = StoredBlobs()
    by_key = SignatureOptions(public_key=key)
    for document, signers, said in (
        (None, by_key, "kyma-system/shop-1.0.0 is not signed: it has no component descriptor"),
        (described(blobs), by_key, "acme.org/module/shop:1.0.0 is not signed"),
        (signed(described(blobs), number=1), by_key, "was not made with this key"),
        (signed(described(blobs)), SignatureOptions(public_key=key, signature="other"), "has no signature 'other'"),
        (signed(described(blobs)), SignatureOptions(public_key=key, issuer="CN=acme"), "a plain key has no name"),
        (signed(described(blobs, version="0.9.0")), by_key, "offers shop 1.0.0, but its component is .* 0.9.0"),
        (signed(described(blobs, name="acme.org/module/other")), by_key, "its component is acme.org/module/other"),
    ):
        with pytest.raises(SignatureError, match=said):
            signed_module(choice(document), signers, blobs)
    changed = signed(described(blobs))
    changed["component"]["resources"][0]["digest"]["value"] = "0" * 64
    with pytest.raises(SignatureError, match="is for the digest"):
        signed_module(choice(changed), by_key, blobs)
    assert blobs.asked == []


def test_a_layer_that_is_another_one_is_refused(key: str) -> None:
    blobs = StoredBlobs()
    document = signed(described(blobs))
    document["component"]["resources"][0]["access"]["localReference"] = blobs.add(tar({"raw.yaml": b"evil"}))
    with pytest.raises(SignatureError, match=r"resource raw-manifest has SHA-256 .*, but .* was signed"):
        signed_module(choice(document), SignatureOptions(public_key=key), blobs)


def test_who_is_trusted_has_to_be_said(tmp_path: Path) -> None:
    blobs = StoredBlobs()
    with pytest.raises(UsageError, match="a key or root certificates are required"):
        signed_module(choice(signed(described(blobs))), SignatureOptions(), blobs)
    with pytest.raises(ConfigurationError, match=r"--public-key: .*gone.pem cannot be read"):
        signed_module(choice(signed(described(blobs))), SignatureOptions(public_key=str(tmp_path / "gone.pem")), blobs)
    with pytest.raises(UsageError, match="verification needs a keyring"):
        signed_chart(ModuleSource(chart="web.tgz"), SignatureOptions(public_key="key.pem"), FetchOptions())
    for source in (ModuleSource(file="a.yaml"), ModuleSource(kustomization="k")):
        with pytest.raises(UsageError, match="has no signature to verify"):
            refuse_unsigned_kind(source)


# charts

TEMPLATE = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n"


def packed(folder: Path, signer: Any) -> Path:
    """A packed chart, with its provenance beside it."""
    head = {"apiVersion": "v2", "name": "web", "version": "1.0.0"}
    path = folder / "web-1.0.0.tgz"
    path.write_bytes(tar({"web/Chart.yaml": json.dumps(head), "web/templates/a.yaml": TEMPLATE}, packed=True))
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    text = f"{dump_yaml(head)}\n...\nfiles:\n  {path.name}: sha256:{digest}\n"
    sequoia = pytest.importorskip("pysequoia", reason="pysequoia is not installed")
    proof = sequoia.sign(signer.signer(), text.encode(), mode=sequoia.SignatureMode.CLEAR)
    (folder / f"{path.name}.prov").write_bytes(bytes(proof))
    return path


def test_a_chart_is_loaded_where_its_provenance_holds_and_refused_otherwise(tmp_path: Path) -> None:
    sequoia = pytest.importorskip("pysequoia", reason="pysequoia is not installed")
    signer, stranger = (sequoia.Tsk.generate(f"{name} <{name}@example.org>") for name in ("ann", "eve"))
    rings = {}
    for name, one in (("ann", signer), ("eve", stranger)):
        rings[name] = tmp_path / name
        rings[name].write_bytes(bytes(one.extract_certificate()))
    path = packed(tmp_path, signer)
    source, ann = ModuleSource(chart=str(path)), SignatureOptions(keyring=str(rings["ann"]))
    found = signed_chart(source, ann, FetchOptions())
    assert (found.chart.version, found.origin.address) == ("1.0.0", str(path))
    with pytest.raises(SignatureError, match=r"web-1.0.0.tgz: the signature does not hold"):
        signed_chart(source, SignatureOptions(keyring=str(rings["eve"])), FetchOptions())
    path.write_bytes(path.read_bytes() + b"!")
    with pytest.raises(SignatureError, match=r"web-1.0.0.tgz: sha256 sum does not match"):
        signed_chart(source, ann, FetchOptions())
    path.with_name(f"{path.name}.prov").unlink()
    with pytest.raises(SignatureError, match="is not signed: no provenance file"):
        signed_chart(source, ann, FetchOptions())
    with pytest.raises(SignatureError, match="is a folder; only packed charts are signed"):
        signed_chart(ModuleSource(chart=str(tmp_path)), ann, FetchOptions())
