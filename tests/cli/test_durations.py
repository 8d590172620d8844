"""Options that take a time: the same values and the same errors in every command."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest

from kymatui.cli.cluster_options import read_duration
from kymatui.cli.main import main
from kymatui.cli.parser import build_parser
from tests.cli.test_help import PARSERS

OPTIONS = {"--timeout", "--resync", "--seconds", "--since", "--request-timeout", "--interval", "--purge-grace"}


def options_with_a_time() -> Iterator[tuple[str, str]]:
    for name, parser in PARSERS.items():
        for action in parser._actions:
            if action.type is read_duration:
                yield name, action.option_strings[-1]


TIMES = [*options_with_a_time()]


def test_all_limits_and_intervals_are_durations() -> None:
    """An option that counts seconds would not understand `5m`."""
    found = {option for _, option in TIMES}
    requeue = {option for option in found if re.fullmatch(r"--[a-z-]+-requeue-[a-z]+-interval", option)}
    assert len(requeue) == 10, "lifecycle-manager's"
    assert found - requeue == OPTIONS
    others = [
        (name, option)
        for name, parser in PARSERS.items()
        for option, action in parser._option_string_actions.items()
        if option in OPTIONS and action.type is not read_duration
    ]
    assert others == [("helm template", "--timeout")], "helm's own, which `helm template` reads and does not use"


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("5m", 300.0),
        ("90s", 90.0),
        ("1h30m", 5400.0),
        ("1.5h", 5400.0),
        ("500ms", 0.5),
        ("300", 300.0),
        ("0.5", 0.5),
        ("1h0m0s", 3600.0),
    ],
)
def test_durations_of_kubectl_and_plain_seconds(text: str, seconds: float) -> None:
    words = ["catalog", "--timeout", text]
    assert build_parser(words).parse_args(words).timeout == seconds


def test_a_default_is_a_duration_too() -> None:
    assert build_parser(["disable", "keda"]).parse_args(["disable", "keda"]).timeout == 300.0


@pytest.mark.parametrize(("name", "option"), TIMES)
@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("soon", "a duration"),
        ("5 m", "a duration"),
        ("5d", "a duration"),
        ("nan", "a duration"),
        ("inf", "a duration"),
        ("1e9", "a duration"),
        ("", "a duration"),
        ("99999999999999999h", "a duration"),
        ("0", "greater than 0"),
        ("0s", "greater than 0"),
        ("-5m", "greater than 0"),
    ],
)
def test_an_error_names_option_value_and_examples(
    name: str, option: str, text: str, kind: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([*name.split(), f"{option}={text}"]) == 64
    first, second = capsys.readouterr().err.splitlines()
    assert first == f'kymatui: {option} must be {kind}, not "{text}"'
    assert second == "  hint: examples: 90s, 5m, 1h30m, or seconds (300)"
