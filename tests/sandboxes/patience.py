"""Time for the runtimes of a fleet where it is not what a test is about: other tests keep the machine busy."""

from __future__ import annotations

import pytest

from kymatui.sessions.control_plane import campaign_fleet
from kymatui.sessions.control_plane.pair_session import PairSession

_SECONDS = 60.0


def wait_longer_for_runtimes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Give each runtime of a campaign a minute to be connected, and one to be listed."""
    monkeypatch.setattr(PairSession.__init__, "__defaults__", (_SECONDS, None))
    monkeypatch.setattr(campaign_fleet, "_LISTED", _SECONDS)
