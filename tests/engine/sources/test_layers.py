"""Layers of modules: what is taken out of them, and what is refused."""

from __future__ import annotations

import gzip
import tarfile
from typing import Any

import pytest

from kymatui.engine.bundles.tar_archives import read_tar
from kymatui.engine.sources import oci_layers
from kymatui.engine.sources.manifest_installs import InstallConfig, read_configs
from kymatui.engine.sources.oci_layers import LayerRef, Shape
from kymatui.errors import RegistryError, SourceError
from tests.engine.sources.fetching import StoredBlobs
from tests.engine.sources.packing import folder, link, tar

X = "x.yaml"
DIGEST = "sha256:" + "a" * 64


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (b"kind: A\n", b"kind: A\n"),
        (tar({"._x": "no", X: "yes"}), b"yes"),
        (tar({"folder": folder("folder"), "folder/._x.yaml": "no", "folder/x.yaml": "yes"}), b"yes"),
        (tar({"first.yaml": "1", "second.yaml": "2"}), b"1"),
        (tar({"./x.yaml": "yes"}), b"yes"),
        (tar({X: "yes"}, packed=True), b"yes"),
        (gzip.compress(b"kind: A\n"), b"kind: A\n"),
        (b"", b""),
    ],
    ids=["plain", "files of macOS", "folders", "two files", "a dot", "packed", "packed text", "empty"],
)
def test_the_manifest_of_a_layer(data: bytes, expected: bytes) -> None:
    assert oci_layers.raw_manifest(data, "layer") == expected


BAD = {
    "leads out": (tar({"../evil": "x"}), "'../evil' leads out of the archive"),
    "leads out behind a good file": (tar({X: "x", "a/../../evil": "x"}), "leads out of the archive"),
    "absolute": (tar({"/etc/x.yaml": "x"}), "leads out of the archive"),
    "a drive": (tar({"c:/x.yaml": "x"}), "leads out of the archive"),
    "backslashes": (tar({"..\\x.yaml": "x"}), "leads out of the archive"),
    "a folder that leads out": (tar({X: "x", "f": folder("../f")}), "leads out of the archive"),
    "a link": (tar({X: link(X, "/etc/passwd")}), "'x.yaml' is a link"),
    "a hard link": (tar({X: link(X, "y", kind=tarfile.LNKTYPE)}), "'x.yaml' is a link"),
    "a device": (tar({X: link(X, "", kind=tarfile.CHRTYPE)}), "is not a regular file"),
    "empty": (tar({}), "without files"),
    "only folders": (tar({"f": folder("f")}), "without files"),
    "only files of macOS": (tar({"._x": "no"}), "without a manifest"),
    "cut off": (tar({X: "x" * 3000})[:1500], "damaged|cut off"),
    "not an archive": (b"kind: A\n", "not a tar archive"),
    "nothing": (b"", "not a tar archive|without files"),
    "a damaged packing": (tar({X: "x" * 999}, packed=True)[:-9], "damaged"),
}


@pytest.mark.parametrize("name", BAD)
def test_archives_that_are_refused(name: str) -> None:
    data, words = BAD[name]
    with pytest.raises(SourceError, match=words):
        oci_layers.raw_manifest(data, "layer", archive=True)


def test_what_unpacks_out_of_proportion_is_refused() -> None:
    with pytest.raises(SourceError, match="is too large when unpacked"):
        oci_layers.raw_manifest(gzip.compress(b"\0" * (40 << 20)), "layer")


def test_of_a_path_that_stands_twice_the_first_counts() -> None:
    assert read_tar(tar({"./a": "1", "a": "2"}), "x") == {"a": b"1"}


@pytest.mark.parametrize(
    ("files", "shape"),
    [
        ({"Chart.yaml": "", "values.yaml": ""}, Shape.CHART),
        ({"web/Chart.yaml": "", "web/charts/db/Chart.yaml": ""}, Shape.CHART),
        ({"kustomization.yaml": "", "a.yaml": ""}, Shape.KUSTOMIZATION),
        ({"Kustomization": "", "a.yaml": ""}, Shape.KUSTOMIZATION),
        ({"m/kustomization.yml": "", "m/a.yaml": ""}, Shape.KUSTOMIZATION),
        ({"README.md": "", "any.yml": "kind: A"}, Shape.MANIFEST),
        ({"._any.yaml": "", "any.yaml": "kind: A"}, Shape.MANIFEST),
    ],
)
@pytest.mark.parametrize("packed", [True, False])
def test_the_shape_of_an_archive(files: dict[str, str], shape: Shape, packed: bool) -> None:
    found = oci_layers.read_layer(tar(files, packed=packed), "layer")
    assert found.shape is shape
    if shape is Shape.MANIFEST:
        assert found.manifest == b"kind: A"
    else:
        assert found.files is not None
        assert not any(name.startswith(("web/", "m/")) for name in found.files)


def test_a_layer_that_is_no_archive_is_a_manifest() -> None:
    assert oci_layers.read_layer(b"kind: A", "layer") == oci_layers.Layer(Shape.MANIFEST, b"kind: A")


