"""helm lint reads objects as Kubernetes does, and values.yaml from the folder."""

from __future__ import annotations

from pathlib import Path

import pytest

from kymatui.helm.linting import LintSeverity, lint

META = "apiVersion: v2\nname: web\nversion: 1.0.0\nicon: https://example.org/i.png\n"
MISMATCH = "unable to parse YAML: error unmarshaling JSON: while decoding JSON: json: cannot unmarshal"


def messages(folder: Path, files: dict[str, str]) -> list[tuple[LintSeverity, str, str]]:
    for name, text in {"Chart.yaml": META, "values.yaml": "a: 1\n", **files}.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    return [(message.severity, message.where, message.text) for message in lint(folder).messages]


@pytest.mark.parametrize("name", ["web", "y", "'on'", "1234", "1.5"])
def test_names_are_read_as_text(tmp_path: Path, name: str) -> None:
    text = f"apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: {name}}}\n"
    assert messages(tmp_path, {"templates/a.yaml": text}) == []


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("just text\n", "string into Go value of type rules.k8sYamlStruct"),
        ("- a\n", "array into Go value of type rules.k8sYamlStruct"),
        ("metadata: {name: [a]}\n", "array into Go struct field k8sYamlMetadata.Metadata.Name of type string"),
        ("kind: {a: 1}\n", "object into Go struct field k8sYamlStruct.Kind of type string"),
        ("apiVersion: [1]\n", "array into Go struct field k8sYamlStruct.apiVersion of type string"),
        ("metadata: text\n", "string into Go struct field k8sYamlStruct.Metadata of type rules.k8sYamlMetadata"),
    ],
)
def test_what_is_not_an_object_is_an_error(tmp_path: Path, text: str, problem: str) -> None:
    found = messages(tmp_path, {"templates/a.yaml": text})
    assert found == [(LintSeverity.ERROR, "templates/a.yaml", f"{MISMATCH} {problem}")]


def test_values_are_read_from_the_folder_although_helmignore_leaves_them_out(tmp_path: Path) -> None:
    assert messages(tmp_path, {".helmignore": "values.yaml\n", "templates/NOTES.txt": ""}) == []
    assert [where for _, where, _ in messages(tmp_path, {"values.yaml": "a: [\n"})] == ["values.yaml"]


def test_a_reason_ends_without_an_empty_line(tmp_path: Path) -> None:
    found = messages(tmp_path, {"values.schema.json": "{", "templates/NOTES.txt": ""})
    assert [text.endswith("\n") for *_, text in found] == [False, False]
    invalid = messages(tmp_path, {"values.schema.json": '{"$id": "#/a", "properties": {"a": {"$id": "#b"}}}'})
    assert [text.rstrip("\n").endswith("does not match pattern '^[^#]*#?$'") for *_, text in invalid] == [True, True]
    assert [text.endswith("\n") for *_, text in invalid] == [False, False]
    forbidden = messages(tmp_path, {"values.schema.json": '{"properties": {"a": {"type": "string"}}}'})
    assert [text.endswith("\n") for *_, text in forbidden] == [True, True]


def test_values_that_cannot_be_parsed_have_one_reason(tmp_path: Path) -> None:
    (_, where, text), *_ = messages(tmp_path, {"values.yaml": "a: [\n", "templates/NOTES.txt": ""})
    assert where == "values.yaml"
    assert text.startswith("unable to parse YAML: error converting YAML to JSON: ")


def test_a_null_removes_no_default_for_lint(tmp_path: Path) -> None:
    """helm lint coalesces values twice: the first time removes the null, the second brings the default back."""
    text = "kind: A\nmetadata: {name: {{ .Values.a.b }}}\nc: {{ .Values.c | upper }}\n"
    assert messages(tmp_path, {"values.yaml": "a: {b: x}\nc: x\n", "templates/a.yaml": text}) == []
    assert lint(tmp_path, {"a": None, "c": None}).messages == ()


def test_values_that_do_not_fit_a_dependency_end_the_check_of_templates(tmp_path: Path) -> None:
    files = {
        "Chart.yaml": f"{META}dependencies: [{{name: sub, version: 1.0.0}}]\n",
        "charts/sub/Chart.yaml": "apiVersion: v2\nname: sub\nversion: 1.0.0\n",
        "templates/a.yaml": "{{ .Values.a.b.c }}\n",
    }
    assert [where for _, where, _ in messages(tmp_path, files)] == ["templates/"]
    assert lint(tmp_path, {"sub": 7}).messages == ()


