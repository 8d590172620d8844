"""Selectors as text, with the server's own words for what is wrong."""

from __future__ import annotations

import pytest

from kymatui.sandbox.apiserver.requests.selector_parsers import (
    FieldTerm,
    SelectorError,
    check_field,
    field_value,
    parse_field_selector,
    parse_label_selector,
)


@pytest.mark.parametrize(
    ("text", "labels", "selected"),
    [
        ("", {}, True),
        ("a", {"a": ""}, True),
        ("!a", {"a": ""}, False),
        ("a=b", {"a": "b"}, True),
        ("a==b", {"a": "c"}, False),
        ("a!=b", {}, True),
        ("a in (b, c)", {"a": "c"}, True),
        ("a notin (b,c)", {"a": "c"}, False),
        ("a notin (b)", {}, True),
        ("a=", {"a": ""}, True),
        ("a>3", {"a": "10"}, True),
        ("a<3", {"a": "x"}, False),
        ("a=b,c", {"a": "b", "c": "1"}, True),
        ("a=b,c", {"a": "b"}, False),
        ("in=out", {"in": "out"}, True),
        ("x.y/z=1", {"x.y/z": "1"}, True),
    ],
)
def test_which_labels_are_selected(text: str, labels: dict[str, str], selected: bool) -> None:
    assert parse_label_selector(text)(labels) is selected


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a b", "unable to parse requirement: found 'b', expected: in, notin, =, ==, !=, gt, lt"),
        ("a=b=c", "found '=', expected: ',' or 'end of string'"),
        ("a,", "found '', expected: identifier after ','"),
        ("=a", "found '=', expected: !, identifier, or 'end of string'"),
        ("a in b", "unable to parse requirement: found 'b' expected: '('"),
    ],
)
def test_text_that_selects_nothing_because_it_is_wrong(text: str, message: str) -> None:
    with pytest.raises(SelectorError) as caught:
        parse_label_selector(text)
    assert str(caught.value) == message


def test_field_terms_may_hold_escaped_characters() -> None:
    assert parse_field_selector(r"a=b,c!=d\,e,f==g") == [
        FieldTerm("a", "b", True),
        FieldTerm("c", "d,e", False),
        FieldTerm("f", "g", True),
    ]


@pytest.mark.parametrize(
    ("resource", "field", "message"),
    [
        ("pods", "spec.foo", "field label not supported: spec.foo"),
        ("configmaps", "data.k", '"data.k" is not a known field selector: only "metadata.name", "metadata.namespace"'),
    ],
)
def test_fields_that_a_kind_cannot_be_selected_by(resource: str, field: str, message: str) -> None:
    with pytest.raises(SelectorError) as caught:
        check_field(resource, field, (), custom=False)
    assert str(caught.value) == message


@pytest.mark.parametrize(
    ("resource", "field", "value"),
    [
        ("pods", "status.phase", "Running"),
        ("pods", "status.podIPs", "1.1.1.1,2.2.2.2"),
        ("pods", "spec.hostNetwork", "false"),
        ("pods", "spec.nodeName", ""),
        ("events", "source", "kubelet"),
    ],
)
def test_the_text_of_a_field(resource: str, field: str, value: str) -> None:
    obj = {
        "status": {"phase": "Running", "podIPs": [{"ip": "1.1.1.1"}, {"ip": "2.2.2.2"}]},
        "source": {"component": "kubelet"},
    }
    assert field_value(resource, obj, field) == value
