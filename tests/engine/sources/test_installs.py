"""The installs of Manifests become bundles, each on its own."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from kymatui.domain.kyma.manifests import Manifest, read_manifest
from kymatui.engine.bundles.bundle import Bundle
from kymatui.engine.sources.manifest_installs import InstallFailure, InstallReader
from kymatui.engine.sources.render_target import RenderTarget
from kymatui.helm import load_yaml
from tests.engine.sources.fetching import StoredBlobs
from tests.engine.sources.packing import tar

MAP = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: {{ .Release.Name }}\ndata:\n"
META = "apiVersion: v2\nname: web\nversion: 1.2.3\n"
RAW = "apiVersion: v1\nkind: Secret\nmetadata: {name: raw}\n"
CRD = "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {name: as.x.io}\n"
CHART = {"Chart.yaml": META, "values.yaml": "a: 0\nb: {c: 0}\n", "crds/a.yaml": CRD}
VALUES = MAP + '  a: "{{ .Values.a }}"\n  c: "{{ .Values.b.c }}"\n  ns: {{ .Release.Namespace }}\n'
DIGEST = "sha256:" + "0" * 64


def chart(template: str = VALUES, root: str = "", **more: str) -> bytes:
    files = {**CHART, "templates/a.yaml": template, **more}
    return tar({root + name: text for name, text in files.items()}, packed=True)


def layer(digest: str, kind: str = "oci-ref", repo: str = "reg.io/modules") -> dict[str, Any]:
    return {"type": kind, "repo": repo, "name": "x.io/m", "ref": digest}


def manifest(generation: str = "v1alpha1", /, **spec: Any) -> Manifest:
    raw = {
        "apiVersion": f"operator.kyma-project.io/{generation}",
        "kind": "Manifest",
        "metadata": {"name": "m", "namespace": "kcp-system"},
        "spec": spec,
    }
    found = read_manifest(raw)
    assert isinstance(found, Manifest)
    return found


def bundles(found: Manifest, blobs: StoredBlobs, **more: Any) -> list[Bundle]:
    made = InstallReader(found, blobs, **more).read()
    assert all(isinstance(one, Bundle) for one in made), made
    return [one for one in made if isinstance(one, Bundle)]


def test_two_installs_have_their_own_names_values_and_sources() -> None:
    blobs = StoredBlobs(charts={"web": chart(root="web/")})
    config = blobs.add(b"""
configs:
- {name: first, clientConfig: "CreateNamespace=false,Namespace=one", overrides: "a=1,b.c=x\\\\,y"}
- {name: second, overrides: "a=2"}
- {name: other, overrides: "a=3"}
""")
    found = manifest(
        config=layer(config),
        installs=[
            {"name": "first", "source": layer(blobs.add(chart()))},
            {"name": "second", "source": {"type": "helm-chart", "url": "https://x.io/charts", "chartName": "web"}},
        ],
    )
    first, second = bundles(found, blobs)
    assert [one["kind"] for one in first.objects] == ["ConfigMap"], "a namespace that is made is no part of the release"
    assert first.objects[0]["data"] == {"a": "1", "c": "x,y", "ns": "one"}
    assert (first.name, first.namespace, first.version, first.origin.kind) == ("first", "one", "1.2.3", "oci")
    assert (first.create_namespace, second.create_namespace) == (False, True)
    assert second.objects[0]["data"] == {"a": "2", "c": "0", "ns": "default"}
    assert (second.name, second.namespace, second.origin.kind) == ("second", "default", "helm")
    assert ("chart", "web", "https://x.io/charts", "") in blobs.asked
    assert len([one for one in blobs.asked if config in one]) == 1


def test_the_flags_of_a_client_that_change_what_is_installed() -> None:
    annotation = '  annotations: {"helm.sh/hook": pre-install}\n'
    hook = MAP.replace(".Name }}", ".Name }}-h").replace("\ndata:\n", f"\n{annotation}")
    blobs = StoredBlobs()
    source = layer(blobs.add(chart(**{"templates/hook.yaml": hook})))
    config = blobs.add(b"""
