"""Deletion of a module: no manager before its managed resources, and no object of another owner."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping, Sequence
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from kymatui.domain.kubernetes.refs import ObjectRef
from kymatui.domain.kubernetes.terminal_text import format_count
from kymatui.engine.apply.plan_refusals import refuse_another_cluster
from kymatui.engine.apply.prune import foreign_claim
from kymatui.engine.bundles.bundle import BundleHook
from kymatui.engine.cluster.concurrency import run_for_each
from kymatui.engine.cluster.kind_order import defined_kinds
from kymatui.engine.cluster.namespace_contents import list_foreign_contents
from kymatui.engine.cluster.ports import NAMESPACE, Object, PatchKind
from kymatui.engine.deletion.managed_deletion import (
    DeletionConsent,
    delete_managed_resources,
    require_consent,
    require_deleted,
)
from kymatui.engine.deletion.uninstall_plan import UninstallPlan, deletion_steps, inventory_owner
from kymatui.engine.inventory.inventory import Inventory, InventoryItem, InventoryState
from kymatui.engine.inventory.inventory_store import ApplySetStore, InventoryStore
from kymatui.engine.inventory.managed_resources import GroupKind, ManagedObjects, list_managed_resources, managed_kinds
from kymatui.engine.inventory.ownership_marks import inventory_name, read_owner, unmark_patch
from kymatui.engine.inventory.release_store import ReleaseStore
from kymatui.engine.jobs.crd_deletion import UnplannedDeletions, record_instances, unplanned_error
from kymatui.engine.jobs.hooks import run_hooks
from kymatui.engine.jobs.object_deletion import (
    ObjectDeletion,
    delete_as_read,
    delete_object,
    is_saved,
    uid_of,
    version_of,
)
from kymatui.engine.jobs.run import Progress, Run
from kymatui.engine.plans.plan import Action, BundlePart, Step
from kymatui.errors import CancelledError, ConflictError, KymatuiError, OutdatedError, PartlyDoneError

_UNSEEN: Final = "it was created after the plan was displayed"
_AGAIN: Final = "run the command again to continue"
_NOTHING: Final[Mapping[ObjectRef, Object]] = {}


class DeletionOutcome(Struct, frozen=True):
    """Deleted and kept objects; `lost` were deleted by another client."""

    gone: tuple[ObjectRef, ...]
    kept: tuple[Step, ...]
    lost: tuple[ObjectRef, ...] = ()


def uninstall_module(found: UninstallPlan, run: Run, consent: DeletionConsent) -> DeletionOutcome:
    """Delete exactly the accepted objects; report and keep those that were created since.

    Raises RefusedError before any deletion (OutdatedError if another version was installed since), PartlyDoneError
    if an object remains (a second run continues).
    """
    refuse_another_cluster(found.cluster, run)
    inventory = found.inventory
    require_consent(found.remaining, inventory.name, consent)
    deletion = _Deletion(found, run, consent)
    try:
        with run.alone(inventory.name, inventory.namespace) as (alone, _):
            deletion.run = alone
            return deletion.carry_out()
    except KymatuiError as error:
        if isinstance(error, CancelledError):
            made: KymatuiError = CancelledError(f"{error}; {deletion.summary()}", hint=_AGAIN)
        elif deletion.gone:
            made = PartlyDoneError(f"{error}; {deletion.summary()}", hint=error.hint or _AGAIN)
        else:
            raise
        made.gone = tuple(deletion.gone)
        raise made from error


def refuse_replaced(then: Inventory, now: Inventory) -> None:
    """Raise OutdatedError if something else was installed under the name meanwhile."""
    if (now.digest, now.version) == (then.digest, then.version):
        return
    was, got = (f" {one.version}" if then.version != now.version else "" for one in (then, now))
    raise OutdatedError(
        f"another client has installed {now.name}{got} again; the plan was to delete the previous installation{was}",
        hint="nothing was deleted; run the command again to review a new plan",
    )


def _left(step: Step) -> Step:
    return replace(step, action=Action.KEEP, reason=_UNSEEN)


class _Deletion:
    """One running deletion."""

    def __init__(self, found: UninstallPlan, run: Run, consent: DeletionConsent) -> None:
        self.run = run
        self.gone: list[ObjectRef] = []
        self._found = found
        self._inventory = found.inventory
        self._consent = consent
        self._kept: list[Step] = []
        self._kinds: tuple[GroupKind, ...] = ()
        self._unplanned: list[UnplannedDeletions] = []

    def carry_out(self) -> DeletionOutcome:
        keeper = self._keeper()
        inventory = keeper.read()
        if inventory is None:
            self.run.report(Progress(f"{self._inventory.name} was already deleted by another client"))
            return DeletionOutcome((), ())
        refuse_replaced(self._inventory, inventory)
        self._inventory = inventory
        self._kinds = managed_kinds(inventory, self.run.cluster)
        require_consent(self._count(), inventory.name, self._consent)
        if not inventory.is_deleting:
            inventory = replace(inventory, state=InventoryState.DELETING, done=())
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
        return DeletionOutcome(tuple(self.gone), tuple(self._kept), self._lost())

    def _lost(self) -> tuple[ObjectRef, ...]:
        """Return the objects that another client deleted first."""
        known = {*self.gone, *(step.ref for step in self._kept)}
        lost = (*self._found.lost, *(step.ref for step in self._found.deletions if step.ref not in known))
        for ref in lost:
            self.run.report(Progress(f"{ref} was already deleted by another client"))
        return lost

    def _keeper(self) -> InventoryStore:
        name, namespace = self._inventory.name, self._inventory.namespace
        if self._inventory.chart:
            return ReleaseStore(self.run.cluster, name, namespace, self.run.clock.now)
        return ApplySetStore(self.run.cluster, name, namespace)

    def _hooks(
        self, hooks: Sequence[BundleHook], event: str, inventory: Inventory, keeper: InventoryStore
    ) -> Inventory:
        return run_hooks(self.run, hooks, event, inventory, keeper) if hooks else inventory

    def _count(self) -> ManagedObjects:
        return list_managed_resources(
            self._inventory, self.run.cluster, self._kinds, self.run.cancel, self.run.limits.width
        )

    # its own objects

    def _delete_own(self) -> None:
        steps = self._steps(BundlePart.OBJECT)
        self._kept += [step for step in steps if step.action is Action.KEEP]
        for number in sorted({step.wave for step in steps}):
            wave = [step for step in steps if step.wave == number and step.action is Action.DELETE]
            self._remove(wave, "objects of the module")

    def _steps(self, part: BundlePart) -> tuple[Step, ...]:
        """Return the current steps of a part; objects that the plan did not display are kept."""
        steps = deletion_steps(self._inventory, self.run.cluster, self.run.cancel, self.run.limits.width, part)
        return tuple(step if self._is_accepted(step) else _left(step) for step in steps)

    def _is_accepted(self, step: Step) -> bool:
        return step.action is Action.KEEP or self._consent.accepted.has(step.ref, step.uid)

    def _delete_definitions(self) -> None:
        """Delete the CRDs without instances; the others would delete newly created objects too."""
        steps = self._steps(BundlePart.DEFINITION)
        for step in steps:
            if step.action is Action.KEEP:
                self._kept.append(step)
                continue
            live = self.run.cluster.get(step.ref)
            if live is not None and self.run.backup is not None:
                self.run.backup.save(live)
            if live is not None:
                self._delete_definition(step, live)
        if steps:
            self.run.cluster.forget_kinds()

    def _delete_definition(self, step: Step, live: Object) -> None:
        """Delete a CRD unless it has instances; they are counted as late as possible, right before the deletion."""
        with record_instances(self.run, [live]) as record:
            if count := self._instances_of(live):
                reason = f"{format_count(count, 'object')} of its kind left"
                self._kept.append(replace(step, action=Action.KEEP, reason=reason))
                return
            record.counted()
            self._remove([step], "CRD without objects", {step.ref: live})
            self._unplanned.append(record.unplanned())

    def _instances_of(self, definition: Object) -> int:
        kinds = {(gvk.group, gvk.kind) for gvk in defined_kinds([definition])}
        found = list_managed_resources(
            self._inventory, self.run.cluster, tuple(kinds), self.run.cancel, self.run.limits.width
        )
        return len(found.instances) + len(found.unknown)

    def _remove(self, steps: Sequence[Step], what: str, read: Mapping[ObjectRef, Object] = _NOTHING) -> None:
        """Delete in parallel and wait for the end. Raises PartlyDoneError that tells who has to act.

        Objects in `read`, which were just read and checked, are not read again.
        """
        if not steps:
            return
        sent: list[ObjectRef] = []
        try:
            found = run_for_each(
                steps, lambda step: self._delete(step, read, sent), self.run.cancel, self.run.limits.width
            )
        except KymatuiError:
            self.gone += sent  # nothing brings back what the server accepted before another request failed
            raise
        ended = list(zip(steps, found, strict=True))
        self.gone += [step.ref for step, one in ended if one is ObjectDeletion.GONE]
        waited = {step.ref: step.uid for step, one in ended if one is ObjectDeletion.STARTED}
        if waited:
            require_deleted(self.run, waited, what, self.gone)

    def _delete(self, step: Step, read: Mapping[ObjectRef, Object], sent: list[ObjectRef]) -> ObjectDeletion:
        """Delete one object; MISSING also if it is another one now, or has another owner, and is kept.

        It was checked when the step was made: as long as it has not changed since, nothing is read again.
        """
        ref = step.ref
        if ref not in read and ref.kind != NAMESPACE and is_saved(self.run, step.uid, step.version):
            with contextlib.suppress(ConflictError), self.run.step("delete", ref):
                return self._sent(ref, delete_as_read(self.run, ref, step.uid, step.version), sent)
        live = read[ref] if ref in read else self.run.cluster.get(ref)
        if live is None:
            return ObjectDeletion.MISSING
        item = self._inventory.item(ref)
        claim = self._claimed(live, item) if item is not None and ref not in read and ref.kind != NAMESPACE else ""
        if claim:
            self._kept.append(replace(step, action=Action.KEEP, reason=claim))
            return ObjectDeletion.MISSING
        if uid_of(live) != step.uid:
            self._kept.append(_left(step))
            return ObjectDeletion.MISSING
        if live["metadata"].get("deletionTimestamp"):
            self.run.report(Progress(f"deleting {ref}", ref))
            return ObjectDeletion.STARTED
        with self.run.step("delete", ref):
            found = delete_object(self.run, ref, step.uid, version_of(live))
        return self._sent(ref, found, sent)

    def _sent(self, ref: ObjectRef, found: ObjectDeletion, sent: list[ObjectRef]) -> ObjectDeletion:
        if found is not ObjectDeletion.MISSING:
            sent.append(ref)
            self.run.report(Progress(f"deleting {ref}", ref))
        return found

    def _claimed(self, live: Object, item: InventoryItem) -> str:
        return foreign_claim(live, inventory_owner(self._inventory), item)

    # namespaces and inventory

    def _end(self, keeper: InventoryStore) -> None:
        """Delete the namespaces last; the inventory's own namespace deletes the inventory too."""
        own = ObjectRef(NAMESPACE, "", self._inventory.namespace)
        steps = self._steps(BundlePart.NAMESPACE)
        for step in [*(one for one in steps if one.ref != own), *(one for one in steps if one.ref == own)]:
            others = self._others(step.ref.name) if step.action is Action.DELETE else ()
            if others:
                more = f" and {len(others) - 5} more" if len(others) > 5 else ""
                step = replace(
                    step, action=Action.KEEP, reason=f"it contains other objects: {', '.join(others[:5])}{more}"
                )
            if step.action is Action.KEEP:
                self._kept.append(step)
            elif step.ref == own:
                self._let_go()
                self._remove([step], "the module's namespace")
                return
            else:
                self._remove([step], "a namespace of the module")
        self._let_go()
        with self.run.step("forget", self._inventory.name):
            keeper.remove(self._inventory)

    def _let_go(self) -> None:
        """Remove the ownership marks from kept objects, except those that the plan did not display."""
        mine = inventory_owner(self._inventory)

        def unmark(step: Step) -> None:
            live = self.run.cluster.get(step.ref)
            if live is None or read_owner(live) not in (None, mine):
                return
            if not self._consent.accepted.has(step.ref, uid_of(live)):
                return
            patch = unmark_patch(live, mine, found=step.adopted)
            if patch is None:
                return
            patch["metadata"]["uid"] = uid_of(live)  # the server then rejects it for a recreated object
            with self.run.step("let go", step.ref):
                self.run.cluster.patch(step.ref, patch, PatchKind.MERGE, manager=self.run.manager)

        run_for_each(self._kept, unmark, self.run.cancel, self.run.limits.width)

    def _others(self, namespace: str) -> tuple[str, ...]:
        """Return the contents of a namespace that are not the module's or were not displayed."""
        name, prefix = inventory_name(self._inventory.name), f"sh.helm.release.v1.{self._inventory.name}.v"

        def is_ours(ref: ObjectRef, body: Object) -> bool:
            kept = ref.kind.kind == "Secret" and ref.name.startswith(prefix)
            known, accepted = self._inventory.item(ref), self._consent.accepted
            ours = known is not None and not known.adopted and not self._claimed(body, known)
            return ref.name == name or kept or (ours and accepted.has(ref, uid_of(body)))

        found = list_foreign_contents(self.run.cluster, namespace, is_ours, self.run.cancel, self.run.limits.width)
        return tuple(one.message for one in found)

    def summary(self) -> str:
        return f"{format_count(len(self.gone), 'object')} deleted"