@pytest.mark.parametrize(
    ("lines", "problem"),
    [
        ("maintainers: [{name: a, email: 'a.b+c@x-y.example.org'}, {name: b, url: example.org/b}]", ""),
        ("maintainers: [{name: a, email: '${A}@${A}.com'}]", "invalid email '${A}@${A}.com' for maintainer 'a'"),
        ("maintainers: [{name: a, email: 'a@b'}]", "invalid email 'a@b' for maintainer 'a'"),
        ("maintainers: [{name: a, email: 'a..b@c.de'}]", "invalid email 'a..b@c.de' for maintainer 'a'"),
        ("maintainers: [{name: a, email: 'a@b.c1'}]", "invalid email 'a@b.c1' for maintainer 'a'"),
        ("maintainers: [{name: a, url: 'example.org/a b'}]", "invalid url 'example.org/a b' for maintainer 'a'"),
        ("maintainers: [{name: a, url: nowhere}]", "invalid url 'nowhere' for maintainer 'a'"),
        ("sources: ['mailto:a@b.c', 'https://example.org']", ""),
        ("sources: [example.org/a]", "invalid source URL 'example.org/a'"),
        ("sources: ['https://${A}.org']", "invalid source URL 'https://${A}.org'"),
        ("sources: ['https://a b/']", "invalid source URL 'https://a b/'"),
    ],
)
def test_addresses_are_those_that_helm_accepts(tmp_path: Path, lines: str, problem: str) -> None:
    expected = [(LintSeverity.ERROR, "Chart.yaml", problem)] if problem else []
    assert messages(tmp_path, {"Chart.yaml": f"{META}{lines}\n", "templates/NOTES.txt": ""}) == expected


def test_repeated_keys_of_chart_yaml_are_a_warning(tmp_path: Path) -> None:
    (message,) = messages(tmp_path, {"Chart.yaml": f"{META}apiVersion: v2\n", "templates/NOTES.txt": ""})
    reason = 'error converting YAML to JSON: yaml: unmarshal errors:\n  line 5: key "apiVersion" already set in map'
    assert message == (LintSeverity.WARNING, "Chart.yaml", f"failed to strictly parse chart metadata file\n\t{reason}")


def test_a_folder_of_templates_that_helmignore_leaves_out_exists(tmp_path: Path) -> None:
    assert messages(tmp_path, {".helmignore": ".keep\n", "templates/.keep": ""}) == []


def test_fields_of_chart_yaml_are_known_in_any_case(tmp_path: Path) -> None:
    files = {"Chart.yaml": f"{META}appversion: '1'\nMaintainers: [{{Name: a}}]\n", "templates/NOTES.txt": ""}
    assert messages(tmp_path, files) == []
    ((*_, text),) = messages(tmp_path, {**files, "Chart.yaml": f"{META}maintainers: [{{Name: a, mail: b}}]\n"})
    assert text.endswith('json: unknown field "mail"')


def test_text_behind_a_separator_has_a_reason_of_its_own(tmp_path: Path) -> None:
    found = messages(tmp_path, {"templates/a.yaml": "a: 1\n--- b: 2\n"})
    reason = "unable to parse YAML: invalid Yaml document separator: b: 2"
    assert found == [(LintSeverity.ERROR, "templates/a.yaml", reason)]


@pytest.mark.parametrize(
    ("kind", "name", "problem"),
    [
        ("Service", "a" * 64, "must be no more than 63 characters"),
        ("Namespace", "a.b", "must not contain dots"),
        ("ConfigMap", "a" * 254, "must be no more than 253 characters"),
    ],
)
def test_names_have_the_words_of_kubernetes(tmp_path: Path, kind: str, name: str, problem: str) -> None:
    text = f"apiVersion: v1\nkind: {kind}\nmetadata: {{name: {name}}}\n"
    ((*_, message),) = messages(tmp_path, {"templates/a.yaml": text})
    assert message.endswith(f'"{name}": metadata.name: Invalid value: "{name}": {problem}')


def test_all_problems_of_a_name_are_one_message(tmp_path: Path) -> None:
    text = f"apiVersion: v1\nkind: Service\nmetadata: {{name: {'A' * 64}}}\n"
    ((*_, message),) = messages(tmp_path, {"templates/a.yaml": text})
    assert message.count("metadata.name: Invalid value") == 2
    assert message.endswith("'[a-z]([-a-z0-9]*[a-z0-9])?')]")
