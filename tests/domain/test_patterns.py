"""Regular expressions that are compiled on first use."""

from __future__ import annotations

import re

import pytest

from kymatui import patterns


def test_a_deferred_pattern_is_compiled_when_it_is_used() -> None:
    pattern, wrong = patterns.deferred(r"(a)(?P<b>b)", re.IGNORECASE), patterns.deferred("(")
    match = pattern.fullmatch("AB")
    assert match is not None
    assert match.groupdict() == {"b": "B"}
    assert pattern.pattern == r"(a)(?P<b>b)"
    with pytest.raises(re.error):
        wrong.search("")
