"""`bundle list`, `show` and `diff` on a registry over real sockets."""

from __future__ import annotations

import json
from typing import Any

import pytest
import yaml

from kymatui.adapters.oci.registry import RegistryArtifacts
from kymatui.cli.main import main
from kymatui.publishing.sign import SignRequest, sign_component
from tests.bundle.components import MANIFEST, NAME, NOTE, VERSION, document, local, location, put
from tests.bundle.test_image_signatures import push
from tests.engine.sources.packing import tar
from tests.ocm.components import key
from tests.sandbox.registry.conftest import Serve, serve  # noqa: F401 (a fixture)


@pytest.fixture
def host(serve: Serve) -> str:  # noqa: F811
    return serve().registry.address


def run(host: str, action: str, place: str, *words: str) -> int:
    return main(["bundle", action, place, *words, "--insecure-registry", host])


def test_versions_come_newest_first_without_tags_of_signatures(
    host: str, tmp_path: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    for version in ("1.9.0", "1.10.0", "1.10.0-rc.1", "1.2.3+b"):
        put(host, document(version=version))
    store = RegistryArtifacts(insecure=[host])
    raw, kind = store.manifest(location(host).repository, "1.9.0") or (b"", "")
    store.push_manifest(location(host).repository, f"sha256-{'0' * 64}.sig", raw, kind)
    assert run(host, "list", f"{host}/p//{NAME}") == 0
    assert capsys.readouterr().out.split() == ["1.10.0", "1.10.0-rc.1", "1.9.0", "1.2.3+b"]
    push(host, "2")
    push(host, "10")
    assert run(host, "list", f"{host}/img", "-o", "json") == 0
    assert json.loads(capsys.readouterr().out) == {"tags": ["10", "2"]}
    for kind in ("layout", "tar"):
        place = f"{kind}:{tmp_path / kind}"
        assert run(host, "copy", f"{host}/img:2", place) == 0
        capsys.readouterr()
        assert run(host, "list", place) == 0
        assert capsys.readouterr().out == "img:2\n"


@pytest.mark.parametrize("place", [f"r.example//{NAME}:1.0.0", "r.example", "r.example/a:1", "r.example//x"])
def test_places_without_versions(place: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("r.example", "list", place) == 64
    assert "write HOST//COMPONENT" in capsys.readouterr().err


def test_show_says_what_is_there_and_that_nothing_is_verified(host: str, capsys: pytest.CaptureFixture[str]) -> None:
    image = {"name": "manager", "version": "1", "type": "ociArtifact", "access": {"type": "ociArtifact"}}
    image["access"]["imageReference"] = "reg.io/manager:1"  # type: ignore[index]
    found = put(host, document(resources=[local("raw-manifest", MANIFEST), local("note", NOTE)]))
    sign_component(RegistryArtifacts(insecure=[host]), SignRequest(location(host), "acme"), key(0))
    reference = f"{host}/p//{NAME}:{VERSION}"
    assert run(host, "show", reference) == 0
    out = capsys.readouterr().out
    assert f"component  {NAME}:{VERSION}\n" in out
    assert "signature  acme (RSASSA-PKCS1-V1_5), not verified\n" in out
    assert "label      acme.org/signed=a (signed)\n" in out
    assert run(host, "show", reference, "-o", "json") == 0
    body = json.loads(capsys.readouterr().out)
    assert [(one["name"], one["size"]) for one in body["resources"]] == [("raw-manifest", len(MANIFEST)), ("note", 7)]
    assert body["signatures"][0]["name"] == "acme"
    assert body["digest"] != found.digest
    assert run(host, "show", reference, "--descriptor") == 0
    assert yaml.safe_load(capsys.readouterr().out)["component"]["name"] == NAME
    put(host, document(version="2.0.0", resources=[image, {**image, "name": "odd", "access": {"type": "s3"}}]))
    assert run(host, "show", f"{host}/p//{NAME}:2.0.0", "-o", "json") == 0
    assert [one["place"] for one in json.loads(capsys.readouterr().out)["resources"]] == ["reg.io/manager:1", "s3"]


def manifest(*bodies: dict[str, Any]) -> bytes:
    return tar({"manifest.yaml": yaml.safe_dump_all(bodies).encode()})


def body(kind: str, name: str, group: str = "v1", **more: Any) -> dict[str, Any]:
    return {"apiVersion": group, "kind": kind, "metadata": {"name": name}, **more}


def version(host: str, number: str, content: bytes, image: str, **fields: Any) -> None:
    access = {"type": "ociArtifact", "imageReference": image}
    manager = {"name": "manager", "version": number, "type": "ociArtifact", "access": access}
    resources = [local("raw-manifest", content), manager]
    put(host, document(version=number, resources=resources, **fields), content)


def test_diff_compares_images_and_objects_by_section(host: str, capsys: pytest.CaptureFixture[str]) -> None:
    crd = {"spec": {"scope": "Cluster"}}
    rule = {"rules": [{"verbs": ["get"], "resources": ["secrets"], "apiGroups": [""]}]}
    old = manifest(
        body("ConfigMap", "a", data={"x": "1"}),
        body("CustomResourceDefinition", "things.acme.org", "apiextensions.k8s.io/v1", **crd),
        body("Service", "gone"),
    )
    new = manifest(
        body("ConfigMap", "a", data={"x": "2"}),
        body("CustomResourceDefinition", "things.acme.org", "apiextensions.k8s.io/v1", spec={"scope": "Namespaced"}),
        body("ClusterRole", "wide", "rbac.authorization.k8s.io/v1", **rule),
    )
    version(host, "1.0.0", old, "reg.io/manager:1")
    version(host, "1.1.0", new, "reg.io/manager:2", labels=[{"name": "acme.org/free", "value": 1}])
    assert run(host, "diff", f"{host}/p//{NAME}:1.0.0", "1.1.0", "-o", "json") == 2
    found = json.loads(capsys.readouterr().out)["differences"]
    assert found["images"] == [
        {"change": "changed", "path": "manager", "before": "reg.io/manager:1", "after": "reg.io/manager:2"}
    ]
    assert [(one["change"], one["path"]) for one in found["labels"]] == [("removed", "acme.org/signed")]
    assert [(one["path"], one["after"]) for one in found["CRDs"]] == [
        ("CustomResourceDefinition/things.acme.org.spec.scope", "Namespaced")
    ]
    assert [(one["change"], one["path"]) for one in found["RBAC"]] == [
        ("added", "ClusterRole/wide"),
        ("added", "ClusterRole/wide secrets"),
        ("added", "ClusterRole/wide privilege"),
    ]
    assert [(one["change"], one["path"]) for one in found["objects"]] == [
        ("changed", "ConfigMap/a.data.x"),
        ("removed", "Service/gone"),
    ]
    assert run(host, "diff", f"{host}/p//{NAME}:1.0.0", f"{host}/p//{NAME}:1.1.0") == 2
    out = capsys.readouterr().out
    assert "images (1 difference)\n  ~ manager: reg.io/manager:1 → reg.io/manager:2\n" in out
    rights = [
        "  + ClusterRole/wide",
        "  + ClusterRole/wide secrets: get",
        "  + ClusterRole/wide privilege: reads Secrets",
    ]
    assert "\n".join(["RBAC (3 differences)", *rights, ""]) in out


def test_diff_of_equal_components_is_silent(host: str, capsys: pytest.CaptureFixture[str]) -> None:
    put(host, document())
    put(host, document(), base="q")
    assert run(host, "diff", f"{host}/p//{NAME}:{VERSION}", f"{host}/q//{NAME}:{VERSION}") == 0
    assert capsys.readouterr().out.splitlines()[1:] == ["no differences"]
