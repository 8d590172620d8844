"""`bundle template`: the template of a component version in a registry, also of components of older tools."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from kymatui.actions.components.stored_components import publish
from kymatui.adapters.oci.registry import RegistryArtifacts
from kymatui.cli.main import main
from kymatui.engine.sources.component_source import blob_digest, resource_layer
from kymatui.ocm.component_location import ComponentLocation
from kymatui.publishing.lint_rules import ServerRules
from tests.bundle.sources import CR, NAME, VERSION, crd, workload, write_sources
from tests.bundle.test_create import create, stored
from tests.sandbox.registry.conftest import Serve, Served, serve  # noqa: F401 (a fixture)


@pytest.fixture
def served(serve: Serve) -> Served:  # noqa: F811
    return serve()


def template(host: str, *more: str, version: str = VERSION) -> int:
    return main(["bundle", "template", f"{host}/p//{NAME}:{version}", "--insecure-registry", host, *more])


def test_the_template_is_the_one_that_was_created(
    served: Served, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    host = served.registry.address
    assert create(write_sources(tmp_path, crd("Cluster"), workload(), default_cr=CR), host=host) == 0
    capsys.readouterr()
    assert template(host) == 0
    created = (tmp_path / "template.yaml").read_text()
    assert capsys.readouterr().out == created
    assert template(host, "--channel", "fast", "--first-release", "-o", str(tmp_path / "other.yaml")) == 0
    found, meta = yaml.safe_load_all((tmp_path / "other.yaml").read_text())
    assert found == yaml.safe_load(created)
    assert meta["spec"]["channels"] == [{"channel": "fast", "version": VERSION}]


def test_the_older_generation_names_where_the_component_is_now(
    served: Served, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A plain copy of manifests and blobs leaves the old place in the descriptor."""
    host = served.registry.address
    assert create(write_sources(tmp_path, workload(), default_cr=CR), host=host) == 0
    source, store = stored(host), RegistryArtifacts(insecure=[host])
    other = ComponentLocation(f"{host}/moved", NAME, VERSION)
    old, new = source.location.repository, other.repository
    raw, media_type = store.manifest(old, VERSION) or (b"", "")
    for one in [json.loads(raw)["config"], *json.loads(raw)["layers"]]:
        store.push_blob(new, b"", source="") if not one["size"] else store.push_blob(
            new, store.blob(old, one["digest"], 1 << 20), source=old
        )
    store.push_manifest(new, VERSION, raw, media_type)
    capsys.readouterr()
    line = ["bundle", "template", f"{host}/moved//{NAME}:{VERSION}", "--insecure-registry", host]
    assert main([*line, "--legacy", "--channel", "fast"]) == 0
    found = yaml.safe_load(capsys.readouterr().out)
    contexts = found["spec"]["descriptor"]["component"]["repositoryContexts"]
    assert [one["subPath"] for one in contexts] == ["p", "moved"]
    assert found["metadata"]["name"] == "sample-fast"
    assert found["spec"]["data"] == CR


def old_component(host: str, schema: str, default_cr: bytes = yaml.safe_dump(CR).encode()) -> None:
    """A component as tools before modulectl pushed it: without a template among its resources."""
    access = {"type": "localBlob", "localReference": blob_digest(default_cr), "mediaType": "application/octet-stream"}
    resource: dict[str, Any] = {
        "name": "default-cr",
        "type": "yaml",
        "relation": "local",
        "version": VERSION,
        "access": access,
    }
    source = {
        "name": "s",
        "type": "git",
        "version": VERSION,
        "access": {"type": "gitHub", "repoUrl": "https://x.example"},
    }
    labels = [{"name": "operator.kyma-project.io/beta", "value": "true"}]
    named: dict[str, Any] = {"name": NAME, "version": VERSION, "labels": labels}
    if schema == "v2":
        lists = {"resources": [resource], "sources": [source], "componentReferences": [], "repositoryContexts": []}
        document: dict[str, Any] = {"meta": {"schemaVersion": "v2"}, "component": {**named, "provider": "x", **lists}}
    else:
        spec = {"resources": [resource], "sources": [source]}
        metadata = {**named, "provider": {"name": "x"}}
        document = {"apiVersion": schema, "kind": "ComponentVersion", "metadata": metadata, "spec": spec}
    layers = [resource_layer(default_cr, "application/octet-stream", [{"name": "default-cr"}])]
    location = ComponentLocation(f"{host}/p", NAME, VERSION)
    publish(RegistryArtifacts(insecure=[host]), location, document, {blob_digest(default_cr): default_cr}, layers)


