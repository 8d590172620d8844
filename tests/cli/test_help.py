"""Help: groups, examples, topics, and the pages that are made of them."""

from __future__ import annotations

import json
import shlex

import pytest

from kymatui.cli.command_help import EXAMPLES, GROUPS
from kymatui.cli.command_table import COMMANDS
from kymatui.cli.help_topics import TOPICS
from kymatui.cli.main import main
from kymatui.cli.parser import build_parser
from kymatui.domain.glossary import GLOSSARY
from tests.reference import pages

LINES = [
    pytest.param(name, line.partition("  #")[0].strip(), id=f"{name}-{number}")
    for name, lines in EXAMPLES.items()
    for number, line in enumerate(lines)
]


def test_every_command_is_in_one_group_and_has_examples() -> None:
    grouped = [name for _, names in GROUPS for name in names]
    assert sorted(grouped) == sorted(command.name for command in COMMANDS)
    assert {name for name in grouped if not 2 <= len(EXAMPLES.get(name, ())) <= 4} == set()


@pytest.mark.parametrize(("name", "line"), LINES)
def test_every_example_is_a_command_line_of_its_command(name: str, line: str) -> None:
    line = line.removeprefix("source <(").removesuffix(")") if line.startswith("source") else line
    words = shlex.split(line)
    assert words[:2] == ["kymatui", name]
    if "--help" in words:
        with pytest.raises(SystemExit):
            build_parser(words[1:]).parse_args(words[1:])
    else:
        assert build_parser(words[1:]).parse_args(words[1:]).command.name == name


def test_the_help_lists_the_commands_in_their_groups(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["--help"])
    said = capsys.readouterr().out
    at = [said.index(f"\n{title}:\n") for title, _ in GROUPS]
    assert at == sorted(at)
    assert all(f"\n  {command.name} " in said and command.help[:30] in said for command in COMMANDS)


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


def test_the_pages_that_are_made_from_the_code_are_current(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "100")
    old = [path.name for path, text in pages().items() if not path.is_file() or path.read_text("utf-8") != text]
    assert old == [], "python -m tests.reference"
