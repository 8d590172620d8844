"""JSON, YAML and TOML, written and read."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kymatui.helm.encodings.json_decoder import JsonSyntaxError, decode_json
from kymatui.helm.encodings.json_encoder import encode_json
from kymatui.helm.encodings.toml import TomlSyntaxError, decode_toml
from tests.helm.functions.expressions import evaluate, failure

JSON = st.recursive(
    st.none() | st.booleans() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)


@pytest.mark.parametrize(
    ("expression", "result"),
    [
        ('toJson "<a & b>\\u2028\\n\\b"', '"\\u003ca \\u0026 b\\u003e\\u2028\\n\\b"'),
        ('toRawJson "<a>"', '"<a>"'),
        ('toJson "a\\x80"', '"a\\ufffd"'),
        ("toJson 1e20", "100000000000000000000"),
        ("toJson 1e21", "1e+21"),
        ("toJson 1e-7", "1e-7"),
        ("toJson 3.0", "3"),
        ('toJson (dict "b" 1 "a" nil)', '{"a":null,"b":1}'),
        ('toPrettyJson (dict "a" (list 1 (dict)) "b" (list))', '{\n  "a": [\n    1,\n    {}\n  ],\n  "b": []\n}'),
        ('toJson (semver "v1.2")', '"1.2.0"'),
        ('toYaml (dict "b" (list 1 "x") "a" "yes")', 'a: "yes"\nb:\n- 1\n- x'),
        ('toYamlPretty (dict "b" (list 1 "x"))', "b:\n  - 1\n  - x"),
        (
            'toToml (dict "b" 1.0 "a" (dict "x" (list 1 2)) "t" (list (dict "k" "v")))',
            'b = 1.0\n\n[a]\n  x = [1, 2]\n\n[[t]]\n  k = "v"\n',
        ),
        ('toToml (list 1 (dict "a" 1))', "[1, {a = 1}]"),
        ('fromToml "d = 1979-05-27\\nt = 07:32:00.5" | toToml', "d = 1979-05-27\nt = 07:32:00.5\n"),
        ('fromToml "a = [1979-05-27T07:32:00]" | toToml', "a = [1979-05-27T07:32:00]\n"),
        ('fromToml "z = 1979-05-27T07:32:00+02:00" | toToml', "z = 1979-05-27T07:32:00+02:00\n"),
        ("toToml (list nil)", "toml: cannot encode array with nil element"),
        ('toToml (dict "a b" "q\\"\\n")', '"a b" = "q\\"\\n"\n'),
    ],
)
def test_writing(expression: str, result: str) -> None:
    assert evaluate(expression) == result


@pytest.mark.parametrize(
    ("expression", "result"),
    [
        ('fromJson "{\\"a\\":[1,null]}"', "map[a:[1 <nil>]]"),
        ('(fromJson "{\\"a\\":1}").a | typeOf', "float64"),
        ('fromJson "[1]"', "map[Error:json: cannot unmarshal array into Go value of type map[string]interface {}]"),
        ('fromJsonArray "{}"', "[json: cannot unmarshal object into Go value of type []interface {}]"),
        ('fromJson "null" | toJson', "null"),
        ('fromYaml "a: 1\\nb: [x]"', "map[a:1 b:[x]]"),
        ('(fromYaml "a: 1").a | typeOf', "float64"),
        ('fromYaml "" | toJson', "{}"),
        ('(fromYaml "- a").Error | trunc 26', "error unmarshaling JSON: w"),
        ('fromYamlArray "- a\\n- 1"', "[a 1]"),
        ('fromToml "a = 1\\n[t]\\nx = [1.5, true]" | toJson', '{"a":1,"t":{"x":[1.5,true]}}'),
        ('(fromToml "a = 1").a | typeOf', "int64"),
        ('(fromToml "[[t]]\\nx = 1").t | typeOf', "[]map[string]interface {}"),
        ('(fromToml "d = 2024-02-29T01:02:03Z").d', "2024-02-29 01:02:03 +0000 UTC"),
    ],
)
def test_reading(expression: str, result: str) -> None:
    assert evaluate(expression) == result


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("", "unexpected end of JSON input"),
        ("{", "unexpected end of JSON input"),
        ("{[", "invalid character '[' looking for beginning of object key string"),
        ("{'a'", "invalid character '\\'' looking for beginning of object key string"),
        ('{"a" 1}', "invalid character '1' after object key"),
        ('{"a":1 "b"}', "invalid character '\"' after object key:value pair"),
        ('{"a":1,}', "invalid character '}' looking for beginning of object key string"),
        ("[1,]", "invalid character ']' looking for beginning of value"),
        ("[1 2]", "invalid character '2' after array element"),
        ("1 2", "invalid character '2' after top-level value"),
        ("tru", "invalid character ' ' in literal true (expecting 'e')"),
        ("trux", "invalid character 'x' in literal true (expecting 'e')"),
        ("01", "invalid character '1' after top-level value"),
        ("-", "invalid character ' ' in numeric literal"),
        ("1.x", "invalid character 'x' after decimal point in numeric literal"),
        ("1ex", "invalid character 'x' in exponent of numeric literal"),
        ('"\\x"', "invalid character 'x' in string escape code"),
        ('"\\u12g4"', "invalid character 'g' in \\u hexadecimal character escape"),
        ('"a\nb"', "invalid character '\\n' in string literal"),
        ("NaN", "invalid character 'N' looking for beginning of value"),
        ("1e999", "json: cannot unmarshal number 1e999 into Go value of type float64"),
    ],
)
def test_what_is_no_json_is_described_in_gos_words(text: str, complaint: str) -> None:
    with pytest.raises(JsonSyntaxError) as refusal:
        decode_json(text)
    assert str(refusal.value) == complaint


def test_half_a_surrogate_pair_is_a_replacement_character() -> None:
    assert decode_json('"\\ud83d\\ude00\\ud800x"') == "\U0001f600\ufffdx"


@pytest.mark.parametrize("text", ["[" * 100_000, '{"a":' * 50_000, "[" * 9_000 + "]" * 9_000 + "x"])
def test_depth_cannot_hurt(text: str) -> None:
    with pytest.raises(JsonSyntaxError):
        decode_json(text)


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("a", "line 1: unexpected EOF; expected key separator '='"),
        ("a =", 'line 1 (last key "a"): unexpected EOF; expected value'),
        ("= 1", "Invalid statement (at line 1, column 1)"),
        ("a: 1", "line 1: expected '.' or '=', but got ':' instead"),
        ("{", "line 1: expected '.' or '=', but got '{' instead"),
        ("a = 1\nb", "line 2: unexpected EOF; expected key separator '='"),
        ("a = 1\na = 2", "Cannot overwrite a value (at end of document)"),
        ("a = 01", "Expected newline or end of document after a statement (at line 1, column 6)"),
        ("a = 2024-13-01", "Expected newline or end of document after a statement (at line 1, column 9)"),
        ("a = 9223372036854775808", "an integer is out of range for int64"),
        ("a = " + "9" * 5000, "Exceeds the limit (4300 digits) for integer string conversion"),
        ("a = 1e999", "1e999 is out of range for float64"),
        ("a = '\udcff'", "the text is not UTF-8"),
        (f"a = {'[' * 101}{']' * 101}", "a value is nested more than 100 deep"),
        (f"a = {'[' * 100_000}", "a value is nested more than 100 deep"),
        ("a" + ".a" * 400_000 + " = 1", "a key has more than 100 parts"),
        ("x = 1\n[ 'a'" + ' . "b" ' * 100 + "]", "a key has more than 100 parts"),
        ("x = {y = 1, z" + " . z " * 100 + "= 1}", "a key has more than 100 parts"),
    ],
)
def test_text_that_is_no_toml_is_refused(text: str, complaint: str) -> None:
    with pytest.raises(TomlSyntaxError) as refusal:
        decode_toml(text)
    assert str(refusal.value).startswith(f"toml: {complaint}")


@given(JSON)
def test_json_comes_back(value: Any) -> None:
    assert decode_json(encode_json(value)) == value
    assert json.loads(encode_json(value, indent="  "), parse_int=float) == value


@given(st.text())
def test_nothing_but_its_own_error_comes_out_of_a_reader(text: str) -> None:
    for decode, error in ((decode_json, JsonSyntaxError), (decode_toml, TomlSyntaxError)):
        try:
            decode(text)
        except error:
            continue


@pytest.mark.parametrize(
    ("expression", "text"),
    [
        ('mustToJson (float64 "nan")', "json: unsupported value: NaN"),
        ('toRawJson (float64 "inf")', "json: unsupported value: +Inf"),
        ('mustFromJson "{"', "unexpected end of JSON input"),
        ("toToml nil", "reflect: call of reflect.Value.Type on zero Value"),
    ],
)
def test_errors(expression: str, text: str) -> None:
    assert failure(expression) == text
