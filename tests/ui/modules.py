"""Rows of the domain made by hand, for tests of words and screens."""

from __future__ import annotations

from typing import Any

from kymatui.domain.catalog.rows import Catalog, CatalogOrigin, ModuleRow
from kymatui.domain.kyma.problems import Problem, Reason
from kymatui.domain.kyma.states import State, StateSource
from kymatui.domain.modules.presence import Presence
from kymatui.domain.versions.drift import Drift, DriftKind
from kymatui.domain.versions.resolution import ChannelSource, Resolution

NOW = 1_763_000_000.0
DAY = 86_400.0


def module(name: str, **more: Any) -> ModuleRow:
    """A module that is in step and Ready in channel regular, but for what is given."""
    facts: dict[str, Any] = {
        "origin": CatalogOrigin.KYMA,
        "channels": {"regular": "1.0.0", "fast": "1.1.0"},
        "channel": "regular",
        "desired": "1.0.0",
        "installed": "1.0.0",
        "newest": "1.1.0",
        "drift": Drift(DriftKind.UP_TO_DATE),
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
    return ModuleRow(name=name, **{**facts, **more})


def catalog(*rows: ModuleRow) -> Catalog:
    found = (Problem(row.reason.severity, row.reason.text, row.reason.actor, row.name) for row in rows)
    return Catalog("test", None, rows, tuple(problem for problem in found if problem.counts))
