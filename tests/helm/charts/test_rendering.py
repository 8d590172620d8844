"""From a chart to manifests, hooks, notes and CRDs: their order, and what Helm refuses."""

from __future__ import annotations

import contextlib
import json
from pathlib import Path
from typing import Any

import pytest

from kymatui import helm
from kymatui.errors import HelmError
from kymatui.helm import Chart, Rendered, render, sort_hooks
from kymatui.helm.rendering.manifests import ManifestError, split_manifests

CHART = "apiVersion: v2\nname: c\nversion: 1.0.0\nappVersion: '2'\n"


def rendered(files: dict[str, str], values: dict[str, Any] | None = None, **options: Any) -> Rendered:
    return render(
        Chart.from_files({"Chart.yaml": CHART, **files}), values or {}, release_name="r", namespace="n", **options
    )


def text(template: str, files: dict[str, str] | None = None, **options: Any) -> str:
    """What a template prints in a file that is no manifest."""
    return rendered({**(files or {}), "templates/t.txt": template}, **options).files["c/templates/t.txt"]


def manifest(kind: str, name: str, **annotations: str) -> str:
    return json.dumps({"kind": kind, "metadata": {"name": name, "annotations": annotations}})


def test_manifests_come_in_the_order_of_kinds_then_of_files() -> None:
    found = rendered(
        {
            "templates/z.yaml": "kind: Namespace\n---\nkind: Zeta\n---\n# only a comment\n---\nkind: Alpha",
            "templates/a.yaml": "kind: Service\n---\nkind: Secret\n",
            "templates/b.yaml": "kind: Service\n---\nkind: ValidatingWebhookConfiguration\n",
            "templates/empty.yaml": "\n \n",
        }
    )
    assert [(one.kind, one.path.rpartition("/")[2]) for one in found.manifests] == [
        ("Namespace", "z.yaml"),
        ("Secret", "a.yaml"),
        ("Service", "a.yaml"),
        ("Service", "b.yaml"),
        ("ValidatingWebhookConfiguration", "b.yaml"),
        ("", "z.yaml"),
        ("Alpha", "z.yaml"),
        ("Zeta", "z.yaml"),
    ]
    assert "c/templates/empty.yaml" in found.files


@pytest.mark.parametrize(
    ("content", "documents"),
    [
        ("a: 1\n---\nb: 2\n", ["a: 1", "b: 2"]),
        ("---\na: 1", ["a: 1"]),
        ("a: 1\n\n  \n---   \n\nb: 2", ["a: 1", "b: 2"]),
        ("a: 1\n---\n---\nb: 2", ["a: 1", "---\nb: 2"]),
        ("a: 1\n---b: 2", ["a: 1", "b: 2"]),
        ("a: '---'", ["a: '---'"]),
        ("a: 1\n---", ["a: 1"]),
    ],
)
def test_documents_are_cut_as_helm_cuts_them(content: str, documents: list[str]) -> None:
    assert split_manifests(content) == documents


def test_hooks_have_events_weights_and_policies() -> None:
    found = rendered(
        {
            "templates/a.yaml": manifest(
                "Job",
                "j",
                **{
                    "helm.sh/hook": "Pre-Install, post-upgrade",
                    "helm.sh/hook-weight": "-5",
                    "helm.sh/hook-delete-policy": "hook-succeeded,Before-Hook-Creation",
                },
            ),
            "templates/b.yaml": manifest("Pod", "t", **{"helm.sh/hook": "test-success", "helm.sh/hook-weight": "x"}),
            "templates/c.yaml": manifest("Job", "u", **{"helm.sh/hook": "unknown"}),
            "templates/d.yaml": manifest("Secret", "s", **{"helm.sh/hook": "pre-install"}),
        }
    )
    assert [(one.kind, one.events, one.weight, one.delete_policies) for one in found.hooks] == [
        ("Secret", ("pre-install",), 0, ()),
        ("Pod", ("test",), 0, ()),
        ("Job", ("pre-install", "post-upgrade"), -5, ("hook-succeeded", "before-hook-creation")),
    ]
    assert [one.name for one in sort_hooks(found.hooks, "pre-install")] == ["j", "s"]
    assert found.manifests == []


