"""One option of the configuration file is changed, and nothing else of it."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

from kymatui.errors import ConfigurationError
from kymatui.settings.option_edit import set_option

WIDE = ["name", "state"]


def test_a_file_that_is_not_there_is_made(tmp_path: Path) -> None:
    path = tmp_path / "new" / "config.toml"
    set_option(path, "columns", WIDE)
    assert tomllib.loads(path.read_text()) == {"columns": WIDE}


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ('# mine\ntheme = "light"\n', 'columns = ["name", "state"]\n# mine\ntheme = "light"\n'),
        ('columns = ["name"]\ntheme = "light" # bright\n', 'columns = ["name", "state"]\ntheme = "light" # bright\n'),
        ('columns = [\n  "name",  # first\n  "age",\n]\nsort = "age"\n', 'columns = ["name", "state"]\nsort = "age"\n'),
        ('[contexts."prod*"]\naccent = "red"\n', 'columns = ["name", "state"]\n[contexts."prod*"]\naccent = "red"\n'),
        ('"columns" = ["name"]', 'columns = ["name", "state"]'),
    ],
)
def test_everything_else_stays(tmp_path: Path, before: str, after: str) -> None:
    path = tmp_path / "config.toml"
    path.write_text(before)
    set_option(path, "columns", WIDE)
    assert path.read_text() == after


def test_a_text_and_a_flag_are_written_as_toml(tmp_path: Path) -> None:
    path = tmp_path / "config.toml"
    set_option(path, "theme", "light")
    set_option(path, "ascii", True)
    assert tomllib.loads(path.read_text()) == {"theme": "light", "ascii": True}


@pytest.mark.parametrize("value", [["name", "colour"], "light"])
def test_what_is_not_valid_is_not_written(tmp_path: Path, value: str | list[str]) -> None:
    path = tmp_path / "config.toml"
    path.write_text("ascii = true\n")
    with pytest.raises(ConfigurationError):
        set_option(path, "columns", value)
    assert path.read_text() == "ascii = true\n"


def test_a_file_that_is_broken_is_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "config.toml"
    path.write_text("theme = [")
    with pytest.raises(ConfigurationError, match="is not valid TOML"):
        set_option(path, "columns", WIDE)
    assert path.read_text() == "theme = ["


def test_a_folder_that_cannot_be_written_is_said(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(ConfigurationError, match="cannot be written"):
        set_option(tmp_path / "file" / "config.toml", "columns", WIDE)
