"""Rows of the domain made by hand, for tests of words and screens."""

from __future__ import annotations

from typing import Any

from kymatui.domain.drift import Drift, DriftKind
from kymatui.domain.presence import Presence
from kymatui.domain.problems import Problem, Reason
from kymatui.domain.resolution import ChannelSource, Resolution
from kymatui.domain.rows import Catalog, Origin, Row
from kymatui.domain.states import State, StateSource

NOW = 1_763_000_000.0
DAY = 86_400.0


def module(name: str, **more: Any) -> Row:
    """A module that is in step and Ready in channel regular, but for what is given."""
    facts: dict[str, Any] = {
        "origin": Origin.KYMA,
        "channels": {"regular": "1.0.0", "fast": "1.1.0"},
        "channel": "regular",
        "desired": "1.0.0",
        "installed": "1.0.0",
        "newest": "1.1.0",
        "drift": Drift(DriftKind.IN_SYNC),
        "state": State.READY,
        "state_source": StateSource.STATUS,
        "presence": Presence.ENABLED,
        "managed": True,
        "mandatory": False,
        "beta": False,
        "internal": False,
        "reason": Reason("everything is as it should be"),
        "resolution": Resolution(name, "regular", ChannelSource.DEFAULT),
        "created": NOW - 41 * DAY,
    }
    return Row(name=name, **{**facts, **more})


def catalog(*rows: Row) -> Catalog:
    found = (Problem(row.reason.severity, row.reason.text, row.reason.actor, row.name) for row in rows)
    return Catalog("test", None, rows, tuple(problem for problem in found if problem.counts))
