"""What a rendering leaves out of values, dependencies and hooks is a warning, as in helm, with the key."""

from __future__ import annotations

from typing import Any

import pytest

from kymatui.helm.charts.chart import Chart
from kymatui.helm.rendering.render import render

META = "apiVersion: v2\nname: web\nversion: 1.0.0\n"
SUB = {"charts/db/Chart.yaml": META.replace("web", "db"), "charts/db/values.yaml": "size: {cpu: 1}\n"}
DEPENDENCY = "dependencies: [{name: db, version: '*', %s}]\n"
TABLE = "port: {http: 80}\nname: text\nreplicaCount: 1\n"


def warnings_of(files: dict[str, str], values: dict[str, Any] | None = None) -> dict[str, str]:
    """Return {message: key} of a chart's warnings."""
    chart = Chart.from_files({"Chart.yaml": META, **files})
    return dict(render(chart, values or {}, release_name="r", namespace="n").warnings)


@pytest.mark.parametrize(
    ("files", "values", "subject", "key"),
    [
        ({"Chart.yaml": f"{META}deprecated: true\n"}, {}, "web is deprecated", ""),
        ({"values.yaml": TABLE}, {"name": {"first": "x"}}, "name is a table", "name"),
        ({"values.yaml": TABLE}, {"port": 80}, "port", None),
        ({"values.yaml": "a: {b: {c: 1}}\n"}, {"a": {"b": "x"}}, "a.b is text and replaces a table", "a.b"),
        (SUB, {"db": {"size": {"cpu": {"m": 1}}}}, "db.size.cpu is a table", "db.size.cpu"),
        (SUB, {"db": {"global": 5}}, "db.global is no table", "db.global"),
        (SUB, {"global": "x"}, "global is no table", "global"),
        ({"values.yaml": TABLE}, {"replicaCont": 2}, "did you mean replicaCount", "replicaCont"),
        ({"values.yaml": TABLE}, {"port": {"htpp": 2}}, "did you mean port.http", "port.htpp"),
        (SUB, {"db": {"sise": 2}}, "did you mean db.size", "db.sise"),
        (
            {"Chart.yaml": META + DEPENDENCY % "condition: db.enabled", **SUB},
            {"db": {"enabled": "yes"}},
            "db.enabled is text, not true or false",
            "db.enabled",
        ),
        (
            {"Chart.yaml": META + DEPENDENCY % "tags: [back]", **SUB},
            {"tags": {"back": 1}},
            "tag back of db",
            "tags.back",
        ),
        (
            {"Chart.yaml": META + DEPENDENCY % "tags: [back, front]", **SUB},
            {"tags": {"back": True, "front": False}},
            "tags of db overlap",
            "tags.front",
        ),
        ({"Chart.yaml": META + DEPENDENCY % "import-values: [nope]", **SUB}, {}, "exports.nope", ""),
        (
            {"templates/j.yaml": "kind: Job\nmetadata: {name: j, annotations: {helm.sh/hook: crd-install}}\n"},
            {},
            "Job j of web/templates/j.yaml is left out: its hook crd-install",
            "",
        ),
    ],
)
def test_what_is_left_out_is_a_warning(
    files: dict[str, str], values: dict[str, Any], subject: str, key: str | None
) -> None:
    warnings = warnings_of(files, values)
    if key is None:  # helm says nothing of a whole table that a value replaces
        assert warnings == {}
        return
    assert [found for message, found in warnings.items() if subject in message] == [key], warnings


def test_a_warning_has_no_value() -> None:
    warnings = warnings_of({"values.yaml": "password: {text: default}\n"}, {"password": {"text": {"a": "hunter2"}}})
    assert list(warnings.values()) == ["password.text"]
    assert "hunter2" not in str(warnings)
    assert "default" not in str(warnings)


@pytest.mark.parametrize(
    ("own", "values"),
    [
        ("annotations: {}\n", {"annotations": {"anything": "x"}}),
        ("replicaCount: 1\n", {"replicaCount": 2, "other": 1}),
        ("a: null\n", {"a": {"b": 1}}),
        ("a: {b: 1}\n", {"a": None}),
    ],
)
def test_values_that_a_chart_takes_are_no_warning(own: str, values: dict[str, Any]) -> None:
    assert warnings_of({"values.yaml": own}, values) == {}


def test_warnings_are_few_and_each_is_said_once() -> None:
    own = "".join(f"key{number}: text\n" for number in range(200))
    assert len(warnings_of({"values.yaml": own}, {f"key{number}": {"a": 1} for number in range(200)})) == 50


def test_large_tables_are_not_compared() -> None:
    own = "".join(f"key{number}a: 1\n" for number in range(2000))
    assert warnings_of({"values.yaml": own}, {f"key{number}b": 1 for number in range(2000)}) == {}
