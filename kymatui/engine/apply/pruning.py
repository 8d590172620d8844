"""The deletions at the end of an application: objects of the earlier version that the plan displayed."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable

from kymatui.domain.kubernetes.refs import ObjectRef
from kymatui.engine.apply.deletion_backup import save
from kymatui.engine.apply.prune import CascadeLosses, foreign_claim, phases, planned_uids
from kymatui.engine.cluster.concurrency import run_for_each
from kymatui.engine.cluster.finalizers import deletion_blocker
from kymatui.engine.cluster.kind_order import is_definition, is_namespace
from kymatui.engine.inventory.inventory import Inventory, InventoryItem
from kymatui.engine.inventory.ownership_marks import bundle_owner
from kymatui.engine.jobs.crd_deletion import UnplannedDeletions, record_instances, unplanned_error
from kymatui.engine.jobs.object_deletion import ObjectDeletion, delete_object, uid_of
from kymatui.engine.jobs.run import Run
from kymatui.engine.jobs.wait import wait_until_deleted
from kymatui.engine.plans.plan import Plan, Step
from kymatui.errors import PartlyDoneError


class Pruning:
    """The deletions of one plan; deleted objects are added to `deleted`."""

    def __init__(self, plan: Plan, run: Run, deleted: list[ObjectRef], previous: Inventory | None) -> None:
        self._plan, self._run, self._deleted, self._previous = plan, run, deleted, previous
        self._bundle, self._mine = plan.bundle, bundle_owner(plan.bundle)
        self._left_over: list[str] = []
        self._skipped: set[str] = set()  # uids of objects that the plan would have deleted

    @property
    def losses(self) -> CascadeLosses:
        planned = planned_uids(self._plan.steps) - self._skipped
        return CascadeLosses(self._run.cluster, self._run.cancel, self._run.limits.width, planned)

    def prune(self) -> None:
        """Delete and wait. Raises PartlyDoneError for what stays, and for what a CRD's deletion took unseen."""
        unplanned: list[UnplannedDeletions] = []
        for whole in phases(self._plan.steps):
            with contextlib.ExitStack() as stack:
                records = [
                    (step, stack.enter_context(record_instances(self._run, [live])))
                    for step in whole
                    if is_definition(step.ref) and (live := self._run.cluster.get(step.ref)) is not None
                ]
                self._prune_phase(whole)
                unplanned += [record.unplanned(step.takes) for step, record in records if step.ref in self._deleted]
        error = unplanned_error(f"{self._bundle.name} is applied", unplanned)
        if self._left_over:
            first = str(error) if error is not None else f"{self._bundle.name} is applied"
            raise PartlyDoneError(f"{first}; not deleted: {'; '.join(self._left_over)}", hint="plan again")
        if error is not None:
            raise error

    def _prune_phase(self, whole: Iterable[Step]) -> None:
        phase = [step for step in whole if not self._takes_unseen(step)]
        uids = run_for_each(phase, self._delete, self._run.cancel, self._run.limits.width)
        gone = {step.ref: uid for step, uid in zip(phase, uids, strict=True) if uid}
        left = wait_until_deleted(self._run, gone, self._run.limits.gone, deletion_blocker, gone)
        if left:
            said = "; ".join(f"{ref}{deletion_blocker(live)}" for ref, live in left.items())
            raise PartlyDoneError(
                f"{self._bundle.name} is applied, but objects of the old version are not deleted: {said}",
                hint="check the controller that set the finalizers, then run the command again",
            )

    def _takes_unseen(self, step: Step) -> bool:
        """Return whether a deletion would include an object that the plan did not display; report it."""
        if not (is_definition(step.ref) or is_namespace(step.ref)):
            return False
        live = self._run.cluster.get(step.ref)
        if live is None:
            return False
        save(self._run, live, self.losses.of(live))  # slow, so dependents are counted again afterwards
        loss = self.losses.of(live)
        named = [(name, uid) for name, uid in zip(loss.names, loss.uids, strict=True) if uid not in step.takes]
        skipped = [name for name, uid in named if uid in self._skipped]
        unseen = [name for name, uid in named if uid not in self._skipped]
        if skipped:
            self._left_over.append(f"{step.ref} contains {', '.join(skipped[:3])}")
        if unseen:
            self._left_over.append(f"{step.ref} contains {', '.join(unseen[:3])}, created after the plan was displayed")
        return bool(named)

    def _delete(self, step: Step) -> str:
        """Delete an object; return its uid, "" if there is nothing to wait for."""
        live = self._run.cluster.get(step.ref)
        if live is None:
            return ""
        uid = step.uid or dict(self._plan.observed)[step.ref].uid
        if uid_of(live) != uid:
            self._left_over.append(f"{step.ref}, created again after the plan was displayed")
            return ""
        item = self._previous.item(step.ref) if self._previous is not None else None
        claim = foreign_claim(live, self._mine, item or InventoryItem(step.ref), adopt=self._plan.intent.adopt)
        if claim:
            self._left_over.append(f"{step.ref}: {claim}")
            self._skipped.add(uid)
            return ""
        with self._run.step("delete", step.ref):
            if delete_object(self._run, step.ref, uid) is ObjectDeletion.MISSING:
                if self._run.cluster.get(step.ref) is not None:
                    self._left_over.append(f"{step.ref}, created again after the plan was displayed")
                return ""
        self._deleted.append(step.ref)
        return uid
