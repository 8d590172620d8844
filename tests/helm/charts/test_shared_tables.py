"""common.Values: .Values, dot and .Template under their Go type, and what charts of a tree share of them."""

from __future__ import annotations

import json
from typing import Any, Final

import pytest

from kymatui.errors import HelmError
from kymatui.helm import Chart, render

PARENT: Final = {"apiVersion": "v2", "name": "web", "version": "1.0.0"}
CHILD: Final = {**PARENT, "name": "db"}


def printed(template: str, values: dict[str, Any] | None = None, **files: str) -> str:
    """What a template of the parent prints, with a subchart db whose templates are rendered before it."""
    chart = Chart.from_files(
        {
            "Chart.yaml": json.dumps(PARENT),
            "values.yaml": "db:\n  password:\n",
            "templates/t.txt": template,
            "charts/db/Chart.yaml": json.dumps(CHILD),
            **{f"charts/db/templates/{name}.txt": text for name, text in files.items()},
        }
    )
    return render(chart, values or {}, release_name="r", namespace="n").files["web/templates/t.txt"]


@pytest.mark.parametrize(
    ("child", "parent", "expected"),
    [
        ('{{ $_ := set .Values "password" "new" }}', "{{ .Values.db.password }}", "new"),
        ('{{ $_ := set .Values "other" 1 }}', "{{ .Values.db.other }}", "1"),
        ('{{ $_ := unset .Values "password" }}', '{{ hasKey .Values.db "password" }}', "false"),
        ('{{ $_ := merge .Values (dict "m" 1) }}', "{{ .Values.db.m }}", "1"),
        ('{{ $_ := set .Values "other" 1 }}', "{{ .Subcharts.db.Values.other }}", "1"),
        ("", '{{ $_ := set .Values.db "x" 2 }}{{ .Subcharts.db.Values.x }}', "2"),
        ("", "{{ typeOf .Values.db }} {{ typeOf .Subcharts.db.Values }}", "map[string]interface {} common.Values"),
        ("", "{{ typeOf .Subcharts.db }}", "map[string]interface {}"),
    ],
)
def test_a_subchart_and_its_parent_have_one_map(child: str, parent: str, expected: str) -> None:
    assert printed(parent, s=child) == expected


@pytest.mark.parametrize(
    ("template", "expected"),
    [
        ("{{ typeOf . }} {{ typeOf .Values }} {{ typeOf .Template }}", "common.Values common.Values common.Values"),
        ("{{ typeOf .Values.AsMap }} {{ .Values.AsMap.a }}", "map[string]interface {} 1"),
        ('{{ typeOf (set .Values "n" 1) }}', "map[string]interface {}"),
        ('{{ $_ := set .Values.AsMap "n" 5 }}{{ .Values.n }}', "5"),
        ("{{ $v := .Values.AsMap }}{{ $v.m.x }}", "2"),
        ("{{ .Template.AsMap.BasePath }}", "web/templates"),
        ('{{ (.Values.Table "m").x }} {{ typeOf (.Values.Table "m") }}', "2 common.Values"),
        ('{{ .Values.Table "m.k" }}', "map[z:3]"),
        ('{{ .Values.PathValue "a" }} {{ .Values.PathValue "m.k.z" }}', "1 3"),
        ('{{ $c := deepCopy .Values }}{{ $_ := set $c "a" 9 }}{{ $c.AsMap.a }} {{ .Values.a }}', "9 1"),
        (
            '{{ $m := merge (dict) (dict "v" .Values) }}{{ typeOf $m.v }} {{ typeOf (pick .Values "a") }}',
            "common.Values map[string]interface {}",
        ),
        ("{{ .Values.YAML }}", "a: 1\ndb:\n  global: {}\n  password: null\nm:\n  k:\n    z: 3\n  x: 2\n"),
        ("{{ deepEqual .Values .Values }} {{ deepEqual .Values .Values.AsMap }}", "true false"),
    ],
)
def test_values_have_the_methods_of_their_type(template: str, expected: str) -> None:
    assert printed(template, {"a": 1, "m": {"x": 2, "k": {"z": 3}}}) == expected


@pytest.mark.parametrize(
    ("template", "reason"),
    [
        ('{{ .Values.Table "a" }}', 'error calling Table: "a" is not a table'),
        ('{{ .Values.PathValue "m" }}', 'error calling PathValue: "m" is not a value'),
        ('{{ .Values.PathValue "" }}', "error calling PathValue: YAML path cannot be empty"),
        ("{{ .Values.Encode }}", "wrong number of args for Encode: want 1 got 0"),
        ("{{ .Values.db.AsMap.x }}", "nil pointer evaluating interface {}.x"),
    ],
)
def test_methods_of_values_fail_as_in_go(template: str, reason: str) -> None:
    with pytest.raises(HelmError) as caught:
        printed(template, {"a": 1, "m": {}})
    assert reason in str(caught.value)


def test_a_subchart_whose_name_has_a_dot_sees_the_values_at_that_path() -> None:
    files = {
        "Chart.yaml": json.dumps(PARENT),
        "charts/d/Chart.yaml": json.dumps({**CHILD, "name": "d.b"}),
        "charts/d/templates/t.txt": "{{ toJson .Values }}",
    }
    values = {"d": {"b": {"here": True}}, "d.b": {"there": True}}
    found = render(Chart.from_files(files), values, release_name="r", namespace="n").files
    assert found["web/charts/d.b/templates/t.txt"] == '{"here":true}'