@pytest.mark.parametrize(
    ("document", "words"),
    [
        ("a: [", "error converting YAML to JSON: yaml: line 1: did not find expected node content"),
        ("- a", "json: cannot unmarshal array into Go value of type util.SimpleHead"),
        ("kind: [a]", "json: cannot unmarshal array into Go struct field SimpleHead.kind of type string"),
        (
            "metadata: {annotations: [a]}",
            "json: cannot unmarshal array into Go struct field .metadata.annotations of type map[string]string",
        ),
    ],
)
def test_what_is_no_manifest_is_refused(document: str, words: str) -> None:
    with pytest.raises(ManifestError) as found:
        rendered({"templates/a.yaml": document})
    assert str(found.value).startswith("YAML parse error on c/templates/a.yaml: ")
    assert str(found.value).endswith(words)


def test_a_file_that_is_named_as_text_may_be_text_until_somebody_wants_manifests() -> None:
    found = rendered({"templates/a.txt": "just text"})
    assert found.files == {"c/templates/a.txt": "just text"}
    with pytest.raises(ManifestError):
        _ = found.manifests


def test_annotations_may_be_numbers_and_names_of_fields_in_any_case() -> None:
    found = rendered({"templates/a.yaml": "Kind: Secret\nmetadata: {name: 1, annotations: {a: 1, b: true}}"})
    assert (found.manifests[0].kind, found.manifests[0].head.name) == ("Secret", "1")


def test_notes_are_those_of_the_chart_unless_all_are_wanted() -> None:
    files = {
        "templates/NOTES.txt": "for {{ .Release.Name }}",
        "charts/s/Chart.yaml": CHART.replace("name: c", "name: s"),
        "charts/s/templates/NOTES.txt": "sub",
    }
    assert rendered(files).notes == "for r"
    assert rendered(files, sub_notes=True).notes == "sub\nfor r"
    assert rendered(files).manifests == []


def test_crds_come_with_those_of_dependencies_and_are_no_templates() -> None:
    files = {
        "crds/b.yaml": "{{ x }}",
        "crds/a.txt": "",
        "charts/s/Chart.yaml": CHART.replace("name: c", "name: s"),
        "charts/s/crds/c.yml": "c",
    }
    found = rendered(files, include_crds=True).crds
    assert [(one.path, one.content) for one in found] == [("c/crds/b.yaml", "{{ x }}"), ("c/charts/s/crds/c.yml", "c")]
    assert rendered(files).crds == []


def test_a_range_of_kubernetes_versions_is_kept() -> None:
    chart = {"Chart.yaml": CHART + "kubeVersion: '>=1.30-0'\n"}
    assert rendered(chart, kube_version="1.31.2-gke.1").files == {}
    with pytest.raises(HelmError) as found:
        rendered(chart, kube_version="v1.29.0-x")
    words = "chart requires kubeVersion: >=1.30-0 which is incompatible with Kubernetes v1.29.0-x"
    assert str(found.value) == words
    with pytest.raises(HelmError, match="could not parse"):
        rendered({}, kube_version="new")


