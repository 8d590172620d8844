"""The deletions at the end of an application: objects of the earlier version that the plan displayed."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable

from kymatui.domain.inventories import Inventory, InventoryItem
from kymatui.domain.kubernetes.object_meta import read_ref
from kymatui.domain.kubernetes.refs import ObjectRef
from kymatui.engine.cluster.concurrency import run_for_each
from kymatui.engine.cluster.kind_order import deletion_blocker, is_definition, is_namespace
from kymatui.engine.cluster.ports import Object
from kymatui.engine.deletion.cascade_contents import ContainedObject, name_contents, staying
from kymatui.engine.deletion.prune_plan import phases, planned_uids, prune_contents, save
from kymatui.engine.inventory.managed_resources import keep_reason
from kymatui.engine.inventory.ownership_marks import bundle_owner
from kymatui.engine.jobs.crd_deletion import UnplannedDeletions, record_instances, unplanned_error
from kymatui.engine.jobs.object_deletion import ObjectDeletion, delete_object
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
        adopt = plan.intent.adopt
        self.contents = prune_contents(plan.bundle, run.cluster, run.cancel, run.limits.width, adopt=adopt)

    def prune(self) -> None:
        """Delete and wait. Raises PartlyDoneError for what stays, and for what a CRD's deletion took unseen."""
        unplanned: list[UnplannedDeletions] = []
        for phase in phases(self._plan.steps):
            with contextlib.ExitStack() as stack:
                records = [
                    (step, stack.enter_context(record_instances(self._run, [live])))
                    for step in phase
                    if is_definition(step.ref) and (live := self._run.cluster.get(step.ref)) is not None
                ]
                self._prune_phase(phase)
                unplanned += [record.unplanned(step.takes) for step, record in records if step.ref in self._deleted]
        error = unplanned_error(f"{self._bundle.name} is applied", unplanned)
        if self._left_over:
            first = str(error) if error is not None else f"{self._bundle.name} is applied"
            raise PartlyDoneError(f"{first}; not deleted: {'; '.join(self._left_over)}", hint="plan again")
        if error is not None:
            raise error

    def _prune_phase(self, steps: Iterable[Step]) -> None:
        phase = [step for step in steps if not self._takes_unseen(step)]
        uids = run_for_each(phase, self._delete, self._run.cancel, self._run.limits.width)
        gone = {step.ref: uid for step, uid in zip(phase, uids, strict=True) if uid}
        remaining = wait_until_deleted(self._run, gone, self._run.limits.gone, deletion_blocker, gone)
        if remaining:
            description = "; ".join(f"{ref}{deletion_blocker(live)}" for ref, live in remaining.items())
            raise PartlyDoneError(
                f"{self._bundle.name} is applied, but objects of the old version are not deleted: {description}",
                hint="check the controller that set the finalizers, then run the command again",
            )

    def _takes_unseen(self, step: Step) -> bool:
        """Return whether a deletion would include an object that the plan did not display; report it."""
        if not (is_definition(step.ref) or is_namespace(step.ref)):
            return False
        live = self._run.cluster.get(step.ref)
        if live is None:
            return False
        save(self._run, live, self._inside(live))  # slow, so the contents are read again afterwards
        inside = self._inside(live)
        skipped = [contained_object for contained_object in inside if contained_object.uid in self._skipped]
        held = [
            contained_object
            for contained_object in staying(inside, (), with_contents=True)
            if contained_object not in skipped
        ]
        unseen = [
            contained_object
            for contained_object in inside
            if contained_object.uid not in {*step.takes, *self._skipped} and contained_object not in held
        ]
        for some, words in ((skipped, ""), (unseen, ", created after the plan was displayed"), (held, "")):
            if some:
                self._left_over.append(f"{step.ref} contains {name_contents(some)}{words}")
        return bool(skipped or held or unseen)

    def _inside(self, live: Object) -> tuple[ContainedObject, ...]:
        """Return what the deletion of a CRD or namespace would include besides what the plan deletes itself."""
        going = planned_uids(self._plan.steps) - self._skipped if is_namespace(read_ref(live)) else ()
        return staying(self.contents.of(live), going)

    def _delete(self, step: Step) -> str:
        """Delete an object; return its uid, "" if there is nothing to wait for."""
        uid = step.uid or dict(self._plan.observed)[step.ref].uid
        reasons: list[str] = []

        def keeps(live: Object) -> str:
            reasons.append(self._reason_to_keep(step.ref, live))
            return reasons[-1]

        with self._run.step("delete", step.ref):
            ended = delete_object(self._run, step.ref, uid, keeps=keeps)
        match ended:
            case ObjectDeletion.KEPT:
                self._left_over.append(f"{step.ref}: {reasons[-1]}")
                self._skipped.add(uid)
                return ""
            case ObjectDeletion.MISSING:
                if self._run.cluster.get(step.ref) is not None:
                    self._left_over.append(f"{step.ref}, created again after the plan was displayed")
                return ""
        self._deleted.append(step.ref)
        return uid

    def _reason_to_keep(self, ref: ObjectRef, live: Object) -> str:
        item = self._previous.item(ref) if self._previous is not None else None
        return keep_reason(item or InventoryItem(ref), live, self._mine, adopt=self._plan.intent.adopt)
