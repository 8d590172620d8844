"""Charts become bundles: where they come from, what they are given, and what belongs to them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from kymatui.domain.inventories import Origin
from kymatui.engine.bundles.bundle import Bundle
from kymatui.engine.sources import chart_source
from kymatui.engine.sources.render_target import RenderTarget
from kymatui.errors import HelmError, RegistryError, SourceError
from kymatui.helm.charts.chart import Chart
from kymatui.helm.charts.values import merge_values
from kymatui.helm.rendering.releases import Release, Status, from_record, to_record
from tests.engine.sources.fetching import StoredBlobs
from tests.engine.sources.packing import tar

META = "apiVersion: v2\nname: web\nversion: 1.2.3\n"
MAP = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: {{ .Release.Name }}\ndata:\n"
CRD = "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {name: as.x.io}\n"


def bundle(files: dict[str, str], *, name: str = "r", **more: Any) -> Bundle:
    chart = Chart.from_files({"Chart.yaml": META, **files})
    loaded = chart_source.LoadedChart(chart, Origin("helm", "here", chart.version))
    return chart_source.chart_bundle(loaded, name=name, **more)


def data_of(template: str, **more: Any) -> dict[str, str]:
    return dict(bundle({"templates/a.yaml": MAP + template}, **more).objects[0]["data"])


def test_a_chart_with_all_its_parts() -> None:
    hook = 'metadata: {name: h, annotations: {"helm.sh/hook": "pre-install,post-upgrade", "helm.sh/hook-weight": "5"}}'
    made = bundle(
        {
            "templates/a.yaml": MAP + "  ns: {{ .Release.Namespace }}\n",
            "templates/h.yaml": f"apiVersion: v1\nkind: Secret\n{hook}\n",
            "templates/NOTES.txt": "Thank you for {{ .Chart.Name }}.",
            "crds/a.yaml": CRD + "---\n" + CRD.replace("as.x.io", "bs.x.io"),
            "values.yaml": "a: 1\n",
        },
        namespace="shop",
    )
    assert (made.name, made.namespace, made.version) == ("r", "shop", "1.2.3")
    assert [one["kind"] for one in made.objects] == ["ConfigMap"]
    assert made.objects[0]["data"] == {"ns": "shop"}
    assert [one["metadata"]["name"] for one in made.crds] == ["as.x.io", "bs.x.io"]
    [found] = made.hooks
    assert (found.hook.events, found.hook.weight, found.body["kind"]) == (("pre-install", "post-upgrade"), 5, "Secret")
    assert made.release is not None
    assert made.release.notes == "Thank you for web."
    assert made.release.manifest.startswith("---\n# Source: web/templates/a.yaml\napiVersion: v1\n")
    assert "helm.sh/hook" not in made.release.manifest


def test_definitions_can_be_left_out() -> None:
    assert bundle({"crds/a.yaml": CRD}, include_crds=False).crds == ()


def test_the_release_can_be_kept_in_a_secret_and_read_back() -> None:
    made = bundle(
        {"templates/a.yaml": MAP + "  x: y\n", "values.yaml": "big: 12345678\n"}, values=merge_values(set=["n=1"])
    )
    assert made.release is not None
    kept = Release(
        made.name,
        made.namespace,
        1,
        Status.DEPLOYED,
        chart=made.release.chart,
        config=made.release.config,
        manifest=made.release.manifest,
    )
    read = from_record(to_record(kept))
    assert read.config == {"n": 1}
    assert read.chart["values"] == {"big": 12345678}
    assert read.chart["metadata"] == {"name": "web", "version": "1.2.3", "apiVersion": "v2"}
    assert [one["name"] for one in read.chart["templates"]] == ["templates/a.yaml"]


@pytest.mark.parametrize(
    ("template", "target", "expected"),
    [
        ("  v: {{ .Capabilities.KubeVersion.Version }}", RenderTarget("v1.30.7"), "v1.30.7"),
        (
            '  v: "{{ .Release.IsUpgrade }}{{ .Release.IsInstall }}{{ .Release.Revision }}"',
            RenderTarget(),
            "falsetrue1",
        ),
        (
            '  v: "{{ .Release.IsUpgrade }}{{ .Release.IsInstall }}{{ .Release.Revision }}"',
            RenderTarget(installed=True, revision=4),
            "truefalse4",
        ),
        ('  v: "{{ .Capabilities.APIVersions.Has "x.io/v1/A" }}"', RenderTarget(served=("x.io/v1/A",)), "true"),
        ('  v: "{{ .Capabilities.APIVersions.Has "apps/v1" }}"', RenderTarget(served=("x.io/v1/A",)), "false"),
        ('  v: "{{ .Capabilities.APIVersions.Has "apps/v1" }}"', RenderTarget(), "true"),
        (
            '  v: {{ (lookup "v1" "Secret" "ns" "s").data.k }}',
            RenderTarget(lookup=lambda *words: {"data": {"k": "-".join(words)}}),
            "v1-Secret-ns-s",
        ),
        ('  v: "{{ lookup "v1" "Secret" "ns" "s" | len }}"', RenderTarget(), "0"),
    ],
)
def test_a_chart_sees_the_cluster_that_it_is_for(template: str, target: RenderTarget, expected: str) -> None:
    assert data_of(template + "\n", target=target) == {"v": expected}


def test_a_lookup_that_fails_ends_the_rendering() -> None:
    def lookup(*words: str) -> dict[str, Any]:
        raise RegistryError("no way")

    with pytest.raises((RegistryError, HelmError), match="no way"):
        data_of('  v: {{ lookup "v1" "Secret" "ns" "s" | len }}\n', target=RenderTarget(lookup=lookup))


@pytest.mark.parametrize(
    ("files", "words"),
    [
        ({"Chart.yaml": META + "type: library\n"}, "library charts are not installable: web"),
        (
            {"Chart.yaml": META + "dependencies: [{name: db, version: 1.x, repository: ''}]\n"},
            "missing in charts/ directory: db",
        ),
        ({"Chart.yaml": META + "kubeVersion: '>=1.99'\n"}, "incompatible with Kubernetes"),
        ({"templates/a.yaml": "a: {{ .Values.x.y.z }}\n"}, r"web/templates/a\.yaml:1:\d+"),
        ({"templates/a.yaml": "a: b\n\tc: d\n"}, r"YAML parse error on web/templates/a\.yaml: .*line 2"),
        ({"templates/a.yaml": "apiVersion: v1\nkind: Pod\n"}, r"web/templates/a\.yaml: document 1, line 1: this Pod"),
        ({"values.schema.json": '{"required": ["x"]}'}, "missing property 'x'"),
    ],
)
def test_what_cannot_be_installed_is_refused_in_words(files: dict[str, str], words: str) -> None:
    with pytest.raises((HelmError, SourceError), match=words):
        bundle(files)


@pytest.mark.parametrize("name", ["", "A", "a_b", "-a", "a" * 54])
def test_names_of_releases_are_helms(name: str) -> None:
    with pytest.raises(HelmError, match="release name"):
        bundle({}, name=name)


def test_an_object_that_is_rendered_twice_is_told() -> None:
    made = bundle({"templates/a.yaml": MAP + "  a: b\n", "templates/b.yaml": MAP + "  a: c\n"})
    assert [one["data"]["a"] for one in made.objects] == ["b"]
    assert made.notes == ("The chart renders ConfigMap r more than once; the first is used.",)


def test_a_deprecated_chart_says_so() -> None:
    assert bundle({"Chart.yaml": META + "deprecated: true\n"}).notes == ("The chart web is deprecated.",)


def test_objects_come_in_helms_order_of_installation() -> None:
    made = bundle(
        {
            "templates/a.yaml": "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: d}\n",
            "templates/b.yaml": "apiVersion: v1\nkind: Namespace\nmetadata: {name: shop}\n",
            "templates/c.yaml": "apiVersion: v1\nkind: ServiceAccount\nmetadata: {name: sa}\n",
        }
    )
    assert [one["kind"] for one in made.objects] == ["Namespace", "ServiceAccount", "Deployment"]


ARCHIVE = tar({"web/Chart.yaml": META, "web/templates/a.yaml": MAP + "  a: b\n"}, packed=True)


@pytest.mark.parametrize(
    ("reference", "repository", "address"),
    [
        ("https://u:p@x.io/web-1.2.3.tgz?k=1", "", "https://x.io/web-1.2.3.tgz"),
        ("oci://reg.io/charts/web", "", "oci://reg.io/charts/web"),
        ("web", "https://u:p@x.io/charts/", "https://x.io/charts/web"),
    ],
)
def test_charts_from_elsewhere_come_through_the_port(reference: str, repository: str, address: str) -> None:
    blobs = StoredBlobs(charts={reference: ARCHIVE})
    loaded = chart_source.locate_chart(reference, blobs, repository=repository, version="1.2.3")
    assert blobs.asked == [("chart", reference, repository, "1.2.3")]
    assert (loaded.origin.address, loaded.origin.version) == (address, "1.2.3")
    assert loaded.origin.digest.startswith("sha256:")


def test_warnings_of_fetching_a_chart_are_notes_of_its_plan() -> None:
    old = "chart media type application/tar+gzip is deprecated"
    blobs = StoredBlobs(charts={"oci://reg.io/charts/web": ARCHIVE}, warnings=(old,))
    for repository, reference in (("", "oci://reg.io/charts/web"), ("oci://reg.io/charts", "oci://reg.io/charts/web")):
        loaded = chart_source.locate_chart(reference, blobs, repository=repository)
        assert (
            "Chart media type application/tar+gzip is deprecated." in chart_source.chart_bundle(loaded, name="w").notes
        )


def test_a_link_out_of_a_charts_repository_is_followed_on_request(tmp_path: Path) -> None:
    (tmp_path / "shared.yaml").write_text(MAP + "  a: b\n")
    folder = tmp_path / "repo" / "web"
    (folder / "templates").mkdir(parents=True)
    (tmp_path / "repo" / ".git").mkdir()
    (folder / "Chart.yaml").write_text(META)
    (folder / "templates" / "a.yaml").symlink_to(tmp_path / "shared.yaml")
    with pytest.raises(HelmError) as refused:
        chart_source.locate_chart(str(folder), StoredBlobs())
    assert "--follow-links" in refused.value.hint
    loaded = chart_source.locate_chart(str(folder), StoredBlobs(), links_out=True)
    assert len(chart_source.chart_bundle(loaded, name="w").objects) == 1


def test_a_path_is_preferred_where_there_is_one(tmp_path: Path) -> None:
    (tmp_path / "web.tgz").write_bytes(ARCHIVE)
    loaded = chart_source.locate_chart(str(tmp_path / "web.tgz"), StoredBlobs())
    assert loaded.origin == chart_source.from_archive(ARCHIVE, str(tmp_path / "web.tgz")).origin
    (tmp_path / "web" / "templates").mkdir(parents=True)
    (tmp_path / "web" / "Chart.yaml").write_text(META)
    assert chart_source.locate_chart(str(tmp_path / "web"), StoredBlobs()).chart.name == "web"


def test_an_archive_that_is_damaged_is_named() -> None:
    with pytest.raises(HelmError, match=r"https://x\.io/web\.tgz: "):
        chart_source.from_archive(ARCHIVE[:-20], "https://x.io/web.tgz")


def test_real_charts_become_bundles(shared: Path) -> None:
    for name in ("bitnami-multus-cni", "helm-stackdriver-exporter", "istio-ztunnel"):
        loaded = chart_source.from_path(shared / "helm" / "charts" / f"{name}.tgz")
        made = chart_source.chart_bundle(loaded, name="r", namespace="shop")
        assert made.objects
        assert made.release is not None
        assert made.release.manifest.count("# Source: ") >= len(made.objects)
