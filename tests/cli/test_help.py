"""Help: groups, examples, topics, and the pages that are made of them."""

from __future__ import annotations

import argparse
import json
import re
import shlex
from pathlib import Path

import pytest

import kymatui
from kymatui.cli.cluster_options import read_duration
from kymatui.cli.command_help import EXAMPLES, GROUPS, SUBCOMMAND_EXAMPLES, TOP_EXAMPLES
from kymatui.cli.command_table import COMMANDS
from kymatui.cli.help_topics import TOPICS
from kymatui.cli.main import main
from kymatui.cli.parser import build_parser
from kymatui.cli.subcommands import LazySubcommands
from kymatui.domain.catalog.glossary import GLOSSARY
from kymatui.errors import UsageError
from tests.reference import pages
from tests.strings import command_parser, literals

LINES = [
    pytest.param(name, line.partition("  #")[0].strip(), id=f"{name}-{number}")
    for name, lines in {**EXAMPLES, **SUBCOMMAND_EXAMPLES}.items()
    for number, line in enumerate(lines)
]


def parsers() -> dict[str, argparse.ArgumentParser]:
    """Return the parser of each command and of each subcommand, by its words."""
    found = {"": build_parser([]), **{name: command_parser(name) for _, names in GROUPS for name in names}}
    for name, parser in list(found.items()):
        for action in parser._actions if name else ():
            if isinstance(action, argparse._SubParsersAction):
                for word, below in action.choices.items():
                    if isinstance(action, LazySubcommands):
                        action.configured(word)
                    found[f"{name} {word}"] = below
    return found


PARSERS = parsers()


def test_every_command_is_in_one_group_and_has_examples() -> None:
    grouped = [name for _, names in GROUPS for name in names]
    assert sorted(grouped) == sorted(command.name for command in COMMANDS)
    assert {name for name in grouped if not 2 <= len(EXAMPLES.get(name, ())) <= 4} == set()


@pytest.mark.parametrize("name", [name for name in PARSERS if name])
def test_help_has_a_purpose_and_two_to_four_examples(name: str) -> None:
    lines = EXAMPLES.get(name) or SUBCOMMAND_EXAMPLES[name]
    assert 2 <= len(lines) <= 4
    said = PARSERS[name].format_help().splitlines()
    assert said[0].startswith(f"usage: kymatui {name}")
    assert "('" not in said[0], "a value of several words"
    assert said[2].endswith("."), "the purpose"
    assert said[3] == "", "in one line"
    assert said[-1 - len(lines) :] == ["examples:", *(f"  {line}" for line in lines)]


def test_help_of_kymatui_itself_has_examples() -> None:
    said = PARSERS[""].format_help()
    assert all(f"\n  {line}\n" in said for line in TOP_EXAMPLES)
    for line in TOP_EXAMPLES:
        words = shlex.split(line.partition("  #")[0])[1:]
        assert build_parser(words).parse_args(words).command.name == "screen"


@pytest.mark.parametrize("name", PARSERS)
def test_help_explains_every_option_with_its_default_and_its_unit(name: str) -> None:
    options = [one for one in PARSERS[name]._actions if one.help != argparse.SUPPRESS]
    assert [one.dest for one in options if not one.help and not isinstance(one, argparse._SubParsersAction)] == []
    takes_value = [one for one in options if one.option_strings and one.nargs != 0]
    assert [one.dest for one in takes_value if not one.metavar and one.choices is None] == []
    preset = [one for one in takes_value if one.default not in (None, "", [], frozenset(), argparse.SUPPRESS)]
    assert [one.dest for one in preset if "default: " not in str(one.help)] == []
    numbers = [one for one in takes_value if one.type in (int, float, read_duration)]
    assert {one.metavar for one in numbers} <= {"DURATION", "N", "P"}, "the unit is the name of the value"
    shown = [one for one in preset if isinstance(one.default, int | float | str) and one.default]
    assert [one.dest for one in shown if not re.search(rf"default: {_plain(one.default)}(?!\w)", str(one.help))] == []