def test_what_templates_are_told() -> None:
    assert text("{{ .Release.Name }} {{ .Release.IsUpgrade }} {{ .Release.Revision }}") == "r false 1"
    assert text("{{ .Release.IsInstall }} {{ .Release.Revision }}", is_upgrade=True, revision=3) == "false 3"
    assert text("{{ .Chart.Name }} {{ .Chart.AppVersion }} {{ .Chart.IsRoot }} {{ .Chart.Nothing }}") == "c 2 true "
    assert text("{{ .Template.Name }} {{ .Template.BasePath }}") == "c/templates/t.txt c/templates"
    assert text('{{ .Capabilities.APIVersions.Has "x/v1" }}', api_versions=["x/v1"]) == "true"
    assert text('{{ .Capabilities.APIVersions.Has "apps/v1" }} {{ len .Capabilities.APIVersions }}') == "true 57"
    version = (
        "{{ .Capabilities.KubeVersion.Minor }} {{ .Capabilities.KubeVersion }} {{ .Capabilities.KubeVersion.Version }}"
    )
    assert text(version, kube_version="v1.27.3-eks-x") == "27 v1.27.3 v1.27.3-eks-x"


FILES = {"conf/a.txt": "l1\nl2\n", "conf/b/c.bin": "\x00", "templates/u.txt": "", "values.yaml": ""}


@pytest.mark.parametrize(
    ("template", "printed"),
    [
        ('{{ .Files.Get "conf/a.txt" | quote }}', r'"l1\nl2\n"'),
        ('{{ .Files.Get "nothing" | quote }}', '""'),
        ('{{ .Files.Lines "conf/a.txt" }}', "[l1 l2]"),
        ('{{ range $p, $b := .Files.Glob "conf/**" }}{{ $p }}={{ len $b }} {{ end }}', "conf/a.txt=6 conf/b/c.bin=1 "),
        ('{{ (.Files.Glob "conf/*").AsConfig }}', "a.txt: |\n  l1\n  l2"),
        ('{{ (.Files.Glob "conf/b/*").AsSecrets }}', "c.bin: AA=="),
        ('{{ printf "%T %d" (.Files.GetBytes "conf/b/c.bin") (len .Files) }}', "[]uint8 2"),
        ('{{ index .Files "conf/b/c.bin" }}', "[0]"),
    ],
)
def test_files(template: str, printed: str) -> None:
    assert text(template, FILES) == printed


def test_an_empty_file_has_no_last_character_for_lines() -> None:
    """Go's panic, where a file that is not there has no lines."""
    assert text('{{ .Files.Lines "nothing" }}') == "[]"
    with pytest.raises(HelmError, match=r"error calling Lines: runtime error: index out of range \[-1\]"):
        text('{{ .Files.Lines "empty" }}', {"empty": ""})


SCHEMA = {
    "type": "object",
    "required": ["name"],
    "additionalProperties": False,
    "properties": {
        "name": {"type": "string", "pattern": "^[a-z]+$"},
        "port": {"type": ["integer", "null"], "minimum": 1, "maximum": 1000},
        "mode": {"enum": ["a", "b"]},
        "one": {"anyOf": [{"type": "string"}, {"type": "boolean"}]},
        "deep": {"properties": {"x": {"type": "string"}, "w": {"minLength": 2}}},
    },
}


@pytest.mark.parametrize(
    ("values", "lines"),
    [
        ({"name": "a", "port": 80.0}, []),
        ({}, ["- at '': missing property 'name'"]),
        ({"name": "A"}, ["- at '/name': 'A' does not match pattern '^[a-z]+$'"]),
        ({"name": 1}, ["- at '/name': got number, want string"]),
        ({"name": "a", "port": 0.5}, ["- at '/port': got number, want null or integer"]),
        ({"name": "a", "port": 70000}, ["- at '/port': maximum: got 70,000, want 1,000"]),
        ({"name": "a", "mode": "c"}, ["- at '/mode': value must be one of 'a', 'b'"]),
        ({"name": "a", "x": 1}, ["- at '': additional properties 'x' not allowed"]),
        (
            {"name": "a", "one": 1},
            [
                "- at '/one': 'anyOf' failed",
                "  - at '/one': got number, want string",
                "  - at '/one': got number, want boolean",
            ],
        ),
        (
            {"name": "A", "deep": {"x": 1, "w": "s"}},
            [
                "- at '/deep': validation failed",
                "  - at '/deep/w': minLength: got 1, want 2",
                "  - at '/deep/x': got number, want string",
                "- at '/name': 'A' does not match pattern '^[a-z]+$'",
            ],
        ),
    ],
)
def test_values_are_held_against_the_schema_in_the_words_of_helm(values: dict[str, Any], lines: list[str]) -> None:
    files = {"values.schema.json": json.dumps(SCHEMA)}
    if not lines:
        assert rendered(files, values).files == {}
        return
    with pytest.raises(HelmError) as found:
        rendered(files, values)
    head = "values don't meet the specifications of the schema(s) in the following chart(s):\nc:\n"
    assert str(found.value) == head + "\n".join(lines) + "\n"
    assert rendered(files, values, check_schema=False).files == {}


