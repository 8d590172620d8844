"""Caches stand where the platform says."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from platformdirs import user_cache_path

from kymatui.adapters.files.user_files import cache_folder


@pytest.mark.parametrize("given", [None, "", "  ", "relative/path", "/absolute/path", " /spaces/around "])
def test_the_place_is_that_of_platformdirs(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, given: str | None) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    if given is None:
        monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    else:
        monkeypatch.setenv("XDG_CACHE_HOME", given)
    assert cache_folder("templates") == user_cache_path("kymatui", appauthor=False) / "templates"


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere platformdirs decides")
def test_a_user_without_a_home_has_no_cache(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.setattr("os.path.expanduser", lambda path: path)
    assert cache_folder("templates") is None
