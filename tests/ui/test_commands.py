"""Commands behind `:` are found by name, alias or unambiguous beginning."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from kymatui.ui.navigation.command_table import (
    ScreenCommand,
    UnknownCommand,
    completion_candidates,
    find_command,
    unknown_name,
)


def _nothing(words: Sequence[str]) -> None:
    del words


COMMANDS = (
    ScreenCommand("quit", "", _nothing, aliases=("q",)),
    ScreenCommand("theme", "", _nothing, arguments=lambda: ("dark", "light")),
    ScreenCommand("sort", "", _nothing),
    ScreenCommand("sync", "", _nothing),
)


@pytest.mark.parametrize(
    ("line", "name", "words"),
    [
        ("quit", "quit", []),
        ("q", "quit", []),
        ("th dark", "theme", ["dark"]),
        ("sort 'a b' c", "sort", ["a b", "c"]),
        ("sort 'open", "sort", ["'open"]),
    ],
)
def test_a_line_finds_its_command(line: str, name: str, words: list[str]) -> None:
    found = find_command(COMMANDS, line)
    assert not isinstance(found, UnknownCommand)
    assert (found[0].name, found[1]) == (name, words)


def test_an_ambiguous_beginning_names_the_candidates() -> None:
    assert str(find_command(COMMANDS, "s")) == 'no command "s"; did you mean sort, sync?'


def test_an_unknown_word_points_to_the_help() -> None:
    assert str(find_command(COMMANDS, "dance")) == 'no command "dance"; `:help` lists the commands'


@pytest.mark.parametrize(
    ("word", "known", "said"),
    [
        ("drak", ("dark", "light"), 'no theme "drak"; did you mean dark?'),
        ("Dark", ("dark", "light"), 'no theme "Dark"; did you mean dark?'),
        ("zzz", ("dark", "light"), 'no theme "zzz"; choose dark, light'),
        ("", ("dark", "light"), "theme missing; choose dark, light"),
        ("zzz", tuple(f"name-{n}" for n in range(40)), 'no theme "zzz"; type `:theme NAME`'),
        ("zzz", (), 'no theme "zzz"; type `:theme NAME`'),
    ],
)
def test_an_unknown_name_is_answered_with_what_to_type(word: str, known: tuple[str, ...], said: str) -> None:
    assert unknown_name("theme", word, known, "theme NAME") == said


def test_a_misspelled_command_or_alias_names_the_command() -> None:
    assert str(find_command(COMMANDS, "theem")) == 'no command "theem"; did you mean theme?'


def test_completion_offers_names_aliases_and_arguments() -> None:
    assert list(completion_candidates(COMMANDS)) == ["quit", "q", "theme", "theme dark", "theme light", "sort", "sync"]
