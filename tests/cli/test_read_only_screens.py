"""Every screen, every key and every command, read-only: what reaches a server that records everything is reading."""

from __future__ import annotations

from pathlib import Path

import pytest

from kymatui.adapters.kube.transport.transport import is_read_only_request
from tests.cli.walking import Tried, all_screens, walk_catalog, walk_fleet
from tests.ui.parsing import parse_once

ELSEWHERE = {"ConfirmScreen", "JobScreen", "ContentScreen", "ContextVersionsScreen"}
"""What is asked before something is done, what shows it while it is done, content of a registry: there is none; and
a list of a fleet of contexts, which `test_contexts_on_screen` opens."""


@pytest.fixture(autouse=True)
def _own_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.chdir(tmp_path)  # what is saved goes there
    parse_once(monkeypatch)


@pytest.mark.timeout(480)  # dozens of screens are opened: on a machine that is busy that takes its time
async def test_no_key_and_no_command_of_any_screen_writes(tmp_path: Path) -> None:
    tried = Tried()
    await walk_catalog(tmp_path, tried)
    await walk_fleet(tmp_path, tried)
    assert all_screens() - tried.screens <= ELSEWHERE, "screens that no key leads to"
    assert len(tried.keys) > 50
    assert len(tried.commands) > 10
    assert tried.asked != []
    assert [asked for asked in tried.asked if not is_read_only_request(*asked)] == []
