"""The engine as a library: functions that plan and apply in one call.

    from kymatui.engine import check, install, uninstall
    from kymatui.engine.bundles import yaml_objects
    from kymatui.sessions.cluster.cluster_access import open_cluster

    cluster = open_cluster()                                  # the current context of the kubeconfig
    bundle = yaml_objects.from_path("module.yaml", name="module", namespace="module-system")
    install(bundle, cluster, progress=lambda progress: print(progress.message))
    assert check(bundle, cluster).ready
    uninstall("module", "module-system", cluster)

`sources` reads charts and kustomizations; `plans.transforms` changes labels and images. To review a plan before it
is applied, use `apply.planner.plan` and `apply.applier.apply`.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from kymatui.engine.apply import applier, planner
from kymatui.engine.apply.applier import ApplyOutcome
from kymatui.engine.apply.planner import DriftReport
from kymatui.engine.bundles.bundle import Bundle
from kymatui.engine.cluster.ports import FIELD_MANAGER, Backup, Clock, Cluster
from kymatui.engine.cluster.retries import RetryPolicy
from kymatui.engine.deletion import module_deletion, uninstall_plan
from kymatui.engine.deletion.managed_deletion import DeletionConsent
from kymatui.engine.deletion.module_deletion import DeletionOutcome
from kymatui.engine.inventory.release_store import ReleaseStore
from kymatui.engine.jobs.identity import own_identity
from kymatui.engine.jobs.journal import Journal
from kymatui.engine.jobs.run import Progress, Run, RunLimits, SystemClock, begin
from kymatui.engine.plans.plan import Intent, Plan
from kymatui.engine.plans.transforms import Transform, apply_transforms
from kymatui.errors import OutdatedError, PartlyDoneError

CheckFunction = Callable[[Cluster, Bundle], bool]
"""A caller's function that returns whether a module works, beyond the readiness of its objects."""

_ATTEMPTS = 5  # new plans while other clients change the cluster


class EngineOptions(Struct, frozen=True):
    """Options of all functions; `journal` is a file, `progress` is called from any thread.

    `backup` gets every object before it is deleted, by `uninstall` and by the pruning of `install`; None saves nothing.
    """

    clock: Clock | None = None
    cancel: threading.Event | None = None
    journal: Path | None = None
    progress: Callable[[Progress], None] | None = None
    limits: RunLimits | None = None
    manager: str = FIELD_MANAGER
    backup: Backup | None = None

    @property
    def time(self) -> Clock:
        return self.clock or SystemClock()

    @property
    def width(self) -> int:
        return (self.limits or RunLimits()).width

    @property
    def retry(self) -> RetryPolicy:
        return (self.limits or RunLimits()).retry


def install(
    what: Bundle | Intent,
    cluster: Cluster,
    *,
    transforms: Sequence[Transform] = (),
    wait: bool = True,
    check_function: CheckFunction | None = None,
    accept: Callable[[Plan], bool] | None = None,
    options: EngineOptions | None = None,
) -> ApplyOutcome:
    """Install or upgrade, and complete an interrupted run. An Intent has more options than a bundle.

      accept          gets the plan before any write; False stops without a write
      check_function  runs at the end; False raises PartlyDoneError

    Raises RefusedError (nothing was written), PartlyDoneError (a second run continues), CancelledError,
    ClusterError.
    """
    chosen = options or EngineOptions()
    intent = with_transforms(what, transforms)
    with _run(cluster, chosen) as run:
        outcome = _install(intent, cluster, run, chosen, wait=wait, accept=accept)
    if check_function is not None and not check_function(cluster, intent.bundle):
        raise PartlyDoneError(f"{intent.bundle.name} is installed, but its check failed", hint="check its objects")
    return outcome


