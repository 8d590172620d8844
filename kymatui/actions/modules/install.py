"""Installations, upgrades and adoptions, as a verb of a batch."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager

from msgspec import Struct
from msgspec.structs import replace

from kymatui.actions.batch import BatchItem, BatchJob, Verb, Work
from kymatui.actions.modules.install_plan import InstallPort, InstallRequest, plan_install, require_unmanaged
from kymatui.engine.apply import applier
from kymatui.engine.apply.planner import plan_refusal
from kymatui.engine.jobs.job_progress import APPLY_WORDS, JobProgress
from kymatui.engine.jobs.run import Progress, Run, RunLimits, begin
from kymatui.engine.plans.plan import Plan
from kymatui.errors import CancelledError, KymatuiError, OutdatedError

_ATTEMPTS = 5  # plans that are made again if other clients change the cluster meanwhile


InstallItem = BatchItem[Plan, applier.ApplyOutcome]


def install_item(name: str, plan: Plan) -> InstallItem:
    """Return a planned installation for a batch; where nothing is to be written, its readiness is awaited."""
    return InstallItem(name, plan, Work.WAIT if plan.changes_nothing else Work.CHANGE, plan_refusal(plan))


class InstallControls(Struct, frozen=True):
    """How a run is followed.

    unseen     no person reads the plans before they are applied: a plan is repeated where another client was faster
    replanned  is called with every plan that was made again, and why
    """

    progress: Callable[[Progress], None]
    limits: RunLimits | None = None
    wait: bool = True
    unseen: bool = False
    replanned: Callable[[InstallItem, OutdatedError], None] = lambda item, error: None


def plan_installs(port: InstallPort, requests: Mapping[str, InstallRequest]) -> tuple[InstallItem, ...]:
    """Plan each request by the name of its item; what cannot be planned is refused. Nothing is written."""
    return tuple(_planned(port, name, request) for name, request in requests.items())


def _planned(port: InstallPort, name: str, request: InstallRequest) -> InstallItem:
    try:
        return install_item(name, plan_install(port, request))
    except CancelledError:
        raise
    except KymatuiError as error:
        return InstallItem(name, refusal=error)


def refuse_unfit_plan(port: InstallPort, plan: Plan) -> None:
    """Raise RefusedError if a saved plan is of another cluster, OutdatedError if the cluster has changed since."""
    with begin(port.cluster) as run:
        applier.refuse_outdated(plan, run)


class Installation(Verb[Plan, applier.ApplyOutcome]):
    """The installation, upgrade or adoption of each module.

    A run checks again whether lifecycle-manager manages the module, and does what the accepted plan displayed or
    nothing. `requests` are those that may be planned again.
    """

    def __init__(
        self, port: InstallPort, controls: InstallControls, requests: Mapping[str, InstallRequest] | None = None
    ) -> None:
        self._port, self._controls = port, controls
        self._requests = dict(requests or {}) if controls.unseen else {}

    def run(self, item: InstallItem, job: BatchJob) -> InstallItem:
        """Apply a plan; where nothing is to be written, wait until it is ready."""
        job.start(item.required_plan.bundle.name)
        ended, request = item, self._requests.get(item.name)
        for attempt in range(1, _ATTEMPTS + 1):
            try:
                ended = replace(ended, result=self._applied(ended.required_plan, job, just_made=request is not None))
                break
            except OutdatedError as error:  # nothing was written: another client was faster
                if request is None or attempt == _ATTEMPTS:
                    raise
                ended = _planned(self._port, item.name, request)
                if ended.refusal is not None:
                    return replace(ended, refusal=None, error=ended.refusal)
                self._controls.replanned(ended, error)
        if ended.result is not None:
            written = tuple(map(str, ended.result.written))
            job.complete(ended.required_plan.bundle.name, JobProgress(APPLY_WORDS, written))
        return ended

    def _applied(self, plan: Plan, job: BatchJob, *, just_made: bool) -> applier.ApplyOutcome | None:
        port, controls = self._port, self._controls
        running: AbstractContextManager[Run]
        if plan.changes_nothing:
            if port.cluster.read_only:
                return None
            running = begin(port.cluster, cancel=job.cancel, progress=controls.progress, limits=controls.limits)
        else:
            require_unmanaged(port, plan.bundle.name, direct=True)  # the plan has --direct, or needs none
            running = port.begin(plan, job.cancel, controls.progress, controls.limits, job.journal)
        with running as run:
            return applier.apply(plan, run, wait=controls.wait, just_made=just_made)