@pytest.mark.parametrize("files", [{"a.yaml": "", "b.yaml": ""}, {"README.md": ""}])
def test_an_archive_of_no_known_shape_is_refused(files: dict[str, str]) -> None:
    with pytest.raises(SourceError, match=r"layer is neither a chart, a kustomization nor a manifest"):
        oci_layers.read_layer(tar(files, packed=True), "layer")


@pytest.mark.parametrize(
    ("repo", "name", "folder", "expected"),
    [
        ("reg.io/modules", "x.io/m", "", ("reg.io/modules/x.io/m", False)),
        ("https://reg.io", "m", "", ("reg.io/m", False)),
        ("http://reg.io:5000/", "m", "", ("reg.io:5000/m", True)),
        ("reg.io/modules", "x.io/m", "component-descriptors", ("reg.io/modules/component-descriptors/x.io/m", False)),
        ("reg.io/component-descriptors", "m", "component-descriptors", ("reg.io/component-descriptors/m", False)),
        ("reg.io", "component-descriptors/m", "component-descriptors", ("reg.io/component-descriptors/m", False)),
    ],
)
def test_where_a_layer_is(repo: str, name: str, folder: str, expected: tuple[str, bool]) -> None:
    ref = LayerRef.of(repo, name, DIGEST, folder=folder)
    assert (ref.repository, ref.insecure) == expected


@pytest.mark.parametrize(
    ("repo", "name", "ref", "words"),
    [
        ("ftp://reg.io", "m", DIGEST, "not a registry"),
        ("reg.io", "m", "1.0.0", "not a layer digest"),
        ("reg.io", "m", "sha256:ABC", "not a layer digest"),
        ("", "m", DIGEST, "a repo and a name"),
        ("reg.io", "", DIGEST, "a repo and a name"),
    ],
)
def test_what_names_no_layer(repo: str, name: str, ref: str, words: str) -> None:
    with pytest.raises(SourceError, match=words):
        LayerRef.of(repo, name, ref)


def test_a_layer_is_checked_whatever_the_port_gives() -> None:
    blobs = StoredBlobs()
    ref = LayerRef("reg.io/m", blobs.add(b"good"), insecure=True)
    assert oci_layers.fetch(ref, blobs) == b"good"
    assert blobs.asked == [("layer", "reg.io/m", ref.digest, "insecure")]
    blobs.layers[ref.digest] = b"bad"
    with pytest.raises(RegistryError, match="arrived as sha256:"):
        oci_layers.fetch(ref, blobs)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", {}),
        ("# nothing\n", {}),
        ("configs:\n", {}),
        ("configs: [{name: a}]", {"a": InstallConfig()}),
        (
            'configs: [{name: a, clientConfig: "CreateNamespace=true,Namespace=x,Timeout=5,Odd=1", overrides: "a=1"}]',
            {"a": InstallConfig({"CreateNamespace": True, "Namespace": "x", "Timeout": 5}, "a=1")},
        ),
        ("configs: [{name: a, overrides: a=1}, {name: a, overrides: a=2}]", {"a": InstallConfig(overrides="a=1")}),
    ],
)
def test_config_layers(text: str, expected: dict[str, Any]) -> None:
    assert read_configs(text.encode(), "config") == expected


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("configs: a", "configs is not a list"),
        ("configs: {name: a}", "configs is not a list"),
        ("[]", "a config layer must be a map"),
        ("configs: [a]", r"configs\[0\] is not a map"),
        ("configs: [{overrides: a=1}]", r"configs\[0\] has no name"),
        ("configs: [{name: a, overrides: {a: 1}}]", "overrides is not a string"),
        ("configs: [{name: a, overrides: 'a[-1]=1'}]", r"configs\[0\]: overrides: "),
        ("configs: [{name: a, clientConfig: 'CreateNamespace=5'}]", "CreateNamespace is 5, expected true or false"),
        ("configs: [{name: a, clientConfig: 'Namespace=true'}]", "Namespace is true, expected text"),
        ("configs: [{name: a, clientConfig: 'Timeout=5m'}]", "Timeout is '5m', expected a whole number"),
        ("configs: [{name: a, clientConfig: 'Timeout=true'}]", "expected a whole number"),
        ("a: b: c", "config: .*mapping values are not allowed"),
    ],
)
def test_config_layers_that_are_wrong(text: str, words: str) -> None:
    with pytest.raises(SourceError, match=words):
        read_configs(text.encode(), "config")


def crd(name: str) -> str:
    return f"apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {{name: {name}}}\n"


def test_definitions_are_found_in_all_files_and_documents() -> None:
    data = tar(
        {
            "crds/b.yml": crd("b") + "---\n" + crd("a"),
            "crds/a.yaml": f"kind: Odd\n---\n{crd('c')}",
            "d.json": '{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "x"}}',
            "README.md": "kind: [",
        },
        packed=True,
    )
    assert [one["metadata"]["name"] for one in oci_layers.definitions(data, "crds")] == ["c", "b", "a"]


def test_a_layer_without_definitions_is_refused() -> None:
    with pytest.raises(SourceError, match="has no CRD"):
        oci_layers.definitions(tar({"a.yaml": "kind: A\n"}, packed=True), "crds")