configs:
- {name: a, clientConfig: "SkipCRDs=true,DisableHooks=true,ReleaseName=b,Wait=true,Odd=1"}
""")
    plain, flagged = (
        bundles(manifest(installs=[{"name": "a", "source": source}], **spec), blobs)[0]
        for spec in (dict[str, Any](), {"config": layer(config)})
    )
    assert (plain.name, len(plain.crds), len(plain.hooks)) == ("a", 1, 1)
    assert (flagged.name, len(flagged.crds), len(flagged.hooks)) == ("b", 0, 0)
    assert flagged.notes == ("clientConfig of a: Wait has no effect here.",)


def test_a_chart_of_a_repository_may_have_its_version_in_the_config() -> None:
    blobs = StoredBlobs(charts={"web": chart(root="web/")})
    config = blobs.add(b'configs: [{name: a, clientConfig: "Version=1.2.3"}]')
    source = {"type": "helm-chart", "url": "https://x.io", "chartName": "web"}
    bundles(manifest(config=layer(config), installs=[{"name": "a", "source": source}]), blobs)
    assert ("chart", "web", "https://x.io", "1.2.3") in blobs.asked


@pytest.mark.parametrize(
    ("content", "kind"),
    [
        (RAW.encode(), "oci-ref"),
        (tar({"._raw.yaml": "no", "raw.yaml": RAW}), "oci-dir"),
        (tar({"raw.yaml": RAW}, packed=True), "oci-ref"),
    ],
    ids=["text", "a tar", "a packed tar"],
)
def test_raw_manifests_in_layers(content: bytes, kind: str) -> None:
    blobs = StoredBlobs()
    install = {"name": "raw-manifest", "source": layer(blobs.add(content), kind)}
    [made] = bundles(manifest("v1beta2", version="1.0.0", install=install), blobs)
    assert [one["metadata"]["name"] for one in made.objects] == ["raw"]
    assert (made.name, made.version, made.origin.version) == ("raw-manifest", "1.0.0", "1.0.0")
    assert blobs.asked[0][1] == "reg.io/modules/component-descriptors/x.io/m"


def test_layers_of_the_old_generation_lie_where_they_say() -> None:
    blobs = StoredBlobs()
    source = layer(blobs.add(RAW.encode()), repo="http://reg.io:5000")
    bundles(manifest(installs=[{"name": "a", "source": source}]), blobs)
    assert blobs.asked == [("layer", "reg.io:5000/x.io/m", source["ref"], "insecure")]


def test_layers_that_name_their_credentials_are_fetched_with_them() -> None:
    plain, private = StoredBlobs(), StoredBlobs()
    selector = {"matchLabels": {"operator.kyma-project.io/oci-registry-cred": "x"}}
    asked: list[Any] = []

    def authenticated(found: Any) -> StoredBlobs:
        asked.append(found)
        return private

    source = {**layer(private.add(RAW.encode())), "credSecretSelector": selector}
    other = layer(plain.add(RAW.encode()))
    found = manifest(installs=[{"name": "a", "source": source}, {"name": "b", "source": other}])
    bundles(found, plain, authenticated=authenticated)
    assert asked == [selector]
    assert [len(private.asked), len(plain.asked)] == [1, 1]


def test_definitions_come_with_the_first_install_and_the_resource_with_the_last() -> None:
    blobs = StoredBlobs()
    one = {"name": "one", "source": layer(blobs.add(RAW.encode()))}
    resource = {"apiVersion": "x.io/v1", "kind": "A", "metadata": {"name": "a"}, "status": {}, "resource": "as"}
    found = manifest(
        installs=[one, {**one, "name": "two"}],
        crds=layer(blobs.add(tar({"a.yaml": CRD}, packed=True))),
        resource=resource,
    )
    first, last = bundles(found, blobs)
    assert [len(first.crds), len(last.crds)] == [1, 0]
    assert first.resource is None
    assert last.resource == {"apiVersion": "x.io/v1", "kind": "A", "metadata": {"name": "a"}}


def test_images_are_taken_from_where_the_manifest_says() -> None:
    pod = "apiVersion: v1\nkind: Pod\nmetadata: {name: p}\nspec: {containers: [{name: c, image: 'old.io/m:1'}]}\n"
    blobs = StoredBlobs()
    install = {"name": "raw-manifest", "source": layer(blobs.add(pod.encode()))}
    [made] = bundles(manifest("v1beta2", install=install, localizedImages=["new.io/m:1"]), blobs)
    assert made.objects[0]["spec"]["containers"][0]["image"] == "new.io/m:1"


KUSTOMIZED = {"kustomization.yaml": "resources: [a.yaml]\nnamePrefix: p-\n", "a.yaml": RAW}


def test_kustomizations_in_a_layer_at_an_address_and_in_a_folder_that_may_be_read(tmp_path: Path) -> None:
    (tmp_path / "sub").mkdir()
    for file, text in KUSTOMIZED.items():
        (tmp_path / "sub" / file).write_text(text)
    deep = tar({f"deep/{file}": text for file, text in KUSTOMIZED.items()}, packed=True)
    blobs = StoredBlobs(urls={"https://x.io/k.tar.gz": deep})
    installs = [
        {"name": "layer", "source": layer(blobs.add(tar(KUSTOMIZED, packed=True)))},
        {"name": "url", "source": {"type": "kustomize", "url": "https://x.io/k.tar.gz//deep", "path": "ignored"}},
        {"name": "path", "source": {"type": "kustomize", "path": "sub"}},
    ]
    made = bundles(manifest(installs=installs), blobs, folder=tmp_path)
    assert [one.objects[0]["metadata"]["name"] for one in made] == ["p-raw"] * 3
    assert [one.origin.kind for one in made] == ["oci", "kustomize", "kustomize"]


@pytest.mark.parametrize(
    ("source", "words"),
    [
        ({"path": "sub"}, "is outside the allowed folders of this machine"),
        ({"url": "https://github.com/a/b?ref=main"}, "https://github.com/a/b is not an archive"),
        ({}, "needs a url or a path"),
    ],
)
def test_kustomizations_that_are_not_read(source: dict[str, str], words: str) -> None:
    found = manifest(installs=[{"name": "a", "source": {"type": "kustomize", **source}}])
    [made] = InstallReader(found, StoredBlobs()).read()
    assert isinstance(made, InstallFailure)
    assert words in str(made.error)


def test_a_kustomization_of_this_machine_keeps_within_its_folder(tmp_path: Path) -> None:
    (tmp_path / "may").mkdir()
    (tmp_path / "k.tgz").write_bytes(tar(KUSTOMIZED, packed=True))
    for path in ("..", "../k.tgz", str(tmp_path / "k.tgz")):
        found = manifest(installs=[{"name": "a", "source": {"type": "kustomize", "path": path}}])
        [made] = InstallReader(found, StoredBlobs(), folder=tmp_path / "may").read()
        assert isinstance(made, InstallFailure)
        assert "leads out of" in str(made.error)


def test_one_install_that_fails_hinders_no_other() -> None:
    blobs = StoredBlobs()
    bad = [
        {"name": "missing", "source": layer(DIGEST)},
        {"name": "odd", "source": {"type": "odd"}},
        {"name": "untyped", "source": {}},
        {"name": "broken", "source": layer(blobs.add(b"a: b\n\tc: d\n"))},
        {"name": "unnamed", "source": {"type": "helm-chart", "chartName": "web"}},
        {"name": "no-digest", "source": layer("1.0.0")},
    ]
    good = {"name": "good", "source": layer(blobs.add(RAW.encode()))}
    made = InstallReader(manifest(installs=[*bad, good]), blobs).read()
    words = [
        "is not there",
        "the unknown source type 'odd'",
        "the unknown source type ''",
        "raw-manifest.yaml: document 1: line 2",
        "a repository and a name",
        "'1.0.0' is not a layer digest",
    ]
    for one, expected in zip(made, words, strict=False):
        assert isinstance(one, InstallFailure)
        assert expected in str(one.error)
    assert [one.name for one in made][-1] == "good"
    assert isinstance(made[-1], Bundle)


def test_a_config_layer_that_is_wrong_fails_the_charts_alone() -> None:
    blobs = StoredBlobs()
    found = manifest(
        config=layer(blobs.add(b"configs: {}")),
        installs=[
            {"name": "chart", "source": layer(blobs.add(chart()))},
            {"name": "raw", "source": layer(blobs.add(RAW.encode()))},
        ],
    )
    first, second = InstallReader(found, blobs).read()
    assert isinstance(first, InstallFailure)
    assert "configs is not a list" in str(first.error)
    assert isinstance(second, Bundle)


def test_each_release_is_rendered_for_its_own_state() -> None:
    template = MAP + '  up: "{{ .Release.IsUpgrade }}{{ .Release.Revision }}"\n'
    blobs = StoredBlobs()
    source = layer(blobs.add(chart(template)))
    found = manifest(installs=[{"name": "old", "source": source}, {"name": "new", "source": source}])

    def target(release: str, namespace: str) -> RenderTarget:
        return replace(RenderTarget(), installed=release == "old", revision=3 if release == "old" else 1)

    made = bundles(found, blobs, target=target)
    assert [one.objects[0]["data"]["up"] for one in made] == ["true3", "false1"]


def test_the_sample_of_the_module_manager(shared: Path) -> None:
    raw = load_yaml((shared / "kyma" / "manifests" / "v1alpha1_module-manager_sample.yaml").read_bytes())
    found = read_manifest(raw)
    assert isinstance(found, Manifest)
    blobs = StoredBlobs(charts={"nginx-ingress": chart(root="web/")})
    [made] = bundles(found, blobs)
    assert made.name == "nginx-stable"
    assert made.resource is not None
    assert made.resource["kind"] == "SampleCRD"
    assert blobs.asked == [("chart", "nginx-ingress", "https://helm.nginx.com/stable", "")]
