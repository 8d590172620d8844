"""The plan of pruning: objects of an earlier version, deleted with consent and never if another owns them."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterable, Sequence
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from kymatui.domain.gitops import git_source
from kymatui.domain.inventories import Inventory, InventoryItem
from kymatui.domain.kubernetes.object_meta import read_ref, resource_version_of, uid_of
from kymatui.domain.kubernetes.refs import ObjectKey, ObjectRef
from kymatui.domain.kubernetes.terminal_text import first_of
from kymatui.domain.ownership import OwnerKind
from kymatui.engine.bundles.bundle import Bundle
from kymatui.engine.cluster.concurrency import run_for_each
from kymatui.engine.cluster.kind_order import defined_kinds, deletion_blocker, is_definition, is_namespace
from kymatui.engine.cluster.ports import Cluster, Object
from kymatui.engine.deletion.cascade_contents import (
    CascadeContents,
    ContainedObject,
    contents_left,
    instances_left,
    name_contents,
    staying,
)
from kymatui.engine.dryrun.preview import observe
from kymatui.engine.inventory.managed_resources import NO_HOLDERS, CrdHolders, find_crd_holders, keep_reason
from kymatui.engine.inventory.ownership_marks import bundle_owner
from kymatui.engine.jobs.object_deletion import (
    ObjectDeletion,
    UnplannedDeletions,
    delete_object,
    record_instances,
    unplanned_error,
)
from kymatui.engine.jobs.run import Progress, Run
from kymatui.engine.jobs.wait import wait_until_deleted
from kymatui.engine.plans.plan import Action, BundlePart, Intent, ObservedVersion, Plan, Step
from kymatui.errors import PartlyDoneError

FIRST_PHASE: Final = 1_000  # above every wave of applied objects
SECOND_PHASE: Final = 1_001  # dependencies are deleted after the objects that use them
_MOST_NAMED: Final = 5  # objects that a message names; the others are counted

# lifecycle-manager's list plus StatefulSet and DaemonSet: dependencies are deleted after their users.
_LATE: Final = frozenset(
    {
        ("apiextensions.k8s.io", "CustomResourceDefinition"),
        ("", "Namespace"),
        ("", "ServiceAccount"),
        ("rbac.authorization.k8s.io", "Role"),
        ("rbac.authorization.k8s.io", "ClusterRole"),
        ("rbac.authorization.k8s.io", "RoleBinding"),
        ("rbac.authorization.k8s.io", "ClusterRoleBinding"),
        ("", "Service"),
        ("apps", "Deployment"),
        ("apps", "StatefulSet"),
        ("apps", "DaemonSet"),
    }
)


class PruneResult(Struct, frozen=True):
    """The prune steps, and the observed versions of their objects."""

    steps: tuple[Step, ...]
    observed: dict[ObjectRef, ObservedVersion]


def is_late(ref: ObjectRef) -> bool:
    """Return whether an object is deleted in the second phase."""
    return (ref.kind.group, ref.kind.kind) in _LATE


def prune_steps(
    intent: Intent,
    items: Sequence[InventoryItem],
    previous: Inventory | None,
    bundle: Bundle,
    cluster: Cluster,
    cancel: threading.Event,
    width: int,
) -> PruneResult:
    """Return the steps for items that the bundle no longer has: to delete, or to keep with the reason."""
    if not items:
        return PruneResult((), {})
    keys = {read_ref(body).key for body in (*bundle.crds, *bundle.objects)}
    gone = [item for item in items if item.ref.key not in keys and not _is_own_place(item, previous)]
    live = run_for_each(gone, lambda item: cluster.get(item.ref), cancel, width)
    observed = {item.ref: observe(body) for item, body in zip(gone, live, strict=True)}
    existing = [(item, body) for item, body in zip(gone, live, strict=True) if body is not None]
    steps = _PruneSteps(intent, previous, prune_contents(bundle, cluster, cancel, width, adopt=intent.adopt))
    return PruneResult(steps.of(existing), observed)


def prune_contents(
    bundle: Bundle, cluster: Cluster, cancel: threading.Event, width: int, *, adopt: bool
) -> CascadeContents:
    """Return the search for what an upgrade deletes with CRDs and namespaces."""
    mine = bundle_owner(bundle)
    released = OwnerKind.LIFECYCLE_MANAGER if adopt else None
    return CascadeContents(cluster, cancel, width, lambda owner: owner == mine or owner.kind is released)


def planned_uids(steps: Iterable[Step]) -> frozenset[str]:
    """Return the uids of what these steps delete, with the instances of CRDs."""
    deletions = [step for step in steps if step.action is Action.DELETE]
    instances = {uid for step in deletions if is_definition(step.ref) for uid in step.takes}
    return frozenset((instances | {step.uid for step in deletions}) - {""})


class _PruneSteps:
    """The steps of what one upgrade no longer has: objects first, as what is kept of them keeps CRDs and namespaces."""

    def __init__(self, intent: Intent, previous: Inventory | None, contents: CascadeContents) -> None:
        self._intent, self._bundle, self._contents = intent, intent.bundle, contents
        self._mine = bundle_owner(intent.bundle)
        self._steps: dict[ObjectRef, Step] = {}
        defaults = previous.defaults if previous is not None else ()
        self._kept: dict[ObjectKey, str] = {ref.key: "the default CR, which no upgrade deletes" for ref in defaults}
        self._holders = NO_HOLDERS

    def of(self, existing: Sequence[tuple[InventoryItem, Object]]) -> tuple[Step, ...]:
        self._holders = self._find_holders(existing)
        for decide, belongs in (
            (self._object, lambda ref: not (is_definition(ref) or is_namespace(ref))),
            (self._crd, is_definition),
            (self._namespace, is_namespace),
        ):
            some = {item.ref: decide(item, body) for item, body in existing if belongs(item.ref)}
            self._kept |= {ref.key: step.reason for ref, step in some.items() if step.action is Action.KEEP}
            self._steps |= some
        return tuple(self._steps[item.ref] for item, _ in existing)

    def _find_holders(self, existing: Sequence[tuple[InventoryItem, Object]]) -> CrdHolders:
        if not (self._intent.prune and self._intent.prune_definitions):
            return NO_HOLDERS
        names = {item.ref.name for item, body in existing if is_definition(item.ref) and not self._reason(item, body)}
        search = self._contents
        return find_crd_holders(search.cluster, names, (self._mine,), search.cancel, search.width)

    def _reason(self, item: InventoryItem, live: Object) -> str:
        if reason := keep_reason(item, live, self._mine, adopt=self._intent.adopt):
            return reason
        return "" if self._intent.prune else "pruning is turned off"

    def _object(self, item: InventoryItem, live: Object) -> Step:
        reason = self._reason(item, live)
        return _kept(item, live, reason) if reason else _deletion(item, live, (), "")

    def _crd(self, item: InventoryItem, live: Object) -> Step:
        reason = self._reason(item, live)
        if reason:
            return _kept(item, live, reason)
        inside = self._with_kept(self._contents.of(live))
        named = _named([contained_object.message for contained_object in inside], "none exist")
        if not self._intent.prune_definitions:
            return _kept(item, live, f"deleting a CRD deletes all its objects{named}; this needs consent")
        held = staying(inside, (), with_contents=True)
        reason = _defined_because(self._bundle, live) or self._holders.reason(item.ref.name) or instances_left(held)
        if reason:
            return _kept(item, live, reason)
        return _deletion(item, live, inside, f"; deletes all its objects too{named}")

    def _namespace(self, item: InventoryItem, live: Object) -> Step:
        reason = self._reason(item, live) or _occupied_because(self._bundle, item.ref.name)
        if reason or not self._intent.prune_namespaces:
            return _kept(item, live, reason or "deleting a namespace deletes everything in it; this needs consent")
        going = planned_uids(self._steps.values())
        inside = self._with_kept(staying(self._contents.of(live), going))
        if held := staying(inside, (), with_contents=True):
            return _kept(item, live, contents_left(held))
        names = _named([contained_object.message for contained_object in inside], "nothing else")
        return _deletion(item, live, inside, f"; deletes everything in it too{names}")

    def _with_kept(self, contents: Iterable[ContainedObject]) -> tuple[ContainedObject, ...]:
        """Return contents of which the kept ones hold their container, whatever keeps them."""
        return tuple(
            replace(content, hold=content.hold or self._kept.get(content.ref.key, ""))
            if content.ref is not None
            else content
            for content in contents
        )


def _named(names: Sequence[str], none: str) -> str:
    return f" ({first_of(names, _MOST_NAMED) or none})"


def _is_own_place(item: InventoryItem, previous: Inventory | None) -> bool:
    return (
        previous is not None
        and previous.made_namespace
        and is_namespace(item.ref)
        and item.ref.name == previous.namespace
    )


def _defined_because(bundle: Bundle, crd: Object) -> str:
    """Return why the new version needs a CRD that it no longer has, "" if it does not."""
    kinds = {(gvk.group, gvk.kind) for gvk in defined_kinds([crd])}
    refs = (read_ref(body) for body in (*bundle.objects, *bundle.defaults))
    ref = next((ref for ref in refs if (ref.kind.group, ref.kind.kind) in kinds), None)
    return f"the new version still has {ref}" if ref is not None else ""


def _occupied_because(bundle: Bundle, namespace: str) -> str:
    """Return why the new version needs a namespace, "" if it does not."""
    bodies = (*bundle.objects, *bundle.defaults, *(hook.body for hook in bundle.hooks))
    if any(read_ref(body).namespace == namespace for body in bodies):
        return "the new version still has objects in it"
    return f"the inventory of {bundle.name} is stored in it" if bundle.namespace == namespace else ""


def _kept(item: InventoryItem, live: Object, reason: str) -> Step:
    return Step(
        Action.KEEP, item.ref, _wave(item), BundlePart.PREVIOUS, reason=reason, adopted=item.adopted, uid=uid_of(live)
    )


def _deletion(item: InventoryItem, live: Object, inside: Iterable[ContainedObject], more: str) -> Step:
    reason, uids = f"not in this version{more}", tuple(contained_object.uid for contained_object in inside)
    return Step(
        Action.DELETE,
        item.ref,
        _wave(item),
        BundlePart.PREVIOUS,
        reason=reason,
        uid=uid_of(live),
        takes=uids,
        git=git_source(live),
    )


def _wave(item: InventoryItem) -> int:
    return SECOND_PHASE if is_late(item.ref) else FIRST_PHASE


def phases(steps: Sequence[Step]) -> tuple[tuple[Step, ...], ...]:
    """Return the deletions in phases; namespaces are last, so that they stay for a skipped deletion in them."""
    deletions = [step for step in steps if step.action is Action.DELETE]
    early = tuple(step for step in deletions if step.wave == FIRST_PHASE)
    late = [step for step in deletions if step.wave == SECOND_PHASE]
    namespaces = tuple(step for step in late if is_namespace(step.ref))
    return (early, tuple(step for step in late if not is_namespace(step.ref)), namespaces)


# The backup of objects that an upgrade deletes, saved before any write, and again if they changed.


def describe_backup(plan: Plan) -> str:
    """Return the plan's note about the backup, "" if it deletes nothing."""
    number = plan.deletion_count
    what = "saved to a backup first" if plan.intent.backup else "not saved to a backup"
    if number < 2:
        return f"the object to delete is {what}" if number else ""
    return f"the {number} objects to delete are {what}"


def save_deletions(run: Run, steps: Iterable[Step], search: CascadeContents) -> None:
    """Save the objects that the steps delete. Raises ConfigurationError if the backup cannot be written."""
    refs = [step.ref for step in steps if step.action is Action.DELETE]
    if run.backup is None or not refs:
        return
    bodies = [live for live in run_for_each(refs, run.cluster.get, run.cancel, run.limits.width) if live is not None]
    for live in bodies:
        save(run, live, search.of(live))
    if bodies:
        run.report(Progress(run.backup.message))


def save(run: Run, live: Object, contents: Iterable[ContainedObject]) -> None:
    """Save an object and its dependents unless the backup already has their current state."""
    if run.backup is None:
        return
    refs = [content.ref for content in contents if content.ref is not None]
    for body in (live, *run_for_each(refs, run.cluster.get, run.cancel, run.limits.width)):
        if body is not None and not run.backup.holds(uid_of(body), resource_version_of(body)):
            run.backup.save(body)


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
