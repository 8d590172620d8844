"""Taking a module away by two rules: no manager goes while anything it manages is there; only what is ours goes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from kymatui.domain.refs import ObjectRef
from kymatui.domain.texts import counted
from kymatui.engine.bundles import BundleHook
from kymatui.engine.clearing import Consent, clear, refuse_unless_agreed, wait_until_gone
from kymatui.engine.concurrency import each
from kymatui.engine.deletion import delete_object, uid_of
from kymatui.engine.emptiness import others_in
from kymatui.engine.holders import holder, inventory_name, parting_patch
from kymatui.engine.hooks import run_hooks
from kymatui.engine.inventories import Inventory, Item, State
from kymatui.engine.keeping import Keeper, SetKeeper
from kymatui.engine.ordering import defined_kinds
from kymatui.engine.planning import NAMESPACE
from kymatui.engine.plans import Action, Part, Step
from kymatui.engine.ports import Object, PatchKind
from kymatui.engine.pruning import others_claim
from kymatui.engine.refusing import refuse_another_cluster
from kymatui.engine.releases import ReleaseKeeper
from kymatui.engine.remaining import GroupKind, Instances, count_remaining, managed_kinds
from kymatui.engine.removals import Removal, own_marks, removal_steps
from kymatui.engine.running import Progress, Run
from kymatui.errors import CancelledError, KymatuiError, OutdatedError, PartlyDoneError

_UNSEEN: Final = "it was created after the plan was displayed"
_NOTHING: Final[Mapping[ObjectRef, Object]] = {}


@dataclass(frozen=True, slots=True)
class Deleted:
    """What went, and what was kept, with the reasons; `lost` was to go, and somebody else had deleted it."""

    gone: tuple[ObjectRef, ...]
    kept: tuple[Step, ...]
    lost: tuple[ObjectRef, ...] = ()


def delete(found: Removal, run: Run, consent: Consent) -> Deleted:
    """Carries out a removal, of exactly what was accepted: what was created since is left, and named.

    Raises RefusedError before anything is deleted (OutdatedError where something else is installed than was looked at),
    PartlyDoneError when something does not go (run it again to go on).
    """
    refuse_another_cluster(found.cluster, run)
    inventory = found.inventory
    refuse_unless_agreed(found.remaining, inventory.name, consent)
    deletion = _Deletion(found, run, consent)
    try:
        with run.alone(inventory.name, inventory.namespace) as (alone, _):
            deletion.run = alone
            return deletion.carry_out()
    except CancelledError as error:
        raise CancelledError(f"{error}; {deletion.told()}", hint="run it again to go on") from error
    except KymatuiError as error:
        if not deletion.gone:
            raise
        hint = error.hint or "run it again to go on"
        raise PartlyDoneError(f"{error}; {deletion.told()}", hint=hint) from error


def refuse_another(then: Inventory, now: Inventory) -> None:
    """Raises OutdatedError where somebody installed something else under a name since it was looked at."""
    if (now.digest, now.version) == (then.digest, then.version):
        return
    was, got = (f" {one.version}" if then.version != now.version else "" for one in (then, now))
    raise OutdatedError(
        f"somebody installed another {now.name}{got} while the one that was there{was} was to be deleted",
        hint="nothing of it was deleted; run it again to look at what would go now",
    )


def _left(step: Step) -> Step:
    return replace(step, action=Action.KEEP, reason=_UNSEEN)


class _Deletion:
    """One removal on its way."""

    def __init__(self, found: Removal, run: Run, consent: Consent) -> None:
        self.run = run
        self.gone: list[ObjectRef] = []
        self._found = found
        self._inventory = found.inventory
        self._consent = consent
        self._kept: list[Step] = []
        self._kinds: tuple[GroupKind, ...] = ()

    def carry_out(self) -> Deleted:
        keeper = self._keeper()
        inventory = keeper.read()
        if inventory is None:
            self.run.tell(Progress(f"{self._inventory.name} is gone: somebody else deleted it"))
            return Deleted((), ())
        refuse_another(self._inventory, inventory)
        self._inventory = inventory
        self._kinds = managed_kinds(inventory, self.run.cluster)
        refuse_unless_agreed(self._count(), inventory.name, self._consent)
        if inventory.state is not State.DELETING:
            inventory = replace(inventory, state=State.DELETING, done=())
            inventory = self._inventory = keeper.note(inventory)
        hooks = keeper.hooks(inventory) if isinstance(keeper, ReleaseKeeper) else ()
        inventory = self._hooks(hooks, "pre-delete", inventory, keeper)
        clear(self.run, self._inventory.name, self._count, self._consent, self.gone)
        self._delete_own()
        self._delete_definitions()
        self._hooks(hooks, "post-delete", inventory, keeper)
        self._end(keeper)
        return Deleted(tuple(self.gone), tuple(self._kept), self._lost())

    def _lost(self) -> tuple[ObjectRef, ...]:
        """What was gone before its turn came."""
        known = {*self.gone, *(step.ref for step in self._kept)}
        lost = (*self._found.lost, *(step.ref for step in self._found.deletions if step.ref not in known))
        for ref in lost:
            self.run.tell(Progress(f"{ref} was gone already: somebody else deleted it"))
        return lost

    def _keeper(self) -> Keeper:
        name, namespace = self._inventory.name, self._inventory.namespace
        if self._inventory.chart:
            return ReleaseKeeper(self.run.cluster, name, namespace, self.run.clock.now)
        return SetKeeper(self.run.cluster, name, namespace)

    def _hooks(self, hooks: Sequence[BundleHook], event: str, inventory: Inventory, keeper: Keeper) -> Inventory:
        return run_hooks(self.run, hooks, event, inventory, keeper) if hooks else inventory

    def _count(self) -> Instances:
        return count_remaining(self._inventory, self.run.cluster, self._kinds, self.run.cancel, self.run.limits.width)

    # its own objects

    def _delete_own(self) -> None:
        steps = self._steps(Part.OBJECT)
        self._kept += [step for step in steps if step.action is Action.KEEP]
        for number in sorted({step.wave for step in steps}):
            wave = [step for step in steps if step.wave == number and step.action is Action.DELETE]
            self._remove(wave, "which is a part of the module")

    def _steps(self, part: Part) -> tuple[Step, ...]:
        """What is there of a part now; what the plan did not display stays."""
        steps = removal_steps(self._inventory, self.run.cluster, self.run.cancel, self.run.limits.width, part)
        return tuple(step if self._is_accepted(step) else _left(step) for step in steps)

    def _is_accepted(self, step: Step) -> bool:
        return step.action is Action.KEEP or self._consent.accepted.has(step.ref, step.uid)

    def _delete_definitions(self) -> None:
        """Those of which nothing is left; with the others would go what somebody made since."""
        for step in self._steps(Part.DEFINITION):
            if step.action is Action.KEEP:
                self._kept.append(step)
                continue
            live = self.run.cluster.get(step.ref)
            if live is not None and self.run.backup is not None:
                self.run.backup.save(live)
            count = self._instances_of(live) if live is not None else 0  # the last request before it is deleted
            if count:
                reason = f"{counted(count, 'object')} of its kind left"
                self._kept.append(replace(step, action=Action.KEEP, reason=reason))
            elif live is not None:
                self._remove([step], "which has no instances", {step.ref: live})
        self.run.cluster.forget_kinds()

    def _instances_of(self, definition: Object) -> int:
        kinds = {(gvk.group, gvk.kind) for gvk in defined_kinds([definition])}
        found = count_remaining(self._inventory, self.run.cluster, tuple(kinds), self.run.cancel, self.run.limits.width)
        return len(found.instances) + len(found.unknown)

    def _remove(self, steps: Sequence[Step], why: str, read: Mapping[ObjectRef, Object] = _NOTHING) -> None:
        """Deletes side by side, and waits until all are gone. Raises PartlyDoneError that tells who has to act.

        What was `read` a moment ago, and was found to be ours, is not read again.
        """
        if not steps:
            return
        uids = each(steps, lambda step: self._delete(step, read), self.run.cancel, self.run.limits.width)
        waited = {step.ref: uid for step, uid in zip(steps, uids, strict=True) if uid}
        if waited:
            wait_until_gone(self.run, waited, why, self.gone)

    def _delete(self, step: Step, read: Mapping[ObjectRef, Object]) -> str:
        """The uid to wait for; "" where it is gone, is another's now, or was created again since."""
        ref = step.ref
        live = read[ref] if ref in read else self.run.cluster.get(ref)
        if live is None:
            return ""
        item = self._inventory.item(ref)
        if item is not None and ref not in read and ref.kind != NAMESPACE and self._claimed(live, item):
            return ""
        if uid_of(live) != step.uid:
            self._kept.append(_left(step))
            return ""
        if not live["metadata"].get("deletionTimestamp"):
            version = str(live["metadata"].get("resourceVersion") or "")
            with self.run.step("delete", ref):
                if not delete_object(self.run, ref, step.uid, version):
                    return ""  # it is gone, or another one has its name now
        self.run.tell(Progress(f"deleting {ref}", ref))
        return step.uid

    def _claimed(self, live: Object, item: Item) -> str:
        return others_claim(live, own_marks(self._inventory), item)

    # the end

    def _end(self, keeper: Keeper) -> None:
        """Namespaces last. The one that the inventory is in takes it along; else the inventory is removed by itself."""
        own = ObjectRef(NAMESPACE, "", self._inventory.namespace)
        steps = self._steps(Part.NAMESPACE)
        for step in [*(one for one in steps if one.ref != own), *(one for one in steps if one.ref == own)]:
            others = self._others(step.ref.name) if step.action is Action.DELETE else ()
            if others:
                more = f" and {len(others) - 5} more" if len(others) > 5 else ""
                step = replace(step, action=Action.KEEP, reason=f"others are in it: {', '.join(others[:5])}{more}")
            if step.action is Action.KEEP:
                self._kept.append(step)
            elif step.ref == own:
                self._let_go()
                self._remove([step], "which was made for the module")
                return
            else:
                self._remove([step], "which is a part of the module")
        self._let_go()
        with self.run.step("forget", self._inventory.name):
            keeper.remove(self._inventory)

    def _let_go(self) -> None:
        """Removes the marks from what stays; what the plan did not display is not touched."""
        mine = own_marks(self._inventory)

        def unmark(step: Step) -> None:
            live = self.run.cluster.get(step.ref)
            if live is None or holder(live) not in (None, mine):
                return
            if not self._consent.accepted.has(step.ref, uid_of(live)):
                return
            patch = parting_patch(live, mine, found=step.adopted)
            if patch is None:
                return
            patch["metadata"]["uid"] = uid_of(live)  # the server refuses it for another object of that name
            with self.run.step("let go", step.ref):
                self.run.cluster.patch(step.ref, patch, PatchKind.MERGE, manager=self.run.manager)

        each(self._kept, unmark, self.run.cancel, self.run.limits.width)

    def _others(self, namespace: str) -> tuple[str, ...]:
        """What in a namespace is not the module's, or was not displayed, in words."""
        name, prefix = inventory_name(self._inventory.name), f"sh.helm.release.v1.{self._inventory.name}.v"

        def is_ours(ref: ObjectRef, body: Object) -> bool:
            kept = ref.kind.kind == "Secret" and ref.name.startswith(prefix)
            known, accepted = self._inventory.item(ref), self._consent.accepted
            ours = known is not None and not known.adopted and not self._claimed(body, known)
            return ref.name == name or kept or (ours and accepted.has(ref, uid_of(body)))

        found = others_in(self.run.cluster, namespace, is_ours, self.run.cancel, self.run.limits.width)
        return tuple(one.words for one in found)

    def told(self) -> str:
        return f"{counted(len(self.gone), 'object')} deleted"
