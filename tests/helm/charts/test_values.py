"""Which values templates see: coalescing, nulls, globals, aliases, conditions, tags, imports."""

from __future__ import annotations

import json
from typing import Any

import pytest

from kymatui.errors import HelmError
from kymatui.helm import Chart, render
from kymatui.helm.charts.values import load_values
from kymatui.helm.govalues.types import Int64

SHOW = "{{ toJson .Values }}"
GLOBALS: dict[str, Any] = {"global": {"g": {"x": 1}}}


def seen(files: dict[str, Any], values: dict[str, Any] | None = None) -> dict[str, Any]:
    """{path of the template: the values it sees} of a chart; dicts in the files are written as JSON."""
    texts = {name: text if isinstance(text, str) else json.dumps(text) for name, text in files.items()}
    rendered = render(Chart.from_files(texts), values or {}, release_name="r", namespace="n")
    return {name: json.loads(text) for name, text in rendered.files.items()}


def web(dependencies: list[dict[str, Any]] | None = None, **values: Any) -> dict[str, Any]:
    """A chart web with a subchart db."""
    meta = {"apiVersion": "v2", "name": "web", "version": "1.0.0", "dependencies": dependencies or []}
    return {
        "Chart.yaml": meta,
        "values.yaml": values,
        "templates/v.yaml": SHOW,
        "charts/db/Chart.yaml": {"apiVersion": "v2", "name": "db", "version": "1.0.0"},
        "charts/db/templates/v.yaml": SHOW,
    }


def test_values_of_the_user_go_over_the_charts_and_nulls_delete() -> None:
    files = web(a=1, m={"x": 1, "w": 2}, l=[1, 2], k={"z": None}, n=None)
    found = seen(files, {"a": None, "m": {"x": None}, "l": [3]})["web/templates/v.yaml"]
    assert found == {"m": {"w": 2}, "l": [3], "k": {"z": None}, "n": None, "db": {"global": {}}}


def test_a_table_and_a_scalar_do_not_merge() -> None:
    found = seen(web(m={"x": 1}, t="s"), {"m": "s", "t": {"x": 1}})["web/templates/v.yaml"]
    assert (found["m"], found["t"]) == ("s", {"x": 1})


def test_subcharts_see_their_own_values_and_the_globals() -> None:
    files = {**web(None, db={"a": 2}, **GLOBALS), "charts/db/values.yaml": {"a": 1, "b": 1}}
    found = seen(files, {"global": {"g": {"z": 2}}})
    assert found["web/charts/db/templates/v.yaml"] == {"a": 2, "b": 1, "global": {"g": {"x": 1, "z": 2}}}


def test_a_scalar_in_the_place_of_a_subcharts_values_is_an_error() -> None:
    with pytest.raises(HelmError, match=r"type mismatch on db: %!t\(string=s\)"):
        seen(web([{"name": "db", "version": "*"}], db="s"))


@pytest.mark.parametrize(
    ("entry", "values", "is_in"),
    [
        ({}, {}, True),
        ({"version": "2.x"}, {}, True),
        ({"condition": "db.on"}, {"db": {"on": False}}, False),
        ({"condition": "a.b,db.on"}, {"db": {"on": False}, "a": {"b": True}}, True),
        ({"condition": "db.on"}, {"db": {"on": "false"}}, True),
        ({"tags": ["t", "u"]}, {"tags": {"t": False}}, False),
        ({"tags": ["t", "u"]}, {"tags": {"t": False, "u": True}}, True),
        ({"tags": ["t"], "condition": "db.on"}, {"tags": {"t": False}, "db": {"on": True}}, True),
    ],
)
def test_conditions_tags_and_versions_decide_whether_a_dependency_is_in(
    entry: dict[str, Any], values: dict[str, Any], is_in: bool
) -> None:
    files = web([{"name": "db", "version": "1.x", **entry}])
    assert ("web/charts/db/templates/v.yaml" in seen(files, values)) is is_in


