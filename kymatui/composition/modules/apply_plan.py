"""The run of a plan: with its journal, and with the backup of what it deletes."""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import AbstractContextManager

from kymatui.adapters.files.backups import plan_backup
from kymatui.adapters.sessions.cluster.cluster_access import journal_path
from kymatui.engine.cluster.ports import Cluster
from kymatui.engine.jobs.run import Progress, Run, RunLimits, begin
from kymatui.engine.plans.plan import Plan


def begin_plan(
    plan: Plan,
    cluster: Cluster,
    cancel: threading.Event,
    tell: Callable[[Progress], None],
    limits: RunLimits | None = None,
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
