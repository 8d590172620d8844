"""The engine as a library: three verbs, each a plan that is carried out at once.

    from kymatui.engine import check, install, uninstall
    from kymatui.engine.sources import raw
    from kymatui.wiring.engine import open_cluster

    cluster = open_cluster()                                  # the current context of the kubeconfig
    bundle = raw.from_path("module.yaml", name="module", namespace="module-system")
    install(bundle, cluster, tell=lambda progress: print(progress.words))
    assert check(bundle, cluster).ready
    uninstall("module", "module-system", cluster)

Charts come from `sources.charts`, kustomizations from `sources.kustomize`; `transforms` change labels and images.
To look at a plan before it is carried out, take `planning.plan` and `applying.apply`.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from pathlib import Path

from kymatui.engine import applying, checking, deleting, planning, removals
from kymatui.engine.applying import Outcome
from kymatui.engine.bundles import Bundle
from kymatui.engine.checking import Report
from kymatui.engine.clearing import Consent
from kymatui.engine.deleting import Deleted
from kymatui.engine.plans import Intent, Plan
from kymatui.engine.ports import FIELD_MANAGER, Clock, Cluster
from kymatui.engine.releases import ReleaseKeeper
from kymatui.engine.retrying import Patience
from kymatui.engine.running import Limits, Progress, Run, SystemClock, begin
from kymatui.engine.transforms import Transform, transformed
from kymatui.errors import OutdatedError, PartlyDoneError

CheckFunction = Callable[[Cluster, Bundle], bool]
"""Whether a module is well, beyond what its objects say of themselves."""

_ATTEMPTS = 5


@dataclass(frozen=True, slots=True)
class Options:
    """How a verb works, the same for all; `journal` is a file, `tell` is called from any thread."""

    clock: Clock | None = None
    cancel: threading.Event | None = None
    journal: Path | None = None
    tell: Callable[[Progress], None] | None = None
    limits: Limits | None = None
    manager: str = FIELD_MANAGER

    @property
    def time(self) -> Clock:
        return self.clock or SystemClock()

    @property
    def width(self) -> int:
        return (self.limits or Limits()).width

    @property
    def patience(self) -> Patience:
        return (self.limits or Limits()).patience


def install(
    what: Bundle | Intent,
    cluster: Cluster,
    *,
    transforms: Sequence[Transform] = (),
    wait: bool = True,
    check_function: CheckFunction | None = None,
    accept: Callable[[Plan], bool] | None = None,
    options: Options | None = None,
) -> Outcome:
    """Installs or upgrades, and finishes what an earlier run began. An Intent says more than a bundle: force, policy.

    accept          is shown the plan before anything is written; False ends the matter (nothing is written)
    check_function  is asked at the end; False is PartlyDoneError

    Raises RefusedError (nothing was written), PartlyDoneError (run it again to go on), CancelledError, ClusterError.
    """
    chosen = options or Options()
    intent = with_transforms(what, transforms)
    with _run(cluster, chosen) as run:
        outcome = _install(intent, cluster, run, chosen, wait=wait, accept=accept)
    if check_function is not None and not check_function(cluster, intent.bundle):
        raise PartlyDoneError(
            f"{intent.bundle.name} is installed, and its check says that it is not well", hint="look at its resources"
        )
    return outcome


def _install(
    intent: Intent,
    cluster: Cluster,
    run: Run,
    options: Options,
    *,
    wait: bool,
    accept: Callable[[Plan], bool] | None,
) -> Outcome:
    """Plans anew where somebody else was faster, unless a person has accepted the plan."""
    for attempt in range(_ATTEMPTS):
        made = planning.plan(
            intent,
            cluster,
            options.time,
            manager=options.manager,
            cancel=options.cancel,
            width=options.width,
            patience=options.patience,
        )
        if accept is not None and not accept(made):
            return Outcome((), (), (), None)
        try:
            return applying.apply(made, run, wait=wait, just_made=accept is None)
        except OutdatedError:
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
    options: Options | None = None,
) -> Report:
    """Whether everything is as the bundle says; with `repair` it is made so, and the report is of after that.

    Fields that others own are given back only where the Intent has `force`. With `ready`, `Report.ready` says whether
    everything does what it is for, `check_function` included.
    """
    chosen = options or Options()
    plain = what if isinstance(what, Intent) else Intent(what)
    intent = with_transforms(checking.as_installed(plain, cluster, chosen.time), transforms)
    report = _check(intent, cluster, chosen, ready)
    if repair and not report.consistent:
        install(intent, cluster, wait=ready, options=chosen)
        report = _check(intent, cluster, chosen, ready)
    if check_function is not None and report.consistent and not check_function(cluster, intent.bundle):
        report = replace(report, well=False)
    return report


def _check(intent: Intent, cluster: Cluster, options: Options, ready: bool) -> Report:
    return checking.check(
        intent,
        cluster,
        options.time,
        manager=options.manager,
        cancel=options.cancel,
        width=options.width,
        ready=ready,
        patience=options.patience,
    )


def uninstall(
    name: str,
    namespace: str,
    cluster: Cluster,
    *,
    cascade: bool = False,
    accept_unknown: bool = False,
    options: Options | None = None,
) -> Deleted | None:
    """Takes away what is installed under a name; None where nothing is. See `deleting.delete` for what it raises."""
    chosen = options or Options()
    found = removals.removal(
        name,
        namespace,
        cluster,
        chosen.time,
        cancel=chosen.cancel,
        width=chosen.width,
        patience=chosen.patience,
    )
    with _run(cluster, chosen) as run:
        if found is None:
            run.tidy(name, namespace)
            return None
        return deleting.delete(found, run, Consent(found.accepted, cascade, accept_unknown))


def rollback(
    name: str,
    namespace: str,
    cluster: Cluster,
    *,
    revision: int = 0,
    force: bool = False,
    wait: bool = True,
    options: Options | None = None,
) -> Outcome:
    """Goes back to an earlier revision of a chart's release (0: the one before), as a new revision, with its hooks."""
    chosen = options or Options()
    bundle, number = ReleaseKeeper(cluster, name, namespace, chosen.time.now).bundle_of(revision)
    return install(Intent(bundle, force=force, rollback_to=number), cluster, wait=wait, options=chosen)


def with_transforms(what: Bundle | Intent, transforms: Sequence[Transform]) -> Intent:
    """An intent whose bundle went through the transforms."""
    intent = what if isinstance(what, Intent) else Intent(what)
    return replace(intent, bundle=transformed(intent.bundle, transforms)) if transforms else intent


def _run(cluster: Cluster, options: Options) -> AbstractContextManager[Run]:
    return begin(
        cluster,
        clock=options.clock,
        cancel=options.cancel,
        journal=options.journal,
        tell=options.tell,
        limits=options.limits,
        manager=options.manager,
    )
