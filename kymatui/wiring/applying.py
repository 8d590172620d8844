"""The run of a plan: with its journal, and with the backup of what it deletes."""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import AbstractContextManager

from kymatui.engine.plans import Plan
from kymatui.engine.ports import Cluster
from kymatui.engine.running import Limits, Progress, Run, begin
from kymatui.wiring.backups import plan_backup
from kymatui.wiring.engine import journal_path


def begin_plan(
    plan: Plan,
    cluster: Cluster,
    cancel: threading.Event,
    tell: Callable[[Progress], None],
    limits: Limits | None = None,
) -> AbstractContextManager[Run]:
    """Begin the run of a plan, for commands and for the jobs of the screen."""
    return begin(
        cluster,
        cancel=cancel,
        journal=journal_path(plan.cluster, plan.bundle.namespace, plan.bundle.name),
        tell=tell,
        limits=limits,
        purpose=plan.purpose,
        backup=plan_backup(plan, cluster),
    )