def _plain(value: float | str) -> str:
    return re.escape(value) if isinstance(value, str) else f"{value:g}"


@pytest.mark.parametrize(("name", "line"), LINES)
def test_every_example_is_a_command_line_of_its_command(name: str, line: str) -> None:
    line = line.removeprefix("source <(").removesuffix(")") if line.startswith("source") else line
    words = shlex.split(line)
    assert words[: 1 + len(name.split())] == ["kymatui", *name.split()]
    if "--help" in words:
        with pytest.raises(SystemExit):
            build_parser(words[1:]).parse_args(words[1:])
    else:
        assert build_parser(words[1:]).parse_args(words[1:]).command.name == name.split()[0]


def test_the_help_lists_the_commands_in_their_groups(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["--help"])
    said = capsys.readouterr().out
    at = [said.index(f"\n{title}:\n") for title, _ in GROUPS]
    assert at == sorted(at)
    assert all(f"\n  {command.name} " in said and command.help[:30] in said for command in COMMANDS)


def test_help_of_a_subcommand_is_its_help(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["help", "helm", "template"]) == 0
    assert capsys.readouterr().out.startswith("usage: kymatui helm template")


def test_help_of_a_command_is_its_help(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["help", "events"]) == 0
    found = capsys.readouterr().out
    with pytest.raises(SystemExit):
        main(["events", "--help"])
    assert found == capsys.readouterr().out
    assert "examples:\n  kymatui events keda\n" in found


@pytest.mark.parametrize("name", TOPICS)
def test_every_topic_is_listed_and_has_a_text(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["help"]) == 0
    assert f"  {name} " in capsys.readouterr().out
    assert main(["help", name]) == 0
    assert len(capsys.readouterr().out.splitlines()) > 2


def test_every_command_that_a_message_names_is_understood() -> None:
    """A value in an f-string, and what an ellipsis leaves open, may be anything; arguments may be missing."""
    named = {line for text in literals() for line in re.findall(r"`(kymatui [a-z][^`]*)`", text.text)}
    assert len(named) > 35
    unknown = []
    for line in sorted(named):
        words = shlex.split(line.replace("{}", "X").replace("…", "X"))[1:]
        try:
            build_parser(words).parse_args(words)
        except UsageError as error:
            if not re.search('are required|expected one argument|one of the arguments|"X"', str(error)):
                unknown.append(f"{line}: {error}")
        except SystemExit as left:  # help and version are answers
            unknown += [line] if left.code else []
    assert unknown == []


def test_every_variable_of_the_code_is_in_its_topic() -> None:
    texts = [path.read_text("utf-8") for path in Path(kymatui.__file__).parent.rglob("*.py")]
    named = {name for text in texts for name in re.findall(r'"(KYMATUI_[A-Z_]+)"', text)}
    assert len(named) > 5
    between_processes = {"KYMATUI_SANDBOX_PARENT"}
    assert {name for name in named if name not in TOPICS["environment"].text()} == between_processes


def test_a_topic_that_does_not_exist_names_what_is_near(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["help", "glosary"]) == 64
    assert "did you mean glossary?" in capsys.readouterr().err


def test_the_version_names_what_kymatui_runs_on(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["version", "-o", "json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert set(found) == {"kymatui", "python", "textual", "kubernetes", "platform"}
    assert main(["version"]) == 0
    assert capsys.readouterr().out.splitlines()[0] == f"kymatui     {found['kymatui']}"


def test_every_word_of_a_table_is_in_the_glossary() -> None:
    for title, terms in GLOSSARY:
        words = [word for word, _ in terms]
        assert set(words) == set(type(words[0])), title
        assert all(term.meaning.endswith(".") for _, term in terms), title


def test_the_pages_that_are_generated_from_the_code_are_current(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "100")
    old = [path.name for path, text in pages().items() if not path.is_file() or path.read_text("utf-8") != text]
    assert old == [], "python -m tests.reference"
