"""Lines of --set, --set-string, --set-json, --set-literal and --set-file, as Helm reads them."""

from __future__ import annotations

import contextlib
import copy
import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kymatui.errors import HelmError
from kymatui.helm import merge_values
from kymatui.helm.charts.coalesce import reuse_values
from kymatui.helm.govalues.types import Int64


@pytest.mark.parametrize(
    ("line", "values"),
    [
        ("a=1,b=x", {"a": 1, "b": "x"}),
        ("a.b.c=true", {"a": {"b": {"c": True}}}),
        ("a={x,y,1}", {"a": ["x", "y", 1]}),
        ("a={}", {"a": [""]}),
        ("a[0].b=1,a[2]=x", {"a": [{"b": 1}, None, "x"]}),
        ("a[1][0]=1", {"a": [None, [1]]}),
        (r"a\.b=1,c=x\,y", {"a.b": 1, "c": "x,y"}),
        ("a=null,b=", {"a": None, "b": ""}),
        ("a=007,b=0,c=-1,d=1.5,e=1e3", {"a": "007", "b": 0, "c": -1, "d": "1.5", "e": "1e3"}),
        ("a=TRUE,b=Null", {"a": True, "b": None}),
        ("a=9223372036854775808", {"a": "9223372036854775808"}),
        ("a=b=c", {"a": "b=c"}),
        ("=x", {}),
        ("a[0", {}),
    ],
)
def test_a_line_of_set(line: str, values: dict[str, Any]) -> None:
    assert merge_values(set=[line]) == values


def test_whole_numbers_of_set_are_int64_and_those_of_json_floats() -> None:
    values = merge_values(set=["a=1"], set_json=["b=1"])
    assert [type(value) for value in (values["a"], values["b"])] == [Int64, float]


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("a", 'failed parsing --set data: key "a" has no value'),
        ("a,b=1", 'failed parsing --set data: key "a" has no value (cannot end with ,)'),
        ("a.=1", 'failed parsing --set data: key map "a" has no value'),
        ("a[-1]=1", "failed parsing --set data: negative -1 index not allowed"),
        ("a[x]=1", 'failed parsing --set data: error parsing index: strconv.Atoi: parsing "x": invalid syntax'),
        ("a[70000]=1", "failed parsing --set data: index of 70000 is greater than maximum supported index of 65536"),
        ("a={x", "failed parsing --set data: list must terminate with '}'"),
        ("a[0]x=1", "failed parsing --set data: unexpected data at end of array index: ['x']"),
        (
            "a=1,a.b=2",
            "failed parsing --set data: unable to parse key: interface conversion: interface {} is int64, "
            "not map[string]interface {}",
        ),
        (
            ".".join("a" * 32) + "=1",
            "failed parsing --set data: value name nested level is greater than maximum supported nested level of 30",
        ),
    ],
)
def test_what_a_line_of_set_must_not_be(line: str, words: str) -> None:
    with pytest.raises(HelmError) as found:
        merge_values(set=[line])
    assert str(found.value) == words


def test_the_other_kinds() -> None:
    assert merge_values(set_string=["a=1,b=null"]) == {"a": "1", "b": "null"}
    assert merge_values(set_literal=[r"a.b=x,y\n{"]) == {"a": {"b": r"x,y\n{"}}
    assert merge_values(set_json=['{"a": {"b": 1}}', 'a.c=[1, null] ,d=,e= "x"']) == {
        "a": {"b": 1, "c": [1, None]},
        "d": None,
        "e": "x",
    }
    with pytest.raises(HelmError, match=r"failed parsing --set-json data a=\[1"):
        merge_values(set_json=["a=[1"])


@pytest.mark.parametrize("number", ["1.", "-0.", "1e", "1.5E+", "1.,b=2"])
def test_a_json_number_needs_digits_after_point_and_exponent(number: str) -> None:
    with pytest.raises(HelmError, match=re.escape(f"failed parsing --set-json data a={number}")):
        merge_values(set_json=[f"a={number}"])
    assert merge_values(set_json=["a=1.5e1,b=-2"]) == {"a": 15, "b": -2}


@pytest.mark.parametrize("line", [r'a="x\ud800y"', r'{"a": "x\udc80y"}', 'a="x\udcffy"'])
def test_a_surrogate_in_json_is_replaced(line: str) -> None:
    assert merge_values(set_json=[line]) == {"a": "x\ufffdy"}


def test_files_are_read_and_their_documents_merged(tmp_path: Path) -> None:
    (tmp_path / "v.yaml").write_text("a: {x: 1, w: 2}\n--- # more\na: {w: 3}\n")
    (tmp_path / "w.yaml").write_text("a: {z: 4}\n")
    (tmp_path / "t.txt").write_text("line\n")
    values = merge_values([tmp_path / "v.yaml", tmp_path / "w.yaml"], set_file=[f"t={tmp_path / 't.txt'}"])
    assert values == {"a": {"x": 1, "w": 3, "z": 4}, "t": "line\n"}


