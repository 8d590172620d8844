"""Runs of the engine with other limits than their own, for tests that would wait for them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from unittest.mock import _patch, patch

from kymatui.engine.jobs import run as engine_run


def patched_limits(change: Callable[[engine_run.RunLimits], engine_run.RunLimits]) -> _patch[Any]:
    """Return a patch under which all runs begin with changed limits."""

    def limited_run(
        cluster: Any, clock: Any, cancel: Any, journal: Any, report: Any, limits: Any, *more: Any
    ) -> engine_run.Run:
        return real_run(cluster, clock, cancel, journal, report, change(limits), *more)

    real_run = engine_run.Run
    return patch.object(engine_run, "Run", limited_run)
