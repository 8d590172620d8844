"""The application of a plan: in its order, in parallel within a wave, and only what was accepted."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from msgspec import Struct
from msgspec.structs import replace

from kymatui.domain.inventories import Inventory, InventoryItem, InventoryState, merge_items, reset_if_deleting
from kymatui.domain.kubernetes.object_meta import read_ref
from kymatui.domain.kubernetes.refs import GroupVersionKind, ObjectRef
from kymatui.domain.kubernetes.terminal_text import first_of, format_count
from kymatui.domain.modules.readiness import check_readiness
from kymatui.domain.ownership import LABEL_PART_OF, OwnerKind, resource_policy
from kymatui.engine.apply.planner import own_namespace, refuse_blocked_plan, refuse_foreign_plan
from kymatui.engine.bundles.bundle import Bundle
from kymatui.engine.cluster.concurrency import run_for_each
from kymatui.engine.cluster.kind_order import defined_kinds, is_definition
from kymatui.engine.cluster.ports import NAMESPACE, Object
from kymatui.engine.deletion.prune_plan import Pruning, save_deletions
from kymatui.engine.dryrun.field_takeover import HELM, take_over_fields
from kymatui.engine.dryrun.preview import conflicts_of, is_of_own_hook, is_yielding, observe
from kymatui.engine.inventory.inventory_store import InventoryStore
from kymatui.engine.inventory.ownership_marks import ADOPTED_MANAGERS, bundle_owner, take_over
from kymatui.engine.inventory.release_store import inventory_store_for, read_inventory
from kymatui.engine.jobs.hooks import run_hooks
from kymatui.engine.jobs.job_progress import APPLY_WORDS, DELETION_WORDS, JobProgress, read_at_stop
from kymatui.engine.jobs.run import FRESH, Progress, Run
from kymatui.engine.jobs.wait import has_readiness, is_deleted_when_done, wait_ready
from kymatui.engine.plans.plan import Action, BundlePart, Plan, Step, bundle_digest
from kymatui.errors import (
    CancelledError,
    ClusterError,
    ConflictError,
    InvalidError,
    KymatuiError,
    OutdatedError,
    PartlyDoneError,
    ServerError,
)

_WRITTEN = (Action.CREATE, Action.CHANGE, Action.CONFLICT)
_WEBHOOKS = "admissionregistration.k8s.io"


class ApplyOutcome(Struct, frozen=True):
    """The result of an application; `inventory` is the installed state."""

    written: tuple[ObjectRef, ...]
    deleted: tuple[ObjectRef, ...]
    kept: tuple[Step, ...]
    inventory: Inventory | None


def apply(plan: Plan, run: Run, *, wait: bool = True, just_made: bool = False) -> ApplyOutcome:
    """Apply a plan.

    With `just_made`, a plan that nobody reviewed is not compared with the cluster again. Raises RefusedError before
    any write if the plan has blockers, OutdatedError if the cluster has changed, PartlyDoneError if some changes
    are made (a second run continues), and CancelledError.
    """
    with plan.bundle.hidden.concealed():
        return _apply(plan, run, wait=wait, just_made=just_made)


def _apply(plan: Plan, run: Run, *, wait: bool, just_made: bool) -> ApplyOutcome:
    refuse_blocked_plan(plan, run)
    application = _Application(plan, run, wait)
    if plan.changes_nothing:
        return application.look_on(check=not just_made)
    try:
        application.make_room(check=not just_made)
        with run.alone(plan.bundle.name, plan.bundle.namespace) as (alone, waited):
            application.run = alone
            fresh = just_made and not waited and run.clock.now() - plan.made_at <= FRESH
            return application.carry_out(check=not fresh)
    except CancelledError as error:
        raise application.cancelled(error) from error
    except KymatuiError as error:
        raise application.failure(error) from error


def refuse_outdated(plan: Plan, run: Run) -> None:
    """Raise OutdatedError if the cluster has changed since the plan was made, RefusedError if it is another one."""
    refuse_foreign_plan(plan, run)
    _Application(plan, run, wait=False).refuse_outdated()


class _Application:
    """One application of a plan; it records the completed steps for the final message."""

    def __init__(self, plan: Plan, run: Run, wait: bool) -> None:
        self.plan = plan
        self.run = run
        self._bundle = plan.bundle
        self._wait = wait
        self._bodies = _bodies(plan)
        self._total = sum(step.action is not Action.DELETE for step in plan.writes)
        self._written: list[ObjectRef] = []
        self._deleted: list[ObjectRef] = []
        self._inventory: Inventory | None = None
        self._keeper: InventoryStore = inventory_store_for(self._bundle, run.cluster, run.clock)

    def look_on(self, *, check: bool) -> ApplyOutcome:
        """Write nothing; with `wait`, wait until everything is ready."""
        if check:
            self.refuse_outdated()
        self.run.tidy(self._bundle.name, self._bundle.namespace)
        self._await_ready()
        inventory = read_inventory(self.run.cluster, self.run.clock, self._bundle.name, self._bundle.namespace)
        return ApplyOutcome((), (), self.plan.of(Action.KEEP), inventory)

    def make_room(self, *, check: bool) -> None:
        """Create the namespace first, because the lease and the inventory are stored in it."""
        own = ObjectRef(NAMESPACE, "", self._bundle.namespace)
        steps = [step for step in self.plan.steps if step.ref == own and step.action is Action.CREATE]
        if steps and check:
            self.refuse_outdated()  # an outdated plan leaves no namespace behind
        for step in steps:
            self._write(step)

    def carry_out(self, *, check: bool) -> ApplyOutcome:
        """Apply everything but the namespace, in Helm's order; prune last."""
        plan, run = self.plan, self.run
        self._keeper = inventory_store_for(self._bundle, run.cluster, run.clock)
        previous = reset_if_deleting(self._keeper.read())
        self._verify(previous, objects=check)
        pruning = Pruning(plan, run, self._deleted, previous)
        save_deletions(run, plan.steps, pruning.contents)
        with run.step("record", self._bundle.name):  # from here on there is something to continue
            self._inventory = inventory = self._keeper.begin(self._planned(previous), self._bundle)
        verb = plan.verb
        run.report(Progress(f"{plan.user_verb} {self._bundle.name}", None, 0, self._total))
        self._create_definitions()
        inventory = self._hooks(f"pre-{verb}", inventory)
        for wave in plan.waves:
            self._apply_wave(
                [step for step in wave if step.action in _WRITTEN and step.part is not BundlePart.RESOURCE]
            )
        self._await_ready()
        inventory = self._create_resource(inventory)
        pruning.prune()
        inventory = self._hooks(f"post-{verb}", inventory)
        inventory = self._keeper.finish(replace(inventory, items=self._left(inventory), adopting=False))
        return ApplyOutcome(tuple(self._written), tuple(self._deleted), plan.of(Action.KEEP), inventory)

    # checks

    def refuse_outdated(self) -> None:
        self._verify(reset_if_deleting(self._keeper.read()), objects=True)

    def _verify(self, previous: Inventory | None, *, objects: bool) -> None:
        """Raise OutdatedError if the cluster has changed since the plan was made."""
        version = previous.resource_version if previous is not None else ""
        if version != self.plan.inventory:
            raise OutdatedError(f"another client has changed {self._bundle.name} since the plan", hint="plan again")
        if not objects:
            return
        own = ObjectRef(NAMESPACE, "", self._bundle.namespace)
        observed = [pair for pair in self.plan.observed if pair[0] != own]
        now = run_for_each(
            observed, lambda pair: observe(self.run.cluster.get(pair[0])), self.run.cancel, self.run.limits.width
        )
        moved = [
            str(ref)
            for (ref, then), current in zip(observed, now, strict=True)
            if (then.uid, then.stamp) != (current.uid, current.stamp)
        ]
        if moved:
            raise OutdatedError(f"the cluster has changed since the plan: {', '.join(moved)}", hint="plan again")

    def _planned(self, previous: Inventory | None) -> Inventory:
        """Return the inventory to write before the first object: everything installed and planned."""
        plan, bundle = self.plan, self._bundle
        creates_namespace = any(step.part is BundlePart.NAMESPACE for step in plan.steps)
        new = [
            InventoryItem(step.ref, step.adopted, step.part is BundlePart.DEFINITION, self._is_kept(step.ref))
            for step in plan.steps
            if step.part in (BundlePart.OBJECT, BundlePart.DEFINITION)
            or (plan.intent.adopt and step.part is BundlePart.PREVIOUS and _is_adopted(step))
        ]
        resource = read_ref(bundle.resource) if bundle.resource is not None else None
        old = previous.items if previous is not None else ()
        if plan.intent.adopt:
            old = tuple(replace(item, adopted=False) for item in old)
        return Inventory(
            name=bundle.name,
            namespace=bundle.namespace,
            origin=bundle.origin,
            version=bundle.version,
            state=InventoryState.PENDING,
            items=merge_items(old, new),
            digest=bundle_digest(bundle),
            done=previous.done if previous is not None and previous.is_cut_off(bundle_digest(bundle)) else (),
            resource=(previous.resource if previous is not None else None) or resource,
            resources=(previous.resources if previous is not None else ()) or tuple(map(read_ref, bundle.resources)),
            resource_created=previous is not None and previous.resource_created and plan.first is previous.first,
            adopting=plan.intent.adopt,
            policy=plan.intent.policy,
            associated=tuple(dict.fromkeys((*(previous.associated if previous else ()), *plan.intent.associated))),
            made_namespace=creates_namespace or (previous is not None and previous.made_namespace),
            first=plan.first,
            chart=bundle.release is not None,
            revision=previous.revision if previous is not None else 0,
            rollback_to=plan.intent.rollback_to,
        )

    def _is_kept(self, ref: ObjectRef) -> bool:
        body = self._bodies.get(ref.key)
        return body is not None and bool(resource_policy(body))

    # waves

    def _create_definitions(self) -> None:
        """Create the CRDs of a chart's folder crds/, which hooks may need: helm, too, has them before its hooks."""
        steps = [step for step in self.plan.steps if step.part is BundlePart.DEFINITION and step.action in _WRITTEN]
        self._apply_wave(steps)
        brought = defined_kinds(self._bodies[step.ref.key] for step in steps)
        self._await_kinds(brought.keys() & {read_ref(hook.body).kind for hook in self._bundle.hooks})

    def _apply_wave(self, steps: list[Step]) -> None:
        todo = [step for step in steps if step.ref not in self._written]
        if self._wait and self._is_judged(todo):
            workloads = [ref for ref in map(read_ref, self._bundle.objects) if ref.kind.group == "apps"]
            wait_ready(self.run, workloads, self.run.limits.ready)
        self._await_kinds({step.ref.kind for step in todo if step.unchecked})
        run_for_each(todo, self._write, self.run.cancel, self.run.limits.width)
        definitions = [step.ref for step in todo if is_definition(step.ref)]
        if definitions:
            wait_ready(self.run, definitions, self.run.limits.definitions)
            self.run.cluster.forget_kinds()

    def _is_judged(self, steps: Iterable[Step]) -> bool:
        """Return whether these are instances of the bundle's CRDs and its webhooks must be ready first."""
        brought = defined_kinds(body for body in self._bodies.values() if is_definition(read_ref(body)))
        hooked = any(read_ref(body).kind.group == _WEBHOOKS for body in self._bundle.objects)
        return hooked and any(step.ref.kind in brought for step in steps)

    def _await_kinds(self, kinds: Iterable[GroupVersionKind]) -> None:
        """Wait until the server serves these kinds, which happens shortly after a CRD is established."""
        brought = defined_kinds(body for body in self._bodies.values() if is_definition(read_ref(body)))
        deadline = self.run.clock.now() + self.run.limits.definitions
        for gvk in sorted(kind for kind in kinds if kind in brought):
            while self.run.cluster.kind(gvk) is None:
                if self.run.clock.now() > deadline:
                    raise ServerError(f"the cluster does not serve {gvk}, although its CRD is established")
                self.run.clock.sleep(0.1, self.run.cancel)
                if self.run.cancel.is_set():
                    raise CancelledError("stopped")
                self.run.cluster.forget_kinds()

    def _write(self, step: Step) -> None:
        body, is_new = self._bodies[step.ref.key], True
        with self.run.step(step.action.value, step.ref), self._bundle.hidden.concealed():
            if step.part in (BundlePart.DEFINITION, BundlePart.NAMESPACE, BundlePart.RESOURCE):
                is_new = self._create(body)
            else:
                self._apply(step, body)
                if self.plan.intent.adopt:
                    take_over(self.run.cluster, step.ref)
        self._written.append(step.ref)
        outcome = "written" if is_new else "already exists"
        self.run.report(Progress(f"{step.ref} {outcome}", step.ref, len(self._written), self._total))

    def _create(self, body: Object) -> bool:
        """Create an object; return False if it exists already: another client or an earlier attempt created it."""
        try:
            self.run.cluster.create(body, manager=self.run.manager)
        except ConflictError:
            return False
        return True

    def _apply(self, step: Step, body: Object) -> None:
        cluster, manager = self.run.cluster, self.run.manager
        if step.inherits:
            take_over_fields(cluster, step.ref, manager, ADOPTED_MANAGERS if self.plan.intent.adopt else HELM)
        try:
            cluster.apply(body, manager=manager)
        except ConflictError as error:  # another client took fields between plan and write
            conflicts = conflicts_of(error)
            live = cluster.get(step.ref)
            agreed = self.plan.intent.force and set(conflicts) <= set(step.conflicts)
            if not conflicts or live is None:
                raise
            own = is_yielding(conflicts, live, bundle_owner(self._bundle))
            if not (agreed or own or is_of_own_hook(conflicts, live, self._bundle)):
                owners = ", ".join(f"{conflict.path} by {conflict.manager}" for conflict in conflicts)
                raise OutdatedError(
                    f"other field managers own fields of {step.ref} now: {owners}", hint="plan again"
                ) from error
            cluster.apply(body, manager=manager, force=True)

    # readiness

    def _await_ready(self) -> None:
        if self._wait:
            objects, limits = self._bundle.objects, self.run.limits
            gone_when_done = {read_ref(body) for body in objects if is_deleted_when_done(body)}
            wait_ready(self.run, map(read_ref, objects), limits.ready, gone_when_done, self._selector())

    def _create_resource(self, inventory: Inventory) -> Inventory:
        steps = [step for step in self.plan.steps if step.part is BundlePart.RESOURCE]
        for step in steps:
            self._await_kinds([step.ref.kind])
            if step.action is Action.CREATE:
                self._write(step)
        if not steps:
            return inventory
        return self._keeper.note(replace(inventory, resource_created=True))

    def _selector(self) -> str:
        mine = bundle_owner(self._bundle)
        return f"{LABEL_PART_OF}={mine.name}" if mine.kind is OwnerKind.APPLYSET else ""

    def _hooks(self, event: str, inventory: Inventory) -> Inventory:
        return run_hooks(self.run, self._bundle.hooks, event, inventory, self._keeper)

    def _left(self, inventory: Inventory) -> tuple[InventoryItem, ...]:
        """Return the items that are installed now, without deleted ones."""
        kept = {step.ref.key for step in self.plan.of(Action.KEEP)}
        keys = set(self._bodies) | kept
        return tuple(item for item in inventory.items if item.ref.key in keys)

    # messages

    def summary(self) -> str:
        """Return the completed and open changes as a sentence."""
        remaining = [step.ref for step in self.plan.writes if step.ref not in {*self._written, *self._deleted}]
        done = len(self._written) + len(self._deleted)
        if not remaining:
            return f"all {done} changes are applied"
        return f"{done} of {format_count(len(self.plan.writes), 'change')} applied, left: {first_of(remaining, 10)}"

    def cancelled(self, error: CancelledError) -> CancelledError:
        """Return the error for the caller, with what is done and left."""
        progress = apply_progress(self.plan, self.run, self._written, self._deleted)
        hint = "run the command again to continue"
        return CancelledError(f"{error}; {self.summary()}", hint=hint, progress=progress)

    def failure(self, error: KymatuiError) -> KymatuiError:
        """Return the error for the caller; record the failure in the inventory if the cluster allows."""
        if self._inventory is not None:
            self._note_failure(self._bundle.hidden.text(str(error)))
        room = ObjectRef(NAMESPACE, "", self._bundle.namespace)
        if not {*self._written, *self._deleted} - {room} and (not self._written or isinstance(error, OutdatedError)):
            return error  # a created namespace alone is no partial result: another run needs it too
        return PartlyDoneError(f"{error}; {self.summary()}", hint=self._hint(error))

    def _hint(self, error: KymatuiError) -> str:
        if isinstance(error, InvalidError):
            source = "the chart or its values" if self._bundle.release is not None else "the manifest"
            return f"correct {source}: the server refuses this object as it is"
        return f"{error.hint}; run the command again to continue" if error.hint else "run the command again to continue"

    def _note_failure(self, reason: str) -> None:
        try:
            inventory = self._keeper.read()
            if inventory is not None:
                self._keeper.fail(inventory, reason)
        except (ClusterError, CancelledError):
            return  # the caller already gets the original error