def test_an_alias_is_a_chart_of_its_own() -> None:
    dependencies = [{"name": "db", "version": "*", "alias": "one"}, {"name": "db", "version": "*", "alias": "two"}]
    found = seen(web(dependencies, one={"a": 1}, two={"a": 2}))
    assert found["web/charts/one/templates/v.yaml"] == {"a": 1, "global": {}}
    assert found["web/charts/two/templates/v.yaml"] == {"a": 2, "global": {}}
    assert "web/charts/db/templates/v.yaml" not in found


def test_values_are_imported_under_those_of_the_parent() -> None:
    imports = ["data", {"child": "deep", "parent": "here"}]
    files = web([{"name": "db", "version": "*", "import-values": imports}], p=0)
    files["charts/db/values.yaml"] = {"exports": {"data": {"p": 1, "q": 2}}, "deep": {"z": 1}}
    found = seen(files)["web/templates/v.yaml"]
    assert {name: found[name] for name in ("p", "q", "here")} == {"p": 0, "q": 2, "here": {"z": 1}}


def test_values_of_a_sibling_are_not_imported_into_an_empty_table() -> None:
    imports = [{"child": "labels", "parent": "labels"}]
    files = web([{"name": name, "version": "*", "import-values": imports} for name in ("db", "queue")])
    files |= {
        "charts/db/values.yaml": {"labels": {}},
        "charts/queue/Chart.yaml": {"apiVersion": "v2", "name": "queue", "version": "1.0.0"},
        "charts/queue/values.yaml": {"labels": {"team": "b"}},
    }
    found = seen(files)
    assert found["web/templates/v.yaml"]["labels"] == {"team": "b"}
    assert found["web/charts/db/templates/v.yaml"]["labels"] == {}


def test_only_partials_of_a_library_are_used() -> None:
    files = web([{"name": "db", "version": "*"}])
    files["charts/db/Chart.yaml"] = {"apiVersion": "v2", "name": "db", "version": "1.0.0", "type": "library"}
    files["charts/db/templates/_h.tpl"] = '{{ define "db" }}{{ toJson .Chart.Type }}{{ end }}'
    del files["templates/v.yaml"]
    files["templates/v.txt"] = '{{ include "db" . }}'
    assert seen(files) == {"web/templates/v.txt": ""}


def test_renderings_do_not_see_each_other_and_leave_values_alone() -> None:
    chart = Chart.from_files(
        {
            "Chart.yaml": "name: c\nversion: 1.0.0\n",
            "values.yaml": "m: {k: {x: 1}}",
            "templates/t.txt": '{{ $_ := set .Values.m.k "x" (add1 .Values.m.k.x) }}{{ set .Values "u" 1 | len }}'
            " {{ .Values.m.k.x }}",
        }
    )
    given: dict[str, Any] = {"l": [{"a": 1}]}
    texts = [render(chart, given, release_name="r", namespace="n").files["c/templates/t.txt"] for _ in range(2)]
    assert texts == ["3 2", "3 2"]
    assert given == {"l": [{"a": 1}]}
    assert chart.values == {"m": {"k": {"x": 1.0}}}


def test_whole_numbers_are_those_of_json_unless_they_come_from_set() -> None:
    chart = Chart.from_files(
        {"Chart.yaml": "name: c\nversion: 1.0.0\n", "templates/t.txt": "{{ .Values.a }} {{ .Values.b }}"}
    )
    rendered = render(chart, {"a": 1000000, "b": Int64(1000000)}, release_name="r", namespace="n")
    assert rendered.files["c/templates/t.txt"] == "1e+06 1000000"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a: |\n  x\n  y", "x\ny\n"),
        ("a: |\r\n  x\r\n  y", "x\ny\n"),
        ("a: |-\n  x", "x"),
        ("a: |+\n  x\n\n", "x\n\n"),
        ("b: 1\n---\na: |\n  x", "x\n"),
        ('a: "x\r\n\r\n  y"', "x\ny"),
    ],
)
def test_every_line_of_a_values_file_ends_with_a_newline_the_last_too(text: str, expected: str) -> None:
    assert load_values(text.encode())["a"] == expected
