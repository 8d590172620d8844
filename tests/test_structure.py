"""The measures of the structure: each at its aim, or no further from it than it is (see tests/structure.py)."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests import structure
from tests.sandboxes.starting import told_sandbox

pytestmark = pytest.mark.xdist_group("architecture")  # parsing the package costs more than looking at it

CEILINGS = {"files that `catalog` enters": 95, "lines without libraries and sandbox": 115_345}
"""Measures that miss their aim, with what they are; a number only falls, and the entry goes with the aim.

Threads that retry or not enter a file or two more or less.
"""


def ceiling(name: str) -> int:
    return CEILINGS.get(name, structure.AIMS[name])


def test_sizes_hold_their_aims() -> None:
    measures = structure.size_measures(structure.modules())
    assert {name: number for name, number in measures.items() if number > ceiling(name)} == {}


def test_commands_enter_no_more_files(tmp_path: Path) -> None:
    with told_sandbox() as running:
        measures = structure.command_measures(running.kubeconfig, tmp_path)
    assert {name: number for name, number in measures.items() if number > ceiling(name)} == {}


def test_every_ceiling_is_above_its_aim() -> None:
    assert {name: number for name, number in CEILINGS.items() if number <= structure.AIMS[name]} == {}


def test_a_run_that_calls_a_function_enters_its_file(tmp_path: Path) -> None:
    """`--version` reads no cluster."""
    files = structure.entered_files(tmp_path / "none", ["--version"], tmp_path)
    assert "cli/main.py" in files
    assert not [name for name in files if name.startswith(("adapters/", "engine/", "sessions/"))]
