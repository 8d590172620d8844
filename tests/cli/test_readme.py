"""What the README and docs/ say of the command line, the keys and the configuration is so."""

from __future__ import annotations

import argparse
import importlib
import pkgutil
import re
import shlex
from pathlib import Path

import pytest
from textual.binding import Binding
from textual.dom import DOMNode

from kymatui import errors, ui
from kymatui.cli.command_help import EXAMPLES
from kymatui.cli.parser import build_parser
from kymatui.sandbox.world.story.sample_fleet import Draw, runtime, runtimes
from kymatui.settings.config_file import read_file
from kymatui.ui.application.fleet_app import FleetApp
from kymatui.ui.navigation.key_help import key_name
from kymatui.ui.viewmodels.row_filter import parse_filter
from tests.documents import DOCUMENTS, ROOT, anchors, blocks, links
from tests.reference_screens import commands

WHOLE = "\n".join(text for place, text in DOCUMENTS.items() if not place.startswith("docs/reference/"))


def shown() -> list[str]:
    """Every command line in a block that begins with kymatui."""
    lines = [part for block in blocks("sh") for line in block.splitlines() for part in line.split(" && ")]
    found = [line.partition("  #")[0].partition(" | ")[0].partition(" > ")[0].strip() for line in lines]
    return [line for line in dict.fromkeys(found) if line.split()[:1] == ["kymatui"]]


def named() -> list[str]:
    """Those that sentences speak of, perhaps without what they need."""
    return sorted({" ".join(text.split()) for text in re.findall(r"`(kymatui [a-z][^`]*)`", WHOLE)})


@pytest.mark.parametrize("line", shown())
def test_every_command_that_is_shown_is_understood(line: str) -> None:
    words = shlex.split(line)[1:]
    if "--help" in words:
        with pytest.raises(SystemExit):
            build_parser(words).parse_args(words)
    else:
        assert isinstance(build_parser(words).parse_args(words), argparse.Namespace)


@pytest.mark.parametrize("line", named())
def test_every_command_that_is_named_is_there(line: str, capsys: pytest.CaptureFixture[str]) -> None:
    words = [*(word for word in shlex.split(line)[1:] if word != "…"), "--help"]
    with pytest.raises(SystemExit) as left:
        build_parser(words).parse_args(words)
    assert left.value.code == 0
    command = "" if words[0].startswith("-") else words[0]  # without one it is the screen
    said = capsys.readouterr().out
    assert f"usage: kymatui {command}" in said
    assert command or words[0] in said


def test_commands_are_found_at_all() -> None:
    assert len(shown()) > 15
    assert len(named()) > 3


def bound_keys() -> set[str]:
    """As the help writes them, of every widget and screen there is."""
    for module in pkgutil.walk_packages(ui.__path__, f"{ui.__name__}."):
        importlib.import_module(module.name)
    waiting, found = [DOMNode], set()
    while waiting:
        one = waiting.pop()
        waiting += one.__subclasses__()
        if one.__module__.startswith("kymatui."):
            bindings = list(Binding.make_bindings(one.__dict__.get("BINDINGS", ())))
            found |= {key_name(binding.key) for binding in bindings}
    return found


def test_every_key_that_is_shown_is_bound() -> None:
    table = WHOLE[WHOLE.index("| key | what it does |") :]
    rows = table[: table.index("\n\n")].splitlines()[2:]
    keys = [key for row in rows for key in re.findall(r"`([^`]+)`", row.split(" | ")[0])]
    keys += [key for row in rows for key in re.findall(r"`(\S|\S+-\S)`", row.split(" | ")[1]) if key not in "!-f"]
    bound = bound_keys() | {f":{one.name}" for one in commands(FleetApp)}
    assert len(keys) > 20
    assert [key for key in keys if (key.split()[0] if key[0] == ":" and len(key) > 1 else key) not in bound] == []


def test_the_configuration_that_is_shown_is_valid(tmp_path: Path) -> None:
    for number, block in enumerate(blocks("toml")):
        file = tmp_path / f"{number}.toml"
        file.write_text(block)
        assert read_file(file)


def test_every_link_leads_somewhere() -> None:
    assert len(list(links())) > 40
    assert [f"{place}: {target}" for place, target in links() if not leads_somewhere(place, target)] == []


def leads_somewhere(place: str, target: str) -> bool:
    path, _, anchor = target.partition("#")
    file = (ROOT / place).parent / path if path else ROOT / place
    return file.is_file() and (not anchor or anchor in anchors(file.read_text("utf-8")))


def test_the_readme_can_be_read_in_one_go() -> None:
    assert len(DOCUMENTS["README.md"].splitlines()) < 200


def test_every_exit_status_is_told() -> None:
    told = {
        int(number) for number in re.findall(r"^\| (\d+) \|", DOCUMENTS["docs/reference/commands.md"], re.MULTILINE)
    }
    classes, waiting = set(), [errors.KymatuiError]
    while waiting:
        one = waiting.pop()
        classes.add(one.exit_code)
        waiting += one.__subclasses__()
    assert classes | {0, 143} == told, "0 is success, 143 the end by SIGTERM"


def test_every_file_that_contributing_names_is_there() -> None:
    """The walks name files of the package without their first folder."""
    named = re.findall(
        r"`((?:domain|ui|helm|engine|actions|cli|adapters|tests|kymatui)/[\w/*.]+)`", DOCUMENTS["CONTRIBUTING.md"]
    )
    assert len(named) > 30
    assert [path for path in named if not list(ROOT.glob(path)) and not list((ROOT / "kymatui").glob(path))] == []


def label_examples() -> list[str]:
    """The selectors of Kymas' labels in documents and in the help of commands."""
    helps = [line for lines in EXAMPLES.values() for line in lines]
    return sorted({found for text in (WHOLE, *helps) for found in re.findall(r"-l ([a-z][a-z0-9./-]*=[\w.-]+)", text)})


@pytest.mark.parametrize("selector", label_examples())
def test_a_selector_in_documents_and_help_matches_runtimes_of_the_sample(selector: str) -> None:
    """The server compares labels by their whole names."""
    key, _, value = selector.partition("=")
    draw = Draw("fleet")
    kymas = [runtime(draw, name, 0.0, "registry")[0] for name in runtimes(13)]
    labels = [kyma["metadata"]["labels"] for kyma in kymas]
    assert any(label.get(key) == value for label in labels)
    accepts = parse_filter(f"-l {selector}").accepts
    assert [accepts("", label) for label in labels] == [label.get(key) == value for label in labels]


def test_there_are_selectors_in_documents_and_help() -> None:
    assert label_examples()
