"""The deletion of modules, as a verb of a batch.

A run deletes exactly what the accepted plan displayed. What was created since is named and left, and the run stops
before it would delete what lives from it: the module's entry in the Kyma, its Manifest, its manager, its CRDs.

The plans of deletions: what they delete, and what stands against it, read before anything is deleted.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from kymatui.actions.batch import BatchItem, BatchJob, Verb, Work
from kymatui.actions.plans import (
    DeletionPlan,
    DeletionRequest,
    refuse,
    refuse_missing_rights,
    with_deleted,
    without_backup,
)
from kymatui.actions.ports import DeletionPort, SavedObjects
from kymatui.domain.catalog.catalog import build_catalog
from kymatui.domain.inventories import inventory_owner
from kymatui.domain.kubernetes.object_meta import uid_of
from kymatui.domain.kubernetes.refs import ObjectRef
from kymatui.domain.kyma.kymas import Policy
from kymatui.domain.kyma.problems import Actor, action_of
from kymatui.domain.kyma_edit.edit_progress import EditProgress
from kymatui.domain.kyma_edit.module_edit import EditVerb, ModuleEdit
from kymatui.domain.ownership import Owner, OwnerKind
from kymatui.domain.rights import RequiredPermission
from kymatui.domain.snapshot.cluster_index import ClusterIndex, index_cluster
from kymatui.engine.cluster.concurrency import WIDTH
from kymatui.engine.cluster.ports import Backup, Cluster
from kymatui.engine.cluster.request_scope import missing_permissions, note_permission, optional_requests
from kymatui.engine.deletion.deletion_state import (
    DeletionSoFar,
    DeletionState,
    ManagedBy,
    ModuleCRHandling,
    NextStep,
    expected,
    new_manager_since,
    requested,
    stopped_deletion,
)
from kymatui.engine.deletion.managed_deletion import (
    DeletionConsent,
    delete_managed_resources,
    refuse_unplanned,
    require_deleted,
)
from kymatui.engine.deletion.module_deletion import refuse_replaced, uninstall_module
from kymatui.engine.deletion.uninstall_plan import DeletionScope
from kymatui.engine.inventory.managed_resources import ManagedObjects, find_crd_holders
from kymatui.engine.jobs.job_progress import JobProgress
from kymatui.engine.jobs.journal import NO_JOURNAL, Journal
from kymatui.engine.jobs.object_deletion import delete_object
from kymatui.engine.jobs.run import FRESH, USER_ACTION_SECONDS, Progress, Run, RunLimits, SystemClock, begin
from kymatui.errors import CancelledError, ForbiddenError, KymatuiError, PartlyDoneError, RefusedError

if TYPE_CHECKING:
    from kymatui.actions.ports import DeletionPort


def plan_deletions(
    port: DeletionPort, requests: Iterable[DeletionRequest], *, edits_kyma: bool = True
) -> tuple[DeletionPlan, ...]:
    """Read where each deletion is, what it would delete, and which permissions it lacks; nothing is written.

    `edits_kyma` is False where the caller edits the Kyma, and checks that permission itself.
    """
    plans = [DeletionPlan(request, read_deletion(port, request)) for request in requests]
    uninstalls = [plan.state.uninstall for plan in plans if plan.state.uninstall is not None]
    owners = tuple(inventory_owner(uninstall.inventory) for uninstall in uninstalls)
    return tuple(_planned(port, _with_companions(port, plan, owners), edits_kyma=edits_kyma) for plan in plans)


def _with_companions(port: DeletionPort, plan: DeletionPlan, owners: tuple[Owner, ...]) -> DeletionPlan:
    """Return the plan of one of several deletions: what the others delete keeps nothing."""
    uninstall = plan.state.uninstall
    if len(owners) < 2 or uninstall is None or not uninstall.kept:
        return plan
    return replace(plan, state=read_deletion(port, plan.request, owners))


def _planned(port: DeletionPort, plan: DeletionPlan, *, edits_kyma: bool) -> DeletionPlan:
    if plan.is_gone or plan.next_step is NextStep.REFUSED:
        return plan
    missing = tuple(dict.fromkeys(missing_rights(port, plan.state, edits_kyma=edits_kyma)))
    return replace(plan, state=replace(with_shared_crds(port, plan.state), missing=missing))


def read_deletion(port: DeletionPort, request: DeletionRequest, companions: tuple[Owner, ...] = ()) -> DeletionState:
    """Read where a deletion is now; `companions` are deleted by the same request."""
    scope = DeletionScope(request.delete_crds, companions=companions)
    return port.read_state(request.module, request.namespace, request.handling, scope=scope)


def missing_rights(port: DeletionPort, state: DeletionState, *, edits_kyma: bool) -> Iterator[RequiredPermission]:
    """Yield the permissions that the deletion needs and the user lacks."""
    _note_backup(state)
    if state.managed_by is ManagedBy.KYMA and state.requested and edits_kyma:
        proposal = port.edits.propose(ModuleEdit(EditVerb.DISABLE, state.module))
        if proposal.edit is not None and not port.edits.may_write(proposal):
            yield RequiredPermission("patch", proposal.edit.kyma.kind, proposal.edit.kyma.namespace)
    if state.handling is ModuleCRHandling.UNMANAGE:
        return
    default = (state.default,) if state.handling is ModuleCRHandling.IGNORE and state.default is not None else ()
    own = (managed for managed in state.remaining.ours if state.managed_by is ManagedBy.DIRECT and not managed.applied)
    going = (managed.ref for managed in (*state.theirs, *default, *own) if managed.deleted_at is None)
    yield from _undeletable(port.cluster, going)
    if state.uninstall is not None:
        yield from state.uninstall.missing
    if state.managed_by is ManagedBy.MANIFEST and state.manifest is not None:
        yield from _undeletable(port.manifests_on, [state.manifest])


def _note_backup(state: DeletionState) -> None:
    """Note that the backup reads what the deletion deletes."""
    refs = [instance.ref for instance in state.remaining.instances if not instance.stays]
    refs += [step.ref for step in state.uninstall.deletions] if state.uninstall is not None else []
    for ref in refs:
        note_permission("get", ref.kind, ref.namespace, ref.name)


def with_shared_crds(port: DeletionPort, state: DeletionState) -> DeletionState:
    """Return the state refused if lifecycle-manager would delete a CRD that another installation has, too.

    It deletes all objects with it. kymatui's operator and kymatui itself keep such a CRD.
    """
    if state.managed_by not in (ManagedBy.KYMA, ManagedBy.MANIFEST) or state.keeper is Actor.OPERATOR:
        return state
    if state.handling is ModuleCRHandling.UNMANAGE or state.refusal:
        return state
    manifest = Owner(OwnerKind.LIFECYCLE_MANAGER, state.manifest.path if state.manifest is not None else "")
    names = [ref.name for ref in state.definitions]
    own = index_cluster(port.snapshot(), cache=port.cache).manifests.values()
    manifests = [described.raw for described in own]
    with optional_requests():
        holders = find_crd_holders(port.cluster, names, (manifest,), threading.Event(), WIDTH, manifests)
    shared = [f"CRD {name}: {holders.reason(name)}" for name in names if name in holders.names]
    if shared:
        words = f"{state.keeper} deletes CRDs of {state.module} with all their objects, but {'; '.join(shared)}"
        return replace(state, refusal=f"{words}. Delete the other installation first, or unmanage the module")
    if not holders.unread:
        return state
    words = f"it is unknown whether other installations have the CRDs that {state.keeper} deletes: {holders.unread}"
    return replace(state, foreseen=(*state.foreseen, words))


def _undeletable(cluster: Cluster, refs: Iterable[ObjectRef]) -> Iterator[RequiredPermission]:
    yield from missing_permissions(cluster, (RequiredPermission("delete", ref.kind, ref.namespace) for ref in refs))


_SAME_STEP = 3  # times that one step may follow itself until the deletion counts as stuck
_TOLD = 20.0
"""Seconds for lifecycle-manager to pass a policy on; what it creates again after that is found by the next look."""
_LATE = "after the plan was displayed"
_AGAIN = "run the command again to review the new plan"
_CONTINUE = "run the command again to continue"


class DeletionResult(Struct, frozen=True):
    """What was deleted, what stayed with the reason, how it ended, and what was deleted by others meanwhile."""

    gone: tuple[ObjectRef, ...]
    kept: tuple[tuple[ObjectRef, str], ...]
    message: str
    lost: tuple[ObjectRef, ...] = ()


class RunControls(Struct, frozen=True):
    """How a run is followed and stopped.

    progress is called with what happens, from any thread
    cancel   stops the run
    changed  is set whenever the session's snapshot changes
    turned   is called with each step before it is taken
    unattended   ends waits that only a person can end, after `USER_ACTION_SECONDS`
    just_made    says that nobody was asked since the plan: the first step begins with what the plan read
    journal      is that of the job
    """

    progress: Callable[[Progress], None] | None = None
    cancel: threading.Event | None = None
    changed: threading.Event | None = None
    turned: Callable[[NextStep], None] = lambda step: None
    unattended: bool = False
    just_made: bool = False
    journal: Journal = NO_JOURNAL


DeletionItem = BatchItem[DeletionPlan, DeletionResult]


def deletion_item(plan: DeletionPlan) -> DeletionItem:
    """Return a planned deletion for a batch."""
    work = Work.NOTHING if plan.is_gone else Work.CHANGE
    return DeletionItem(plan.module, plan, work, plan.refusal_with_option)


class Deletion(Verb[DeletionPlan, DeletionResult]):
    """The deletion of each module; `controls` follow it, in the job of the batch."""

    def __init__(self, port: DeletionPort, controls: RunControls) -> None:
        self._port, self._controls = port, controls

    def run(self, item: DeletionItem, job: BatchJob) -> DeletionItem:
        job.start(item.name)
        controls = replace(self._controls, cancel=job.cancel, journal=job.journal)
        result = run_deletion(self._port, item.required_plan, controls)
        job.complete(item.name, JobProgress(done=tuple(map(str, result.gone))))
        return replace(item, result=result)


def run_deletion(port: DeletionPort, plan: DeletionPlan, watching: RunControls | None = None) -> DeletionResult:
    """Delete what the plan displayed: step after step, each decided by a new look, until nothing is left.

    Raises RefusedError where the cluster is no longer as displayed (nothing was deleted), PartlyDoneError where
    something is held or was created meanwhile (run it again), CancelledError.
    """
    return _DeletionRun(port, plan, watching or RunControls()).run()


def prepare_deletion(
    port: DeletionPort, plan: DeletionPlan, watching: RunControls | None = None, *, is_rehearsal: bool = False
) -> tuple[ObjectRef, ...]:
    """Save what the plan displayed and delete what has to be gone before the module; what follows is the caller's edit.

    Return what was deleted. A rehearsal checks that all is as displayed, and changes nothing. Raises as `run_deletion`.
    """
    return _DeletionRun(port, plan, watching or RunControls()).prepare(is_rehearsal=is_rehearsal)


class _DeletionRun:
    """One deletion on its way."""

    def __init__(self, port: DeletionPort, plan: DeletionPlan, watching: RunControls) -> None:
        self._port, self._cluster = port, port.cluster
        self._plan, self._request, self._module = plan, plan.request, plan.module
        self._accepted, self._entry = plan.state.accepted, plan.state.entry
        self._progress, self._turned, self._unattended = watching.progress, watching.turned, watching.unattended
        self._just_made, self._journal = watching.just_made, watching.journal
        self._cancel = watching.cancel or threading.Event()
        self._changed = watching.changed or threading.Event()
        self._saved: SavedObjects | None = None
        self._gone: list[ObjectRef] = []
        self._kept: list[tuple[ObjectRef, str]] = []
        self._lost: list[ObjectRef] = []
        self._has_edited = self._has_left = False

    def run(self) -> DeletionResult:
        refuse_missing_rights(self._plan.state)
        try:
            ended = self._run()
            if self._request.handling is not ModuleCRHandling.UNMANAGE:
                self._port.finish_backups(self._module)
            return ended
        except CancelledError as error:
            raise self._cancelled(error) from error
        except KymatuiError as error:
            complete_error = with_deleted(error, self._gone)
            if complete_error is not error:
                raise complete_error from error
            if not self._has_edited or isinstance(error, PartlyDoneError):
                raise
            raise PartlyDoneError(f"{error}; the Kyma is edited", hint=error.hint or _CONTINUE) from error

    def _run(self) -> DeletionResult:
        last, times = None, 0
        while True:
            state = self._planned_state() if last is None else self._read_state()
            step = state.next_step(accept_unknown=self._request.accept_unknown)
            self._refuse_another(state, has_begun=last is not None)
            if step is NextStep.GONE:
                return self._ended(state.refusal if last is None else f"{self._module} is deleted")
            times = times + 1 if step is last else 1
            if times > _SAME_STEP:
                message = f"the deletion of {self._module} makes no progress at: {step.value}"
                raise PartlyDoneError(message, hint="run the command again")
            last = step
            refuse(state, self._request)
            if step not in (NextStep.UNMANAGE, NextStep.FOLLOW):
                refuse_unplanned(state.remaining, self._module, self._accepted)
            self._turned(step)
            self._save(state, step)
            ended = self._take(step, state)
            if ended is not None:
                return self._ended(ended)

    def prepare(self, *, is_rehearsal: bool) -> tuple[ObjectRef, ...]:
        refuse_missing_rights(self._plan.state)
        try:
            self._prepare(is_rehearsal=is_rehearsal)
        except CancelledError as error:
            raise self._cancelled(error) from error
        except KymatuiError as error:
            raise with_deleted(error, self._gone) from error
        return tuple(self._gone)

    def _prepare(self, *, is_rehearsal: bool) -> None:
        state = self._read_state()
        refuse(state, self._request)
        refuse_unplanned(state.remaining, self._module, self._accepted)
        if is_rehearsal or not state.remaining.instances:
            return
        self._save(state, NextStep.CLEAR)
        if state.theirs:
            self._clear(state)

    def _cancelled(self, error: CancelledError) -> CancelledError:
        if self._plan.next_step is NextStep.UNMANAGE:
            return error
        undo = f"`kymatui restore {self._module}`" if self._saved is not None and self._saved.message else ""
        known = DeletionSoFar(tuple(self._gone), self._has_left, undo)
        return stopped_deletion(error, self._plan.state, known, self._cluster, self._port.manifests_on)

    def _planned_state(self) -> DeletionState:
        """Return the state of the plan if it was just made and the engine checks it again under the Lease."""
        state = self._plan.state
        is_direct = state.next_step(accept_unknown=self._request.accept_unknown) is NextStep.UNDEPLOY
        is_fresh = state.uninstall is not None and SystemClock().now() - state.uninstall.made_at <= FRESH
        return state if self._just_made and is_direct and is_fresh else self._read_state()

    def _read_state(self) -> DeletionState:
        return read_deletion(self._port, self._request)

    def _ended(self, words: str) -> DeletionResult:
        return DeletionResult(tuple(self._gone), tuple(self._kept), words, tuple(self._lost))

    def _save(self, state: DeletionState, step: NextStep) -> None:
        if self._saved is not None or self._request.backup is None or step is NextStep.UNMANAGE:
            return
        self._saved = self._port.backup(self._request.backup, state)
        if self._progress is not None and self._saved.message:
            self._progress(Progress(self._saved.message))

    def _refuse_another(self, state: DeletionState, *, has_begun: bool) -> None:
        """Raise OutdatedError or PartlyDoneError for another installation, or a new request, than was displayed."""
        agreed = self._plan.state
        if agreed.uninstall is not None and state.uninstall is not None:
            refuse_replaced(agreed.uninstall.inventory, state.uninstall.inventory)
        if words := new_manager_since(agreed, state, has_left=self._has_left):
            hint = f"it stays installed; delete {state.module} again if you still want to"
            raise PartlyDoneError(words, hint=hint) if has_begun else RefusedError(words, hint=hint)

    def _take(self, step: NextStep, state: DeletionState) -> str | None:
        """Take a step; a sentence where the deletion ends with it."""
        match step:
            case NextStep.UNMANAGE:
                self._edit(ModuleEdit(EditVerb.UNMANAGE, self._module))
                return (
                    f"{state.keeper} has released {self._module}; its objects stay. To delete them, run "
                    f"`kymatui adopt {self._module}` first"
                )
            case NextStep.IGNORE:
                self._edit(ModuleEdit(EditVerb.POLICY, self._module, policy=Policy.IGNORE))
                self._until(self._is_told, _TOLD)
            case NextStep.CLEAR:
                self._clear(state)
                if state.managed_by is ManagedBy.NOBODY:
                    self._see_what_stays(state, "unused; no installation manages it")
            case NextStep.LEAVE:
                self._edit(ModuleEdit(EditVerb.DISABLE, self._module))
                self._has_left = True
                self._see_what_stays(state)
            case NextStep.FOLLOW:
                with self._journal.step("wait for", self._module):
                    self._follow()
                self._see_what_stays(state)
            case NextStep.MANIFEST:
                self._delete_manifest(state)
            case NextStep.UNDEPLOY:
                return self._undeploy(state)
            case _:
                raise AssertionError(step)
        return None

    def _begin(self, cluster: Cluster, backup: Backup | None) -> AbstractContextManager[Run]:
        limits = RunLimits(gone=self._request.timeout, hooks=self._request.timeout)
        return begin(
            cluster, cancel=self._cancel, progress=self._progress, limits=limits, journal=self._journal, backup=backup
        )

    def _clear(self, state: DeletionState) -> None:
        consent = DeletionConsent(self._accepted, True, self._request.accept_unknown)
        backup = self._saved.own if self._saved is not None else None

        def count() -> ManagedObjects:
            now = self._read_state()
            refuse(now, self._request)
            return now.remaining

        try:
            with self._begin(self._cluster, backup) as run:
                delete_managed_resources(run, self._module, count, consent, self._gone, own=state.deletes_default)
        except PartlyDoneError as error:
            raise PartlyDoneError(str(error), hint=f"{expected(state)}, then run the command again") from error

    def _edit(self, toggle: ModuleEdit) -> None:
        """Edit the module's entry, only where it is as the plan displayed it."""
        edits = self._port.edits
        proposal = edits.propose(toggle)
        if proposal.is_refused:
            raise RefusedError("; ".join(proposal.refusals), hint="the Kyma was not changed")
        edit = proposal.edit
        if edit is not None and requested(edit.before) != self._entry:
            raise RefusedError(f"the entry of {self._module} in {edit.kyma} was changed {_LATE}", hint=_AGAIN)
        generation = edits.carry_out(proposal, self._cancel, [without_backup(self._plan)], journal=self._journal)
        self._has_edited, self._entry = True, requested(edit.after) if edit is not None else None

        def report_stage(stage: EditProgress) -> None:
            if self._progress is not None:
                self._progress(Progress(stage.message, waits=None if stage.finished else stage.actor))

        limit, unattended = self._request.timeout, self._unattended
        edits.follow(proposal, generation, self._changed, limit, report_stage, self._cancel, unattended=unattended)

    def _follow(self) -> None:
        """Follow the deletion of a module that is no longer in the Kyma; lifecycle-manager deletes it."""
        deadline, last, yours = time.monotonic() + self._request.timeout, "", 0.0
        while True:
            self._changed.clear()
            snapshot = self._port.snapshot()
            module, cache = self._module, self._port.cache
            row = build_catalog(snapshot, time.time(), cache=cache, only=module).row(module)
            if row is None or not row.reports.kyma:
                return
            words = f"{row.reason.text} (who acts: {row.actor.value})" if row.actor.value else row.reason.text
            if words != last and self._progress is not None:
                self._progress(Progress(row.reason.text, waits=row.actor))
            last = words
            yours = (yours or time.monotonic()) if row.actor is Actor.YOU else 0.0
            late = f"{self._module} is not uninstalled yet"
            if self._unattended and yours and time.monotonic() - yours >= USER_ACTION_SECONDS:
                action = action_of(row.reason.text)
                raise PartlyDoneError(f"{late}; action needed: {action}", hint="then run the command again")
            if time.monotonic() > deadline:
                raise PartlyDoneError(f"{late}: {words}", hint="run the command again to keep waiting")
            self._pause(deadline)

    def _pause(self, deadline: float) -> None:
        if self._cancel.is_set():
            raise CancelledError(f"stopped waiting for {self._module}; its deletion continues")
        self._changed.wait(min(0.5, max(0.0, deadline - time.monotonic())))

    def _delete_manifest(self, state: DeletionState) -> None:
        assert state.manifest is not None
        backup = self._saved.manifest if self._saved is not None else None
        with self._begin(self._port.manifests_on, backup) as run:
            live = run.cluster.get(state.manifest)
            if live is not None:
                uid = uid_of(live)
                if not self._accepted.has(state.manifest, uid):
                    raise RefusedError(f"not deleted: {state.manifest}, created {_LATE}", hint=_AGAIN)
                with run.step("delete", state.manifest):
                    delete_object(run, state.manifest, uid)
                require_deleted(run, {state.manifest: uid}, "the Manifest", self._gone)
        self._until(lambda world: self._module not in world.manifests)

    def _until(self, holds: Callable[[ClusterIndex], bool], most: float = float("inf")) -> None:
        """Wait for what others do, and for the watches to see it."""
        deadline = time.monotonic() + min(self._request.timeout, most)
        while not holds(index_cluster(self._port.snapshot(), cache=self._port.cache)):
            if time.monotonic() >= deadline:
                return
            self._pause(deadline)

    def _is_told(self, world: ClusterIndex) -> bool:
        """Return whether lifecycle-manager has passed the policy on; False if Manifests cannot be read."""
        manifest = world.manifests.get(self._module)
        return manifest is None or manifest.policy == Policy.IGNORE

    def _undeploy(self, state: DeletionState) -> str:
        assert state.uninstall is not None
        consent = DeletionConsent(self._accepted, self._request.cascade, self._request.accept_unknown)
        with self._begin(self._cluster, self._saved.own if self._saved is not None else None) as run:
            try:
                ended = uninstall_module(state.uninstall, run, consent)
            except KymatuiError as error:
                self._gone += error.gone
                raise
        self._gone += ended.gone
        self._kept += [(step.ref, step.reason) for step in ended.kept]
        self._lost += ended.lost
        return ""

    def _see_what_stays(self, state: DeletionState, reason: str = "") -> None:
        """Report the CRDs that are left; they belong to whoever applied them, and are not deleted."""
        known = {ref for ref, _ in self._kept}
        for ref in state.definitions:
            if ref in known:
                continue
            try:
                live = self._cluster.get(ref)
            except ForbiddenError:  # a CRD that the user may not read is not reported as left
                continue
            if live is not None and not live["metadata"].get("deletionTimestamp"):
                self._kept.append((ref, reason or f"{state.keeper} does not delete it"))
