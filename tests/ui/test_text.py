"""Text out of a cluster is safe on a terminal and fits its cell."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from kymatui.domain.kubernetes.terminal_text import format_count, sanitize, with_subject
from kymatui.ui.viewmodels.display_text import as_screen_commands, clip, fit_to_width, screen_command


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("btp-operator", "btp-operator"),
        ("\x1b[31mred", " [31mred"),
        ("two\nlines", "two lines"),
        ("bell\x07", "bell "),
        ("turned\u202eround", "turned round"),
        ("Grüße 日本", "Grüße 日本"),
    ],
)
def test_control_characters_never_reach_the_terminal(text: str, shown: str) -> None:
    assert sanitize(text) == shown


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("run `kymatui adopt keda` first, then", "run `:adopt keda` first, then"),
        ("`kymatui adopt` takes it over", "`:adopt` takes it over"),
        ("`kymatui upgrade keda --version 1.5.0`", "`kymatui upgrade keda --version 1.5.0`"),
        ("`kymatui adopt keda --version …`", "`kymatui adopt keda --version …`"),
    ],
)
def test_commands_that_the_screen_has_too_are_written_as_they_are_there(text: str, shown: str) -> None:
    assert as_screen_commands(text) == shown


@pytest.mark.parametrize(
    ("text", "width", "shown"),
    [
        ("serverless", 10, "serverless"),
        ("serverless", 6, "serve…"),
        ("ab", 5, "ab   "),
        ("日本語", 5, "日本…"),
        ("日本語", 4, "日 …"),
        ("x", 0, ""),
        ("xy", 1, "…"),
    ],
)
def test_fit_cuts_with_an_ellipsis_and_pads(text: str, width: int, shown: str) -> None:
    assert fit_to_width(text, width) == shown


def test_numbers_are_padded_on_the_left() -> None:
    assert fit_to_width("41d", 5, right=True) == "  41d"


@given(st.text(), st.integers(0, 40))
def test_fit_is_always_exactly_as_wide_as_asked(text: str, width: int) -> None:
    assert cell_len(fit_to_width(sanitize(text), width)) == width


@given(st.text(), st.integers(0, 40))
def test_clip_is_never_wider(text: str, width: int) -> None:
    assert cell_len(clip(sanitize(text), width)) <= max(width, 0)


@pytest.mark.parametrize(
    ("number", "noun", "plural", "words"),
    [(0, "runtime", "", "0 runtimes"), (1, "runtime", "", "1 runtime"), (2, "entry", "entries", "2 entries")],
)
def test_numbers_agree_with_their_nouns(number: int, noun: str, plural: str, words: str) -> None:
    assert format_count(number, noun, plural) == words


@pytest.mark.parametrize("text", ["keda: not installed", "keda is not installed"])
def test_a_text_names_its_subject_once(text: str) -> None:
    assert with_subject("keda", text) == text
    assert with_subject("keda", "not installed") == "keda: not installed"


@pytest.mark.parametrize(
    ("command", "line"),
    [
        ("kymatui unpause keda", "unpause keda"),
        ("kymatui channel telemetry fast --remote 'skr one'", "channel telemetry fast"),
        ("kymatui label beta=true", "label beta on"),
        ("kymatui finalizers keda --object Keda:kyma-system/default --remove a/b", "delete keda"),
        ("kymatui edit --kyma", "edit kyma"),
        ("kymatui unpause --kyma --remote skr", "unpause kyma"),
        ("kymatui delete keda --cascade", "delete keda"),
        ("kymatui delete keda-release -n kyma-system", "delete keda"),
        ("kymatui install keda --chart https://example.org/keda.tgz -n kyma-system", ""),
        ("kymatui install keda --version 1.2.3", ""),
        ("kymatui logs keda -p", ""),
        ("kubectl create secret generic a -n b --from-env-file=FILE", ""),
        ("", ""),
    ],
)
def test_a_printed_command_is_a_line_of_the_screen(command: str, line: str) -> None:
    assert screen_command(command, "keda") == line