@pytest.mark.parametrize(
    "schema",
    [
        {"$ref": "https://example.org/schema.json"},
        {"properties": {"a": {"items": {"$ref": "definitions.json#/x"}}}},
        {"$ref": "#/nothing"},
        {"$ref": "file:///etc/passwd"},
        {"pattern": "("},
        {"properties": {"b": {"patternProperties": {"(?!x)": {}}}}},
        {"type": "nonsense"},
        [],
    ],
)
def test_schemas_that_refer_elsewhere_or_are_none_are_refused(schema: Any) -> None:
    with pytest.raises(HelmError, match="values don't meet the specifications"):
        rendered({"values.schema.json": json.dumps(schema)}, {"a": "x"})


def test_references_within_a_schema_and_old_drafts_work() -> None:
    schema = {
        "$schema": "http://json-schema.org/draft-07/schema#",
        "definitions": {"n": {"type": "integer"}},
        "properties": {"a": {"$ref": "#/definitions/n"}},
    }
    files = {"values.schema.json": json.dumps(schema)}
    assert rendered(files, {"a": 1}).files == {}
    with pytest.raises(HelmError, match="at '/a': got string, want integer"):
        rendered(files, {"a": "x"})


def test_a_pattern_of_a_schema_cannot_run_away() -> None:
    files = {"values.schema.json": json.dumps({"properties": {"a": {"pattern": "^(a+)+$"}}})}
    with pytest.raises(HelmError, match="does not match pattern"):
        rendered(files, {"a": "a" * 60 + "!"})


def test_patterns_of_a_schema_are_those_of_go() -> None:
    files = {"values.schema.json": json.dumps({"properties": {"a": {"pattern": r"^\pL+\z"}}})}
    assert rendered(files, {"a": "é"}).files == {}


@pytest.mark.parametrize("place", ["values.yaml", "values.schema.json", "templates/a.yaml"])
@pytest.mark.parametrize("text", ['{"a": ' * 499 + "1" + "}" * 499, '{"a": ' * 600 + "1" + "}" * 600])
def test_depth_is_no_crash(place: str, text: str) -> None:
    with contextlib.suppress(HelmError):
        rendered({place: text})


def test_the_example_of_the_package(tmp_path: Path) -> None:
    """What the docstring of kymatui.helm shows."""
    (tmp_path / "web" / "templates").mkdir(parents=True)
    (tmp_path / "web" / "Chart.yaml").write_text(CHART.replace("name: c", "name: web"))
    (tmp_path / "web" / "templates" / "d.yaml").write_text(
        "kind: Deployment\nspec: {replicas: {{ .Values.replicas }}}\n"
    )
    (tmp_path / "prod.yaml").write_text("replicas: 2\n")
    chart = helm.load_chart(tmp_path / "web")
    values = helm.merge_values(value_files=[tmp_path / "prod.yaml"], set=["replicas=3"])
    found = helm.render(chart, values, release_name="web", namespace="shop")
    assert [(one.path, one.kind, one.content) for one in found.manifests] == [
        ("web/templates/d.yaml", "Deployment", "kind: Deployment\nspec: {replicas: 3}")
    ]
    assert all(hasattr(helm, name) for name in helm.__all__)
