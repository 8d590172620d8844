"""Deletion of a module: no manager before its managed resources, and no object of another owner."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from kymatui.domain.inventories import Inventory, InventoryState, inventory_owner
from kymatui.domain.kubernetes.object_meta import uid_of
from kymatui.domain.kubernetes.refs import ObjectRef
from kymatui.domain.kubernetes.terminal_text import format_count
from kymatui.domain.ownership import read_owner
from kymatui.engine.bundles.bundle import BundleHook
from kymatui.engine.cluster.concurrency import run_for_each
from kymatui.engine.cluster.ports import NAMESPACE, Object, PatchKind, refuse_another_cluster
from kymatui.engine.deletion.cascade_contents import contents_left, instances_left
from kymatui.engine.deletion.managed_deletion import (
    DeletionConsent,
    delete_managed_resources,
    require_consent,
    require_deleted,
)
from kymatui.engine.deletion.uninstall_plan import DeletionSteps, UninstallPlan
from kymatui.engine.inventory.inventory_store import ApplySetStore, InventoryStore
from kymatui.engine.inventory.managed_resources import ManagedKinds, ManagedObjects, managed_kinds
from kymatui.engine.inventory.ownership_marks import unmark_patch
from kymatui.engine.inventory.release_store import ReleaseStore, refuse_pending
from kymatui.engine.jobs.hooks import run_hooks
from kymatui.engine.jobs.object_deletion import (
    ObjectDeletion,
    UnplannedDeletions,
    delete_object,
    record_instances,
    unplanned_error,
    version_of,
)
from kymatui.engine.jobs.run import Progress, Run
from kymatui.engine.plans.plan import Action, Step
from kymatui.errors import CancelledError, KymatuiError, OutdatedError, PartlyDoneError

_UNSEEN: Final = "it was created after the plan was displayed"
_NOT_DISPLAYED: Final = "the plan displayed that it stays"
_AGAIN: Final = "run the command again to continue"


class DeletionOutcome(Struct, frozen=True):
    """Deleted and kept objects; `lost` were deleted by another client."""

    gone: tuple[ObjectRef, ...]
    kept: tuple[Step, ...]
    lost: tuple[ObjectRef, ...] = ()


def uninstall_module(plan: UninstallPlan, run: Run, consent: DeletionConsent) -> DeletionOutcome:
    """Delete exactly the accepted objects; report and keep those that were created since.

    Raises RefusedError before any deletion (OutdatedError if another version was installed since), PartlyDoneError
    if an object remains (a second run continues).
    """
    refuse_another_cluster(plan.cluster, run.cluster)
    inventory = plan.inventory
    require_consent(plan.remaining, inventory.name, consent)
    deletion = _Deletion(plan, run, consent)
    try:
        with run.alone(inventory.name, inventory.namespace) as (alone, _):
            deletion.run = alone
            return deletion.carry_out()
    except KymatuiError as error:
        if isinstance(error, CancelledError):
            failure: KymatuiError = CancelledError(f"{error}; {deletion.summary()}", hint=_AGAIN)
        elif deletion.gone:
            failure = PartlyDoneError(f"{error}; {deletion.summary()}", hint=error.hint or _AGAIN)
        else:
            raise
        failure.gone = tuple(deletion.gone)
        raise failure from error


def refuse_replaced(then: Inventory, now: Inventory) -> None:
    """Raise OutdatedError if something else was installed under the name meanwhile."""
    if (now.digest, now.version) == (then.digest, then.version):
        return
    was, got = (f" {side.version}" if then.version != now.version else "" for side in (then, now))
    raise OutdatedError(
        f"another client has installed {now.name}{got} again; the plan was to delete the previous installation{was}",
        hint="nothing was deleted; run the command again to review a new plan",
    )


def _left(step: Step) -> Step:
    return replace(step, action=Action.KEEP, reason=_UNSEEN)


class _Deletion:
    """One running deletion."""

    def __init__(self, plan: UninstallPlan, run: Run, consent: DeletionConsent) -> None:
        self.run = run
        self.gone: list[ObjectRef] = []
        self._found = plan
        self._inventory = plan.inventory
        self._consent = consent
        self._kept: list[Step] = []
        self._lost: list[ObjectRef] = list(plan.lost)
        self._kinds = ManagedKinds()
        self._unplanned: list[UnplannedDeletions] = []
        self._steps = self._new_steps()

    def carry_out(self) -> DeletionOutcome:
        keeper = self._keeper()
        inventory = keeper.read()
        if inventory is None:
            self.run.report(Progress(f"{self._inventory.name} was already deleted by another client"))
            return DeletionOutcome((), ())
        refuse_pending(inventory)
        refuse_replaced(self._inventory, inventory)
        self._inventory = inventory
        self._steps = self._new_steps()
        self._kinds = managed_kinds(inventory, self.run.cluster)
        require_consent(self._count(), inventory.name, self._consent)
        if not inventory.is_deleting:
            inventory = replace(inventory, state=InventoryState.DELETING, done=())
            with self.run.step("record", inventory.name):
                inventory = self._inventory = keeper.note(inventory)
        hooks = keeper.hooks(inventory) if isinstance(keeper, ReleaseStore) else ()
        inventory = self._hooks(hooks, "pre-delete", inventory, keeper)
        delete_managed_resources(self.run, self._inventory.name, self._count, self._consent, self.gone)
        self._delete_own()
        self._delete_definitions()
        self._hooks(hooks, "post-delete", inventory, keeper)
        self._end(keeper)
        if error := unplanned_error(self._inventory.name, self._unplanned):
            raise error
        self._report_lost()
        return DeletionOutcome(tuple(self.gone), tuple(self._kept), tuple(self._lost))

    def _report_lost(self) -> None:
        """Report the objects that another client deleted first."""
        known = {*self.gone, *self._lost, *(step.ref for step in self._kept)}
        self._lost += [step.ref for step in self._found.deletions if step.ref not in known]
        for ref in self._lost:
            self.run.report(Progress(f"{ref} was already deleted by another client"))

    def _keeper(self) -> InventoryStore:
        name, namespace = self._inventory.name, self._inventory.namespace
        if self._inventory.chart:
            return ReleaseStore(self.run.cluster, name, namespace, self.run.clock.now)
        return ApplySetStore(self.run.cluster, name, namespace)

    def _new_steps(self) -> DeletionSteps:
        run = self.run
        return DeletionSteps(self._inventory, run.cluster, run.cancel, run.limits.width, self._found.scope)

    def _hooks(
        self, hooks: Sequence[BundleHook], event: str, inventory: Inventory, keeper: InventoryStore
    ) -> Inventory:
        return run_hooks(self.run, hooks, event, inventory, keeper) if hooks else inventory

    def _count(self) -> ManagedObjects:
        run = self.run
        return self._found.scope.remaining(self._inventory, self._kinds, run.cluster, run.cancel, run.limits.width)

    # its own objects

    def _delete_own(self) -> None:
        steps = self._accepted(self._steps.of_objects())
        for number in sorted({step.wave for step in steps}):
            self._remove([step for step in steps if step.wave == number], "objects of the module")

    def _accepted(self, steps: Sequence[Step]) -> list[Step]:
        """Return the deletions among the current steps; note what stays, and what the plan did not delete."""
        displayed = {step.ref: step for step in self._found.kept}
        going = []
        for step in steps:
            if step.action is Action.KEEP:
                self._kept.append(step)
            elif self._consent.accepted.may_delete(step.ref, step.uid):
                going.append(step)
            elif self._consent.accepted.has(step.ref, step.uid):
                reason = displayed[step.ref].reason if step.ref in displayed else _NOT_DISPLAYED
                self._kept.append(replace(step, action=Action.KEEP, reason=reason))
            else:
                self._kept.append(_left(step))
        return going

    def _delete_definitions(self) -> None:
        """Delete the CRDs without instances; the others would delete newly created objects too."""
        steps = self._steps.of_crds()
        for step in self._accepted(steps):
            live = self.run.cluster.get(step.ref)
            if live is not None and self.run.backup is not None:
                self.run.backup.save(live)
            if live is not None:
                self._delete_definition(replace(step, version=version_of(live)), live)
        if steps:
            self.run.cluster.forget_kinds()

    def _delete_definition(self, step: Step, live: Object) -> None:
        """Delete a CRD unless it has instances; they are counted as late as possible, right before the deletion."""
        with record_instances(self.run, [live]) as record:
            if reason := instances_left(self._steps.contents(live)):
                self._kept.append(replace(step, action=Action.KEEP, reason=reason))
                return
            record.counted()
            self._remove([step], "CRD without objects")
            self._unplanned.append(record.unplanned())

    def _remove(self, steps: Sequence[Step], what: str) -> None:
        """Delete in parallel and wait for the end. Raises PartlyDoneError that tells who has to act."""
        if not steps:
            return
        sent: list[ObjectRef] = []
        try:
            deletions = run_for_each(
                steps, lambda step: self._delete(step, sent), self.run.cancel, self.run.limits.width
            )
        except KymatuiError:
            self.gone += sent  # nothing brings back what the server accepted before another request failed
            raise
        ended = list(zip(steps, deletions, strict=True))
        self.gone += [step.ref for step, deletion in ended if deletion is ObjectDeletion.GONE]
        waited = {step.ref: step.uid for step, deletion in ended if deletion is ObjectDeletion.STARTED}
        if waited:
            require_deleted(self.run, waited, what, self.gone)

    def _delete(self, step: Step, sent: list[ObjectRef]) -> ObjectDeletion:
        """Delete one object in the state for which its step was made; if it has changed, decide again."""
        reasons: list[str] = []

        def keeps(live: Object) -> str:
            reasons.append(self._steps.reason_to_keep(step.ref, live))
            return reasons[-1]

        with self.run.step("delete", step.ref):
            ended = delete_object(self.run, step.ref, step.uid, step.version, keeps=keeps)
        if ended is ObjectDeletion.KEPT:
            self._kept.append(replace(step, action=Action.KEEP, reason=reasons[-1]))
        elif ended is ObjectDeletion.MISSING:
            live = self.run.cluster.get(step.ref)
            if live is not None and uid_of(live) != step.uid:
                self._kept.append(_left(step))
        else:
            sent.append(step.ref)
            self.run.report(Progress(f"deleting {step.ref}", step.ref))
        return ended

    # namespaces and inventory

    def _end(self, keeper: InventoryStore) -> None:
        """Delete the namespaces last; the inventory's own namespace deletes the inventory too."""
        for step in self._accepted(self._steps.of_namespaces()):
            live = self.run.cluster.get(step.ref)
            reason = contents_left(self._steps.contents(live)) if live is not None else ""
            if reason:
                self._kept.append(replace(step, action=Action.KEEP, reason=reason))
            elif step.ref == ObjectRef(NAMESPACE, "", self._inventory.namespace):
                self._let_go()
                self._remove([step], "the module's namespace")
                return
            else:
                self._remove([step], "a namespace of the module")
        self._let_go()
        with self.run.step("forget", self._inventory.name):
            keeper.remove(self._inventory)

    def _let_go(self) -> None:
        """Remove the ownership marks from kept objects, except those that the plan did not display.

        An object that is kept here and was deleted otherwise meanwhile, as by its owner, is lost and not kept.
        """
        mine = inventory_owner(self._inventory)

        def release(step: Step) -> bool:
            live = self.run.cluster.get(step.ref)
            if live is None or live["metadata"].get("deletionTimestamp"):
                return False
            if read_owner(live) not in (None, mine):
                return True
            if not self._consent.accepted.has(step.ref, uid_of(live)):
                return True
            patch = unmark_patch(live, mine, existed=step.adopted)
            if patch is not None:
                patch["metadata"]["uid"] = uid_of(live)  # the server then rejects it for a recreated object
                with self.run.step("let go", step.ref):
                    self.run.cluster.patch(step.ref, patch, PatchKind.MERGE, manager=self.run.manager)
            return True

        exists = run_for_each(self._kept, release, self.run.cancel, self.run.limits.width)
        self._lost += [step.ref for step, is_present in zip(self._kept, exists, strict=True) if not is_present]
        self._kept = [step for step, is_present in zip(self._kept, exists, strict=True) if is_present]

    def summary(self) -> str:
        return f"{format_count(len(self.gone), 'object')} deleted"