def test_later_files_and_flags_override_earlier_ones(tmp_path: Path) -> None:
    (tmp_path / "1.yaml").write_text("a: file1\nb: file1\nc: file1\nlist: [x, y]\n")
    (tmp_path / "2.yaml").write_text("b: file2\nc: file2\n")
    (tmp_path / "t.txt").write_text("from a file")
    assert merge_values(
        [tmp_path / "1.yaml", tmp_path / "2.yaml"],
        set=["c=flag", "list[1]=z"],
        set_string=["n=5"],
        set_json=['j={"k":[1]}', "n=4"],
        set_literal=["l=a,b"],
        set_file=[f"t={tmp_path / 't.txt'}"],
    ) == {
        "a": "file1",
        "b": "file2",
        "c": "flag",
        "list": ["x", "z"],
        "n": "5",
        "j": {"k": [1]},
        "l": "a,b",
        "t": "from a file",
    }


RELEASE: dict[str, Any] = {"m": {"pw": "s3", "n": 2}, "l": [{"a": 1}, "x"], "s": "text", "off": None}
"""Values of a release; the right answers below are those of helm 4.1.4 with --reset-then-reuse-values."""


@pytest.mark.parametrize(
    ("flags", "changes"),
    [
        ({}, {}),
        ({"set_json": ['m={"k":1}']}, {"m": {"pw": "s3", "n": 2, "k": 1}}),
        ({"set_json": ['{"m":{"k":1}}']}, {"m": {"pw": "s3", "n": 2, "k": 1}}),
        ({"set_json": ["m.k=1", 'm.deep={"a":{}}']}, {"m": {"pw": "s3", "n": 2, "k": 1, "deep": {"a": {}}}}),
        ({"set_json": ["m={}"]}, {}),
        ({"set_json": ["m=null"]}, {"m": ...}),
        ({"set_json": ['m={"pw":null}']}, {"m": {"n": 2}}),
        ({"set_json": ["m.new=null"]}, {"m": {"pw": "s3", "n": 2, "new": None}}),
        ({"set_json": ["m=[1]"]}, {"m": [1]}),
        ({"set_json": ["l=[2]"]}, {"l": [2]}),
        ({"set_json": ['s={"a":1}']}, {"s": {"a": 1}}),
        ({"set": ["m.k=1,m.pw=new"]}, {"m": {"pw": "new", "n": 2, "k": 1}}),
        ({"set": ["m.pw=null"]}, {"m": {"n": 2}}),
        ({"set": ["off=null"]}, {}),
        ({"set": ["off=on"]}, {"off": "on"}),
        ({"set": ["l[1]=z"]}, {"l": [None, "z"]}),
        ({"set": ["l={}"]}, {"l": [""]}),
        ({"set_string": ["m.k=1"]}, {"m": {"pw": "s3", "n": 2, "k": "1"}}),
        ({"set_literal": ["m.k=a,b"]}, {"m": {"pw": "s3", "n": 2, "k": "a,b"}}),
        ({"set_file": ["m.k={file}"]}, {"m": {"pw": "s3", "n": 2, "k": "m: {k: 1}\nl: []\ns: null\n"}}),
        ({"value_files": ["{file}"]}, {"m": {"pw": "s3", "n": 2, "k": 1}, "l": [], "s": ...}),
        (
            {"value_files": ["{file}"], "set_json": ['m={"k":{"x":1}}'], "set": ["m.k.y=2"]},
            {"m": {"pw": "s3", "n": 2, "k": {"x": 1, "y": 2}}, "l": [], "s": ...},
        ),
    ],
)
def test_values_of_a_release_stay_unless_new_ones_replace_them(
    flags: dict[str, list[str]], changes: dict[str, Any], tmp_path: Path
) -> None:
    file = tmp_path / "values.yaml"
    file.write_text("m: {k: 1}\nl: []\ns: null\n")
    arguments: Any = {name: [line.replace("{file}", str(file)) for line in lines] for name, lines in flags.items()}
    release = copy.deepcopy(RELEASE)
    assert reuse_values(merge_values(**arguments), release) == {
        key: value for key, value in (RELEASE | changes).items() if value is not ...
    }
    assert release == RELEASE


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("- a", "cannot unmarshal array into Go value of type map[string]interface {}"),
        ("a: 1\n---x\nb: 2", "invalid Yaml document separator: x"),
        ("a: [", "cannot unmarshal yaml document: error converting YAML to JSON: yaml: line 1"),
    ],
)
def test_a_values_file_that_is_none(tmp_path: Path, text: str, words: str) -> None:
    (tmp_path / "v.yaml").write_text(text)
    with pytest.raises(HelmError) as found:
        merge_values([tmp_path / "v.yaml"])
    assert words in str(found.value)


@given(st.lists(st.text('ab=.,[]{}\\01 "', max_size=12), max_size=3))
def test_any_line_is_taken_or_refused(lines: list[str]) -> None:
    for kind in ("set", "set_string", "set_json", "set_literal"):
        flags: dict[str, Any] = {kind: lines}
        with contextlib.suppress(HelmError):
            assert isinstance(merge_values(**flags), dict)