def _bodies(plan: Plan) -> Mapping[tuple[str, str, str, str], Object]:
    bundle: Bundle = plan.bundle
    return {
        read_ref(body).key: body for body in (own_namespace(bundle), *bundle.defaults, *bundle.objects, *bundle.crds)
    }


def _is_adopted(step: Step) -> bool:
    """Return whether the inventory gets an object that only the adopted version has, until it is deleted."""
    return step.action is Action.DELETE or is_definition(step.ref)


def apply_progress(
    plan: Plan, run: Run, written: Sequence[ObjectRef], deleted: Sequence[ObjectRef]
) -> tuple[JobProgress, ...]:
    """Return what is done and left of a plan, by object."""
    remaining = [step for step in plan.writes if step.ref not in {*written, *deleted}]
    starting = _starting(plan, run)
    name = plan.bundle.name
    undo = f"`kymatui delete {name}`" if plan.first and written else ""
    not_ready = {subject for subject, _ in starting}
    applied = tuple(subject for subject in map(str, written) if subject not in not_ready)
    not_applied = tuple(str(step.ref) for step in remaining if step.action is not Action.DELETE)
    not_deleted = tuple(str(step.ref) for step in remaining if step.action is Action.DELETE)
    return (
        JobProgress(APPLY_WORDS, applied, starting, not_applied, undo=undo),
        JobProgress(DELETION_WORDS, tuple(map(str, deleted)), remaining=not_deleted),
    )


def _starting(plan: Plan, run: Run) -> tuple[tuple[str, str], ...]:
    """Return the applied objects that are not ready, each with what it waits for."""
    refs = [ref for ref in map(read_ref, plan.bundle.objects) if has_readiness(ref)]
    bodies = read_at_stop(refs, lambda _: run.outside)
    pairs = zip(refs, bodies, strict=True) if bodies is not None else ()
    ready = ((ref, check_readiness(body, run.clock.now())) for ref, body in pairs if body is not None)
    return tuple((str(ref), readiness.message) for ref, readiness in ready if not readiness.ready)