@pytest.mark.parametrize("schema", ["v2", "ocm.software/v3alpha1"])
def test_a_component_without_a_template_gets_one_from_its_descriptor(
    served: Served, schema: str, capsys: pytest.CaptureFixture[str]
) -> None:
    host = served.registry.address
    old_component(host, schema)
    assert template(host) == 0
    found = yaml.safe_load(capsys.readouterr().out)
    assert found["metadata"] == {
        "name": "sample-1.0.0",
        "labels": {"operator.kyma-project.io/module-name": "sample", "operator.kyma-project.io/beta": "true"},
        "annotations": {"operator.kyma-project.io/is-cluster-scoped": "false"},
    }
    assert found["spec"]["data"] == CR
    assert found["spec"]["info"]["repository"] == "https://x.example"
    assert template(host, "--legacy", "--channel", "fast") == 0
    descriptor = yaml.safe_load(capsys.readouterr().out)["spec"]["descriptor"]
    holder = descriptor["component"] if schema == "v2" else descriptor
    assert [one["baseUrl"] for one in holder["repositoryContexts"]] == [f"http://{host}"]


@pytest.mark.parametrize("content", [b"a: [", b"", b"kind: X\napiVersion: v1\nmetadata: {name: a}\n---\nkind: Y\n"])
def test_a_default_cr_that_cannot_be_read_is_refused(
    content: bytes, served: Served, capsys: pytest.CaptureFixture[str]
) -> None:
    old_component(served.registry.address, "v2", content)
    assert template(served.registry.address) == 1
    assert "default CR" in capsys.readouterr().err


def test_a_version_that_does_not_exist(served: Served, capsys: pytest.CaptureFixture[str]) -> None:
    assert template(served.registry.address, version="9.9.9") == 1
    assert f"{NAME}:9.9.9 does not exist" in capsys.readouterr().err
    assert template(served.registry.address, "--legacy") == 64


@pytest.mark.parametrize(
    ("more", "generation"),
    [(["--channel", "fast", "--first-release"], "klm-head"), (["--legacy", "--channel", "fast"], "klm-2024-06")],
)
def test_templates_are_valid_for_the_crds_of_lifecycle_manager(
    more: list[str], generation: str, served: Served, tmp_path: Path, shared: Path
) -> None:
    host = served.registry.address
    rules = [
        {"jsonPath": "status.state", "value": "Ready", "mappedState": "Ready"},
        {"jsonPath": "status.state", "value": "Error", "mappedState": "Error"},
    ]
    config = write_sources(
        tmp_path,
        crd(),
        workload(),
        default_cr=CR,
        customStateCheck=rules,
        manager={"name": "sample-manager", "namespace": "n", "group": "apps", "version": "v1", "kind": "Deployment"},
        associatedResources=[{"group": "g.example.com", "version": "v1", "kind": "K"}],
        resources={"rawManifest": "https://x.example/raw.yaml"},
        requiresDowntime=True,
        beta=True,
    )
    assert create(config, *more, host=host) == 0
    found = list(yaml.safe_load_all((tmp_path / "template.yaml").read_text()))
    assert len(found) == (1 if "--legacy" in more else 2)
    for one in found:
        path = shared / f"kyma/crds/{generation}/operator.kyma-project.io_{one['kind'].lower()}s.yaml"
        assert ServerRules().resource(yaml.safe_load(path.read_text()), one) == [], one["kind"]
