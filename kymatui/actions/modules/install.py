"""Installations, upgrades and adoptions: plan all, refuse, accept, run each. One module is a batch of one.

What fails keeps no other from going on. A run looks once more whether lifecycle-manager has taken the module up, and
does what the accepted plan displayed or nothing.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager

from msgspec import Struct
from msgspec.structs import replace

from kymatui.actions.modules.install_plan import InstallPort, InstallRequest, plan_install, require_unmanaged
from kymatui.engine.apply import applier
from kymatui.engine.jobs.journal import NO_JOURNAL, Journal
from kymatui.engine.jobs.run import Progress, Run, RunLimits, begin
from kymatui.engine.plans.plan import Plan
from kymatui.errors import CancelledError, KymatuiError, OutdatedError

_ATTEMPTS = 5  # plans that are made again if other clients change the cluster meanwhile


class InstallLeg(Struct, frozen=True):
    """One installation of a batch.

    name     what it is called where another one has the same module's name
    request  None where only the plan is known: it is not made anew
    error    why there is no plan, or why it did not come to its end
    outcome  what was done; None where nothing was
    """

    name: str
    request: InstallRequest | None = None
    plan: Plan | None = None
    error: KymatuiError | None = None
    outcome: applier.ApplyOutcome | None = None

    @property
    def is_refused(self) -> bool:
        """Return whether it cannot be carried out."""
        return self.plan is None or bool(self.plan.blockers or self.plan.missing)

    @property
    def is_same(self) -> bool:
        """Return whether everything is as it should be already."""
        return self.plan is not None and self.plan.changes_nothing

    @property
    def is_pending(self) -> bool:
        """Return whether there is something to carry out."""
        return not (self.is_refused or self.is_same)


class InstallControls(Struct, frozen=True):
    """How a run is followed and stopped.

    unseen     nobody looks at plans before they are carried out: where others were faster, they are made anew
    replanned  is called with every plan that was made anew, and why
    journal    is that of the job
    """

    cancel: threading.Event
    progress: Callable[[Progress], None]
    limits: RunLimits | None = None
    wait: bool = True
    unseen: bool = False
    replanned: Callable[[InstallLeg, OutdatedError], None] = lambda leg, error: None
    journal: Journal = NO_JOURNAL


def plan_installs(port: InstallPort, named: Sequence[tuple[str, InstallRequest]]) -> tuple[InstallLeg, ...]:
    """Plan each; what cannot be planned is a leg of its own. Nothing is written."""
    return tuple(_planned(port, InstallLeg(name, request)) for name, request in named)


def _planned(port: InstallPort, leg: InstallLeg) -> InstallLeg:
    assert leg.request is not None
    try:
        return replace(leg, plan=plan_install(port, leg.request))
    except CancelledError:
        raise
    except KymatuiError as error:
        return replace(leg, error=error)


def refuse_unfit_plan(port: InstallPort, plan: Plan) -> None:
    """Raise RefusedError if a saved plan is of another cluster, OutdatedError if the cluster has changed since."""
    with begin(port.cluster) as run:
        applier.refuse_outdated(plan, run)


def run_install(port: InstallPort, leg: InstallLeg, controls: InstallControls) -> InstallLeg:
    """Carry one out; where nothing is to be written, wait until it is ready. Raises CancelledError and nothing else."""
    for attempt in range(1, _ATTEMPTS + 1):
        try:
            return _attempt(port, leg, controls)
        except CancelledError:
            raise
        except OutdatedError as error:  # nothing was written: somebody else was faster
            if not controls.unseen or leg.request is None or attempt == _ATTEMPTS:
                return replace(leg, error=error)
            leg = _planned(port, leg)
            if leg.error is not None:
                return leg
            controls.replanned(leg, error)
        except KymatuiError as error:
            return replace(leg, error=error)
    raise AssertionError


def _attempt(port: InstallPort, leg: InstallLeg, controls: InstallControls) -> InstallLeg:
    plan = leg.plan
    assert plan is not None
    running: AbstractContextManager[Run]
    if plan.changes_nothing:
        if port.cluster.read_only:
            return leg
        running = begin(port.cluster, cancel=controls.cancel, progress=controls.progress, limits=controls.limits)
    else:
        require_unmanaged(port, plan.bundle.name, direct=True)  # whoever made the plan has insisted, or need not
        running = port.begin(plan, controls.cancel, controls.progress, controls.limits, controls.journal)
    just_made = controls.unseen and leg.request is not None
    with running as run:
        return replace(leg, outcome=applier.apply(plan, run, wait=controls.wait, just_made=just_made))