def _install(
    intent: Intent,
    cluster: Cluster,
    run: Run,
    options: EngineOptions,
    *,
    wait: bool,
    accept: Callable[[Plan], bool] | None,
) -> ApplyOutcome:
    """Plan and apply; plan again if the cluster changed, unless a person accepted the plan."""
    for attempt in range(_ATTEMPTS):
        plan = planner.plan(
            intent,
            cluster,
            options.time,
            manager=options.manager,
            cancel=options.cancel,
            width=options.width,
            retry=options.retry,
        )
        if accept is not None and not accept(plan):
            return ApplyOutcome((), (), (), None)
        try:
            return applier.apply(plan, run, wait=wait, just_made=accept is None)
        except OutdatedError:  # a plan that a person accepted may not be replaced by another one
            if accept is not None or attempt == _ATTEMPTS - 1:
                raise
    raise AssertionError("unreachable")


def check(
    what: Bundle | Intent,
    cluster: Cluster,
    *,
    transforms: Sequence[Transform] = (),
    ready: bool = True,
    repair: bool = False,
    check_function: CheckFunction | None = None,
    options: EngineOptions | None = None,
) -> DriftReport:
    """Return whether everything matches the bundle; with `repair`, apply it first and report the result.

    Fields of other managers are reset only if the Intent has `force`. With `ready`, `DriftReport.ready` includes
    the readiness of all objects and `check_function`.
    """
    chosen = options or EngineOptions()
    plain = what if isinstance(what, Intent) else Intent(what)
    intent = with_transforms(planner.as_installed(plain, cluster, chosen.time), transforms)
    report = _check(intent, cluster, chosen, ready)
    if repair and not report.consistent:
        install(intent, cluster, wait=ready, options=chosen)
        report = _check(intent, cluster, chosen, ready)
    if check_function is not None and report.consistent and not check_function(cluster, intent.bundle):
        report = replace(report, well=False)
    return report


def _check(intent: Intent, cluster: Cluster, options: EngineOptions, ready: bool) -> DriftReport:
    return planner.check(
        intent,
        cluster,
        options.time,
        manager=options.manager,
        cancel=options.cancel,
        width=options.width,
        ready=ready,
        retry=options.retry,
    )


def uninstall(
    name: str,
    namespace: str,
    cluster: Cluster,
    *,
    cascade: bool = False,
    accept_unknown: bool = False,
    delete_crds: bool = False,
    options: EngineOptions | None = None,
) -> DeletionOutcome | None:
    """Delete what is installed under a name, None if nothing is; CRDs of a chart's `crds/` with `delete_crds` only.

    `module_deletion.uninstall_module` lists the errors.
    """
    chosen = options or EngineOptions()
    plan = uninstall_plan.plan_uninstall(
        name,
        namespace,
        cluster,
        chosen.time,
        cancel=chosen.cancel,
        width=chosen.width,
        retry=chosen.retry,
        scope=uninstall_plan.DeletionScope(delete_crds=delete_crds),
    )
    with _run(cluster, chosen) as run:
        if plan is None:
            run.tidy(name, namespace)
            return None
        return module_deletion.uninstall_module(plan, run, DeletionConsent(plan.accepted, cascade, accept_unknown))


def rollback(
    name: str,
    namespace: str,
    cluster: Cluster,
    *,
    revision: int = 0,
    force: bool = False,
    wait: bool = True,
    options: EngineOptions | None = None,
) -> ApplyOutcome:
    """Roll a chart's release back to a revision (0: the previous one), as a new revision with hooks."""
    chosen = options or EngineOptions()
    bundle, number = ReleaseStore(cluster, name, namespace, chosen.time.now).bundle_of(revision)
    return install(Intent(bundle, force=force, rollback_to=number), cluster, wait=wait, options=chosen)


def with_transforms(what: Bundle | Intent, transforms: Sequence[Transform]) -> Intent:
    """Return an intent with the transforms applied to its bundle."""
    intent = what if isinstance(what, Intent) else Intent(what)
    return replace(intent, bundle=apply_transforms(intent.bundle, transforms)) if transforms else intent


@contextlib.contextmanager
def _run(cluster: Cluster, options: EngineOptions) -> Iterator[Run]:
    journal = Journal(options.journal, own_identity(), options.time.now)
    with (
        contextlib.closing(journal),
        begin(
            cluster,
            clock=options.clock,
            cancel=options.cancel,
            journal=journal,
            progress=options.progress,
            limits=options.limits,
            manager=options.manager,
            backup=options.backup,
        ) as run,
    ):
        yield run
