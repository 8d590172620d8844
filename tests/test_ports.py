"""Ports have suites of their own, of which a run without arguments has some files."""

from __future__ import annotations

import pytest

from tests.ports import PORTS, TESTS, is_left_out


@pytest.mark.parametrize("folder", PORTS)
def test_a_port_has_files_that_every_run_has_and_others(folder: str) -> None:
    files = {path.relative_to(TESTS / folder).as_posix() for path in (TESTS / folder).rglob("test_*.py")}
    kept = {name for name in files if not is_left_out(TESTS / folder / name)}
    assert kept == set(PORTS[folder])
    assert files > kept


def test_the_suite_of_the_product_is_whole() -> None:
    assert not is_left_out(TESTS / "cli" / "test_main.py")
    assert not is_left_out(TESTS / "test_architecture.py")
