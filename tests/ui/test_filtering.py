"""The grammar behind `/`."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kymatui.ui.viewmodels.row_filter import parse_filter

LABELS = {"app": "web", "tier": "front"}


@pytest.mark.parametrize(
    ("text", "line", "accepted"),
    [
        ("", "anything", True),
        ("istio", "istio regular Ready", True),
        ("ISTIO", "istio", True),
        ("^keda", "my keda", False),
        ("!Ready", "istio Ready", False),
        ("!Ready", "istio Error", True),
        ("-f bop", "btp-operator", True),
        ("-f pob", "btp-operator", False),
        ("-l app=web", "x", True),
        ("-l app==web,tier=back", "x", False),
        ("-l app!=web", "x", False),
        ("-l missing!=web", "x", True),
        ("-l tier", "x", True),
        ("-l !tier", "x", False),
    ],
)
def test_what_a_filter_accepts(text: str, line: str, accepted: bool) -> None:
    assert parse_filter(text).accepts(line, LABELS) is accepted


@pytest.mark.parametrize("text", ["[", "(", "*x", "-l"])
def test_a_filter_that_does_not_parse_hides_nothing_and_says_why(text: str) -> None:
    found = parse_filter(text)
    assert found.problem
    assert found.accepts("any line", {})


@given(st.text(max_size=40), st.text(max_size=40))
def test_no_text_is_an_error(text: str, line: str) -> None:
    assert parse_filter(text).accepts(line, LABELS) in (True, False)
