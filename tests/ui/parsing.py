"""Styles that are parsed once in a process: else every app of a test spends a fourth of its start on them."""

from __future__ import annotations

import pytest
from textual.css.model import RuleSet
from textual.css.stylesheet import Stylesheet
from textual.css.types import CSSLocation

_parse = Stylesheet._parse_rules
_PARSED: dict[object, list[RuleSet]] = {}


def _parse_once(
    sheet: Stylesheet,
    css: str,
    read_from: CSSLocation,
    is_default_rules: bool = False,
    tie_breaker: int = 0,
    scope: str = "",
) -> list[RuleSet]:
    """Return the rules that an app with the same text and the same variables already parsed."""
    key = (css, read_from, is_default_rules, tie_breaker, scope, frozenset(sheet._variables.items()))
    if key not in _PARSED:
        _PARSED[key] = _parse(sheet, css, read_from, is_default_rules, tie_breaker, scope)
    return list(_PARSED[key])


def parse_once(patch: pytest.MonkeyPatch) -> None:
    """Keep parsed styles from one app to the next; nothing else of Textual is replaced in a test."""
    patch.setattr(Stylesheet, "_parse_rules", _parse_once)
