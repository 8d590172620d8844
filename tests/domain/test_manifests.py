"""Manifests of both versions, the names lifecycle-manager gives them, and the identity of default resources."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from kymatui.domain.kubernetes.object_meta import MalformedObject
from kymatui.domain.kubernetes.refs import GroupVersionKind, ObjectRef
from kymatui.domain.kyma.manifests import (
    HelmSource,
    ImageSpec,
    KustomizeSource,
    Manifest,
    ManifestInstall,
    UnknownSource,
    default_resource,
    default_resource_body,
    manifest_name,
    read_manifest,
)
from tests.domain.builders import API, SAMPLE, manifest

RUNTIME = "9b9437b0-e148-430b-9ad6-4537adc41557"


@pytest.mark.parametrize(
    ("kyma", "component", "name"),
    [
        ("default-id", "kyma-project.io/module/some-module", "default-id-some-module-1831772875"),
        ("default-id", "example.org/some-module", "default-id-some-module-1457091198"),
        ("default-id", "simple-component", "default-id-simple-component-3590401810"),
        (RUNTIME, "simple-compone", f"{RUNTIME}-simple-compone-3786713812"),
        ("default-id", "simple-component-----------------------------------------", "default-id-simple-component"),
    ],
)
def test_17_names(kyma: str, component: str, name: str) -> None:
    assert manifest_name(kyma, component, "module1") == name


def test_17_a_long_name_is_cut() -> None:
    name = manifest_name("default-id", "x" * 70, "module1")
    assert name == "default-id-" + "x" * 51
    assert len(name) == 62


@pytest.mark.parametrize(
    ("metadata", "cluster_scoped", "namespace", "name"),
    [
        pytest.param({}, False, "kyma-system", "the-manifest", id="18 neither"),
        pytest.param({"name": "own"}, False, "kyma-system", "own", id="18 a name"),
        pytest.param({"name": "own", "namespace": "docker-registry"}, False, "docker-registry", "own", id="18 both"),
        pytest.param({"name": "own", "namespace": "ignored"}, True, "", "own", id="18 a cluster-scoped kind"),
    ],
)
def test_18_the_default_resource(metadata: dict[str, str], cluster_scoped: bool, namespace: str, name: str) -> None:
    data = {"apiVersion": SAMPLE.api_version, "kind": "Sample", "metadata": metadata}
    found = default_resource(data, "the-manifest", cluster_scoped=cluster_scoped)
    assert found == ObjectRef(SAMPLE, namespace, name)


def test_19_a_status_in_the_data_is_ignored() -> None:
    data = {
        "apiVersion": SAMPLE.api_version,
        "kind": "Sample",
        "metadata": {"labels": {"a": "b"}, "namespace": "x"},
        "spec": {"kept": True},
        "status": {"state": "Ready"},
    }
    body = default_resource_body(data, ObjectRef(SAMPLE, "", "the-manifest"))
    assert body == {
        "apiVersion": SAMPLE.api_version,
        "kind": "Sample",
        "metadata": {"labels": {"a": "b"}, "name": "the-manifest"},
        "spec": {"kept": True},
    }


def read(raw: Any) -> Manifest:
    found = read_manifest(raw)
    assert isinstance(found, Manifest)
    return found


def test_v1beta2() -> None:
    raw = manifest("mod", "1.2.0", annotations={"operator.kyma-project.io/is-unmanaged": "true"})
    source = {"repo": "r.io", "name": "c/mod", "ref": "sha256:1", "type": "oci-ref"}
    raw["spec"]["install"] = {"name": "c/mod", "source": source}
    raw["status"]["synced"] = [{"group": "apps", "version": "v1", "kind": "Deployment", "name": "m", "namespace": "n"}]
    raw["spec"]["unheardOf"] = {"kept": True}
    found = read(raw)
    assert (found.version, found.module, found.kyma, found.channel) == ("1.2.0", "mod", "default", "regular")
    assert found.unmanaged
    assert found.installs == (ManifestInstall("c/mod", ImageSpec("r.io", "c/mod", "sha256:1", "oci-ref", None)),)
    assert found.synced == (ObjectRef(GroupVersionKind("apps", "v1", "Deployment"), "n", "m"),)
    assert found.raw["spec"]["unheardOf"] == {"kept": True}


@pytest.mark.parametrize(
    ("source", "read_as"),
    [
        ({"type": "helm-chart", "url": "https://x", "chartName": "c"}, HelmSource("https://x", "c")),
        ({"type": "kustomize", "path": "./p"}, KustomizeSource("", "./p")),
        ({"type": "oci-ref", "repo": "r", "name": "n", "ref": "d"}, ImageSpec("r", "n", "d", "oci-ref", None)),
        (
            {"type": "oci-ref", "credSecretSelector": {"matchLabels": {"a": "b"}}},
            ImageSpec("", "", "", "oci-ref", {"matchLabels": {"a": "b"}}),
        ),
        ({"type": ""}, UnknownSource("")),
        ({"type": "zip"}, UnknownSource("zip")),
    ],
)
def test_v1alpha1_sources(source: dict[str, Any], read_as: object) -> None:
    spec = {"installs": [{"name": "one", "source": source}, {"name": "two", "source": {"type": "oci-ref"}}]}
    found = read({"apiVersion": "operator.kyma-project.io/v1alpha1", "metadata": {"name": "m"}, "spec": spec})
    assert found.installs[0] == ManifestInstall("one", read_as)  # type: ignore[arg-type]
    assert [install.name for install in found.installs] == ["one", "two"]
    assert found.remote, "v1alpha1 defaults to the runtime"


def test_the_sample_of_the_first_generation(shared: Path) -> None:
    text = (shared / "kyma/manifests/v1alpha1_module-manager_sample.yaml").read_text()
    found = read(yaml.safe_load(text))
    assert found.installs == (
        ManifestInstall("nginx-stable", HelmSource("https://helm.nginx.com/stable", "nginx-ingress")),
    )
    assert not found.remote
    assert found.resource is not None
    assert found.resource["kind"] == "SampleCRD"


@pytest.mark.parametrize(
    ("raw", "reason"),
    [
        ([], "the object is something else, expected an object"),
        ({"kind": "Manifest"}, "metadata.name is missing"),
        ({"metadata": {"name": "m"}, "spec": []}, "spec is not an object"),
    ],
)
def test_what_cannot_be_read_is_kept_with_the_reason(raw: object, reason: str) -> None:
    found = read_manifest(raw)
    assert isinstance(found, MalformedObject)
    assert (found.reason, found.raw) == (reason, raw)


def test_a_field_of_the_wrong_type_is_a_flaw_and_nothing_more() -> None:
    found = read({"apiVersion": API, "metadata": {"name": "m"}, "spec": {"version": 3, "remote": "yes"}})
    assert [str(flaw) for flaw in found.flaws] == [
        "spec.version is a number, expected a string",
        "spec.remote is a string, expected a boolean",
    ]
