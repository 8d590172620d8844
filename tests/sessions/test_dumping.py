"""What kymatui writes as YAML is read may be outdated, by its own reader and by Helm's."""

from __future__ import annotations

import pytest

from kymatui.engine.cluster.yaml_output import dump_yaml
from kymatui.helm import load_yaml

WORDS = (
    "y",
    "N",
    "on",
    "1e3",
    "0o17",
    "0b1",
    "1_000",
    ".5",
    "+1",
    "-0x1F",
    "null",
    "~",
    "2026-11-21",
    "1:30",
    "<<",
    "",
)


@pytest.mark.parametrize("word", [*WORDS, "plain", "a: b", "# no comment", "two\nlines\n"])
def test_a_text_stays_a_text(word: str) -> None:
    value = {"data": {word: word, "list": [word]}}
    assert load_yaml(dump_yaml(value)) == value


def test_keys_stay_in_their_order_and_numbers_are_numbers() -> None:
    assert dump_yaml({"b": 1, "a": True, "c": None}) == "b: 1\na: true\nc: null\n"
