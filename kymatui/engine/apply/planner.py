"""The planner: from an intent to a plan or the reasons for none, with parallel dry runs and no writes.

The drift check: whether the installed objects match their manifest in every field.
"""

from __future__ import annotations

import contextlib
import json
import re
import threading
from collections import Counter
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from enum import StrEnum
from functools import partial
from typing import Any, Final

from msgspec import Struct
from msgspec.structs import replace

from kymatui.domain.gitops import git_source, git_warnings
from kymatui.domain.inventories import Inventory, InventoryItem, is_deleted, reset, reset_if_deleting
from kymatui.domain.kubernetes.managed_fields import KUBERNETES_COMPONENTS, content_writers
from kymatui.domain.kubernetes.object_meta import read_ref
from kymatui.domain.kubernetes.refs import CONFIG_MAP, SECRET, GroupVersionKind, ObjectRef
from kymatui.domain.kubernetes.terminal_text import first_of
from kymatui.domain.kyma.kymas import Policy
from kymatui.domain.modules.readiness import Readiness, check_readiness
from kymatui.domain.ownership import LABEL_PART_OF, OwnerKind
from kymatui.domain.rights import RequiredPermission, role_hint
from kymatui.engine.bundles.bundle import Bundle, BundleHook, ChartRelease
from kymatui.engine.cluster.concurrency import WIDTH, run_for_each
from kymatui.engine.cluster.kind_order import (
    clean,
    defined_kinds,
    install_waves,
    is_definition,
    require_named,
    unique_objects,
)
from kymatui.engine.cluster.kyma_edit import refuse_kyma_managed
from kymatui.engine.cluster.ports import (
    FIELD_MANAGER,
    NAMESPACE,
    Clock,
    Cluster,
    Object,
    cluster_identity,
    refuse_another_cluster,
)
from kymatui.engine.cluster.request_scope import missing_permissions, note_bodies, note_permission, optional_requests
from kymatui.engine.cluster.retries import DEFAULT_RETRY, RetryPolicy, read_once
from kymatui.engine.deletion.prune_plan import prune_steps
from kymatui.engine.dryrun.preview import (
    ApplyPreview,
    PlannedContext,
    dry_run_hooks,
    existed_before,
    observe,
    preview_apply,
)
from kymatui.engine.inventory.inventory_store import ApplySetStore, refuse_other_kind
from kymatui.engine.inventory.ownership_marks import bundle_owner, with_ownership_marks
from kymatui.engine.inventory.release_store import ReleaseStore, interruption_notes, refuse_pending, require_storable
from kymatui.engine.jobs.lease import LEASE
from kymatui.engine.jobs.run import Run
from kymatui.engine.jobs.wait import has_readiness, is_deleted_when_done
from kymatui.engine.plans.plan import (
    Action,
    BundlePart,
    FieldConflict,
    FieldDiff,
    Intent,
    ObservedVersion,
    Plan,
    Step,
    bundle_digest,
    diff_objects,
    git_of,
    list_grants,
)
from kymatui.engine.sources.chart_lookup import ChartLocation, chart_location
from kymatui.errors import ConfigurationError, ForbiddenError, RefusedError

ANNOTATION_MADE_FOR: Final = "kymatui.io/made-for"


class _Entry(Struct, frozen=True):
    """One object of the bundle with its place in the plan."""

    body: Object
    part: BundlePart
    wave: int

    @property
    def ref(self) -> ObjectRef:
        return read_ref(self.body)


def plan(
    intent: Intent,
    cluster: Cluster,
    clock: Clock,
    *,
    manager: str = FIELD_MANAGER,
    cancel: threading.Event | None = None,
    width: int = WIDTH,
    retry: RetryPolicy = DEFAULT_RETRY,
    read_previous: Callable[[], Inventory | None] | None = None,
) -> Plan:
    """Return the plan for an intent; `read_previous` returns its inventory where the caller has read it.

    What this cluster rejects is in the plan as blocked steps, with the server's reason. Raises ConfigurationError
    for a bundle that no cluster accepts, and ClusterError.
    """
    stop = cancel or threading.Event()
    with intent.bundle.hidden.concealed():
        patient = read_once(cluster, clock, stop, retry)
        return Planner(intent, patient, clock, manager, stop, width).plan(read_previous, continues=intent.force)


def read_previous_inventory(cluster: Cluster, clock: Clock, bundle: Bundle) -> Inventory | None:
    """Return the inventory of a bundle; listing Secrets is required only for charts.

    Raises ForbiddenError that names the source and its first object.
    """
    try:
        inventory = ApplySetStore(cluster, bundle.name, bundle.namespace).read()
        if inventory is not None:
            return inventory
        releases = ReleaseStore(cluster, bundle.name, bundle.namespace, clock.now)
        if bundle.release is not None:
            return releases.read()
        with optional_requests(), contextlib.suppress(ForbiddenError):
            return releases.read()
        return None
    except ForbiddenError as error:
        first = [str(read_ref(body)) for body in (*bundle.crds, *bundle.objects)][:1]
        what = ", ".join((bundle.title, *first))
        raise ForbiddenError(
            f"{what}: {error}", hint=error.hint, status=error.status, reason=error.reason, body=error.body
        ) from error


def own_namespace(bundle: Bundle) -> Object:
    """Return the bundle's namespace; its annotation lets an interrupted run recognise it."""
    metadata = {"name": bundle.namespace, "annotations": {ANNOTATION_MADE_FOR: bundle.name}}
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": metadata}


class Planner:
    """The planner of one intent."""

    def __init__(
        self, intent: Intent, cluster: Cluster, clock: Clock, manager: str, cancel: threading.Event, width: int
    ) -> None:
        self._cluster, self._clock = cluster, clock
        self._manager = manager
        self._cancel = cancel
        self._width = width
        self._bundle = bundle = prepare(intent.bundle, self._cluster)
        self._intent = replace(intent, bundle=bundle)
        self._scopes = KindScopes(self._cluster, bundle)
        self._mine = bundle_owner(bundle)
        self._observed: dict[ObjectRef, ObservedVersion] = {}
        self.previous: Inventory | None = None
        self._missing_namespaces: frozenset[str] = frozenset()
        self._there: dict[str, bool] = {}
        self._marks: dict[str, str] = {}
        self._seen: dict[tuple[str, str, str, str], Object] = {}

    def plan(self, read_previous: Callable[[], Inventory | None] | None = None, *, continues: bool = True) -> Plan:
        module = self._intent.module
        note = refuse_kyma_managed(self._cluster, module) if module else ""
        read = read_previous or partial(read_previous_inventory, self._cluster, self._clock, self._bundle)
        known = read()
        if not continues:
            refuse_pending(known)
        self.previous = previous = reset_if_deleting(known)
        refuse_other_kind(previous, chart=self._bundle.release is not None)
        entries = self._entries()
        namespaces = self._namespaces(entries)
        self._read_ahead(entries)
        steps = run_for_each(entries, lambda entry: self._step(entry, namespaces), self._cancel, self._width)
        if previous is not None and self._is_deleted(previous):
            self.previous = previous = reset(previous)
            steps = run_for_each(entries, lambda entry: self._step(entry, namespaces), self._cancel, self._width)
        steps += [*self._unmade_namespace(), *self._resource_steps(len(entries) + 1, namespaces)]
        items = previous.items if previous is not None else tuple(map(InventoryItem, self._intent.outdated))
        pruned = prune_steps(self._intent, items, previous, self._bundle, self._cluster, self._cancel, self._width)
        self._observed |= pruned.observed
        steps += pruned.steps
        planned = self._plan(tuple(steps), note)
        return _with_replaced(replace(planned, hooks=self._hooks(planned, namespaces))).concealed()

    def _plan(self, steps: tuple[Step, ...], note: str) -> Plan:
        previous, missing = self.previous, tuple(self._missing(steps))
        return Plan(
            cluster=self._cluster.name,
            intent=self._intent,
            steps=steps,
            first=previous is None or previous.first,
            made_at=self._clock.now(),
            grants=list_grants((*self._bundle.objects, *self._bundle.crds)),
            missing=missing,
            notes=(
                *self._bundle.notes,
                *interruption_notes(previous),
                *((note,) if note else ()),
                *git_warnings(git_of(steps, release=self._bundle.release is not None)),
            ),
            observed=tuple(self._observed.items()),
            inventory=previous.resource_version if previous is not None else "",
            unfinished=self._is_unfinished(previous),
        )

    def _hooks(self, planned: Plan, coming: frozenset[str]) -> tuple[Step, ...]:
        """Return the hooks to run, none if the plan changes nothing."""
        if planned.changes_nothing or not self._bundle.hooks:
            return ()
        previous = self.previous
        same = previous is not None and previous.is_cut_off(bundle_digest(self._bundle))
        done = previous.done if previous is not None and same else ()
        stage = PlannedContext(self._scopes.brought, coming, done, same)
        return dry_run_hooks(self._bundle, planned.verb, self._cluster, stage, self._cancel, self._width)

    def _is_unfinished(self, previous: Inventory | None) -> bool:
        """Return whether an interrupted run, an adoption, or a chart's new values or source need work."""
        if previous is None:
            return False
        taking = self._intent.adopt and any(item.adopted for item in previous.items)
        return (
            taking
            or not previous.finished
            or previous.digest != bundle_digest(self._bundle)
            or self._has_moved(previous)
        )

    def _is_deleted(self, previous: Inventory) -> bool:
        """Return whether another tool has deleted a complete installation, so that the next one is the first."""
        if not previous.finished or self._bundle.release is not None:
            return False

        def exists(ref: ObjectRef) -> bool:
            if ref in self._observed:
                return bool(self._observed[ref].uid)
            return self._cluster.kind(ref.kind) is not None and self._cluster.get(ref) is not None

        refs = (item.ref for item in previous.items if not item.adopted)
        return is_deleted(sorted(refs, key=lambda ref: ref not in self._observed), exists)

    def _has_moved(self, previous: Inventory) -> bool:
        location = chart_location(self._bundle.origin) if self._bundle.release is not None else ""
        return isinstance(location, ChartLocation) and location != chart_location(previous.origin)

    # objects

    def _entries(self) -> list[_Entry]:
        bundle = self._bundle
        definitions = {read_ref(body).key for body in bundle.crds}
        own = self._own_namespace()
        owned = {id(body) for body in own}
        entries = []
        for number, wave in enumerate(install_waves((*bundle.crds, *own, *bundle.objects))):
            for body in wave:
                key = read_ref(body).key
                part = (
                    BundlePart.DEFINITION
                    if key in definitions
                    else BundlePart.NAMESPACE
                    if id(body) in owned
                    else BundlePart.OBJECT
                )
                entries.append(_Entry(body, part, number))
        return entries

    def _own_namespace(self) -> tuple[Object, ...]:
        """Return the bundle's namespace if it is missing and not part of the bundle."""
        name = self._bundle.namespace
        brought = any(read_ref(body) == ObjectRef(NAMESPACE, "", name) for body in self._bundle.objects)
        if brought or not self._makes_namespace:
            return ()
        ours = self.previous is not None and self.previous.made_namespace
        if not ours and self._exists(name) and self._marks.get(name) != self._bundle.name:
            return ()
        return (own_namespace(self._bundle),)

    @property
    def _makes_namespace(self) -> bool:
        return self._intent.create_namespace and self._bundle.create_namespace

    def _unmade_namespace(self) -> list[Step]:
        """Return a blocked step if the namespace, which stores the inventory, may not be created."""
        ref = ObjectRef(NAMESPACE, "", self._bundle.namespace)
        brought = any(read_ref(body) == ref for body in self._bundle.objects)
        if brought or self._makes_namespace or self._exists(ref.name):
            return []
        reason = "it does not exist, and CreateNamespace is false"
        return [Step(Action.BLOCKED, ref, 0, BundlePart.NAMESPACE, reason=reason)]

    def _namespaces(self, entries: Sequence[_Entry]) -> frozenset[str]:
        """Return the missing namespaces that the plan creates; record those that it does not create."""
        brought = {entry.ref.name for entry in entries if entry.ref.kind == NAMESPACE}
        named = sorted(brought | {entry.ref.namespace for entry in entries} - {""})
        presence = run_for_each(named, self._exists, self._cancel, self._width)
        missing = {name for name, is_present in zip(named, presence, strict=True) if not is_present}
        self._missing_namespaces = frozenset(missing - brought)
        return frozenset(missing & brought)

    def _exists(self, namespace: str) -> bool:
        """Return whether a namespace exists; assume so if the user may not read it."""
        if namespace not in self._there:
            try:
                with optional_requests():
                    live = self._cluster.get(ObjectRef(NAMESPACE, "", namespace))
            except ForbiddenError:
                live = {"metadata": {}}
            self._there[namespace] = live is not None
            annotations = (live["metadata"] or {}).get("annotations") if live is not None else None
            self._marks[namespace] = str((annotations or {}).get(ANNOTATION_MADE_FOR) or "")
        return self._there[namespace]

    def _read_ahead(self, entries: Sequence[_Entry]) -> None:
        """Read the objects of a set with one list for each kind with enough objects."""
        if self.previous is None or self._mine.kind is not OwnerKind.APPLYSET:
            return
        counts = Counter(entry.ref.kind for entry in entries if entry.part is BundlePart.OBJECT)
        kinds = [kind for kind, count in counts.items() if count >= _WORTH_A_LIST]

        def read(kind: GroupVersionKind) -> list[Object]:
            try:
                with optional_requests():
                    marks = f"{LABEL_PART_OF}={self._mine.name}"
                    return self._cluster.list(kind, labels=marks, with_managed_fields=True)
            except ForbiddenError:
                return []  # they are then read one by one

        for bodies in run_for_each(kinds, read, self._cancel, self._width):
            self._seen |= {read_ref(body).key: body for body in bodies}

    def _step(self, entry: _Entry, coming: frozenset[str]) -> Step:
        ref = entry.ref
        if ref.namespace in self._missing_namespaces:
            self._observed[ref] = ObservedVersion()
            reason = f"namespace {ref.namespace} does not exist"
            return Step(Action.BLOCKED, ref, entry.wave, entry.part, reason=reason)
        if self._cluster.kind(ref.kind) is None:
            self._observed[ref] = ObservedVersion()
            if ref.kind in self._scopes.brought:
                return self._unchecked(entry, "its CRD is part of the plan")
            reason = f"the cluster does not serve {ref.kind}, and the plan has no CRD for it: install the CRD first"
            return Step(Action.BLOCKED, ref, entry.wave, entry.part, reason=reason)
        if ref.namespace in coming:
            self._observed[ref] = ObservedVersion()
            return self._unchecked(entry, f"namespace {ref.namespace} is part of the plan")
        preview = self._dry_run(entry)
        self._observed[ref] = preview.observed
        git = git_source(preview.live) if preview.live is not None else None
        git = (
            None if git == git_source(entry.body) else git
        )  # the bundle's own marks, which say nothing of this cluster
        if git and self._intent.adopt:
            reason = f"{git} applies it and would revert the adoption: release it there first"
            return Step(Action.BLOCKED, ref, entry.wave, entry.part, reason=reason, git=git)
        return Step(
            preview.action,
            ref,
            entry.wave,
            entry.part,
            preview.changes,
            preview.conflicts,
            preview.reason or self._owner_before(preview),
            unchecked=preview.unchecked,
            adopted=self._adopted(ref, preview),
            inherits=preview.inherits,
            git=git,
        )

    def _dry_run(self, entry: _Entry) -> ApplyPreview:
        if entry.part is BundlePart.NAMESPACE and not self._exists(entry.ref.name):
            return ApplyPreview(Action.CREATE, None, changes=diff_objects(None, entry.body))
        if entry.part in (BundlePart.DEFINITION, BundlePart.NAMESPACE):
            live = self._cluster.get(entry.ref)
            if live is not None and not live["metadata"].get("deletionTimestamp"):
                return ApplyPreview(Action.SAME, live, reason="already exists; never changed")
        if is_deleted_when_done(entry.body) and self._has_run() and self._cluster.get(entry.ref) is None:
            return ApplyPreview(Action.SAME, None, reason="has run, and was deleted afterwards")
        known, new, adopt = self._seen.get(entry.ref.key), self.previous is None, self._intent.adopt
        return preview_apply(
            self._cluster, entry.body, self._mine, known=known, new=new, adopt=adopt, manager=self._manager
        )

    def _owner_before(self, preview: ApplyPreview) -> str:
        """Return the previous owner of an adopted object, "" if the owner does not change."""
        live = preview.live or {}
        is_foreign = preview.inherits or existed_before(live, self._mine, self._manager)
        if not self._intent.adopt or not live or preview.action is Action.SAME or not is_foreign:
            return ""
        others = sorted(content_writers(live) - {self._manager})
        return f"owner: {', '.join(others) or 'not recorded'} → kymatui"

    def _has_run(self) -> bool:
        """Return whether this bundle was completely installed."""
        return self.previous is not None and not self.previous.first and not self._is_unfinished(self.previous)

    def _adopted(self, ref: ObjectRef, preview: ApplyPreview) -> bool:
        if self._intent.adopt:
            return False
        known = self.previous.item(ref) if self.previous is not None else None
        if known is not None:
            return known.adopted
        return preview.live is not None and existed_before(preview.live, self._mine, self._manager)

    def _unchecked(self, entry: _Entry, reason: str) -> Step:
        changes = diff_objects(None, entry.body)
        return Step(Action.CREATE, entry.ref, entry.wave, entry.part, changes, reason=reason, unchecked=True)

    def _resource_steps(self, wave: int, coming: frozenset[str]) -> list[Step]:
        """Return the steps for the default CRs: only a first installation creates them, adoption never.

        `coming` are the namespaces that the plan creates.
        """
        previous = self.previous
        later = previous is not None and (previous.resource_created or not previous.first)
        if later or self._intent.policy is Policy.IGNORE:
            return []
        steps = [self._resource_step(body, wave, coming) for body in self._bundle.defaults]
        return [step for step in steps if step.action is Action.SAME] if self._intent.adopt else steps

    def _resource_step(self, resource: Object, wave: int, coming: frozenset[str]) -> Step:
        ref = read_ref(resource)
        live = self._cluster.get(ref) if self._cluster.kind(ref.kind) is not None else None
        self._observed[ref] = observe(live)
        if live is not None:
            return Step(Action.SAME, ref, wave, BundlePart.RESOURCE, reason="already exists; never changed")
        if ref.namespace and ref.namespace not in coming and not self._exists(ref.namespace):
            # it would be the last step, after everything else is installed
            reason = f"namespace {ref.namespace} of the default CR does not exist; create it, or use policy Ignore"
            return Step(Action.BLOCKED, ref, wave, BundlePart.RESOURCE, reason=reason)
        reason = "the default CR, created once"
        return Step(Action.CREATE, ref, wave, BundlePart.RESOURCE, reason=reason, unchecked=True)

    # permissions

    def _missing(self, steps: Sequence[Step]) -> Iterator[RequiredPermission]:
        """Yield the permissions that the plan needs and the user lacks."""
        if any(step.action in _WRITING for step in steps):
            note_bodies((*self._bundle.objects, *self._bundle.crds))
            needed = self._required_permissions(steps)
            yield from missing_permissions(self._cluster, needed, self._cancel, self._width)
            self._note_run(steps)

    def _note_run(self, steps: Sequence[Step]) -> None:
        """Note what the run needs beside the writes of the plan: it reads what it has written, and waits for it."""
        note_permission("delete", LEASE, self._bundle.namespace)
        for step in steps:
            if step.action in _WRITING:
                is_secret = (step.ref.kind.group, step.ref.kind.kind) == ("", "Secret")
                note_permission("get", step.ref.kind, step.ref.namespace, step.ref.name if is_secret else "")

    def _required_permissions(self, steps: Sequence[Step]) -> Iterator[RequiredPermission]:
        namespace = self._bundle.namespace
        kept = SECRET if self._bundle.release is not None else CONFIG_MAP
        yield from (RequiredPermission(verb, kept, namespace) for verb in ("create", "patch"))
        yield from (RequiredPermission(verb, LEASE, namespace) for verb in ("get", "create", "update"))
        for hook in self._bundle.hooks:
            ref = read_ref(hook.body)
            yield from (RequiredPermission(verb, ref.kind, ref.namespace) for verb in ("create", "delete"))
        for step in steps:
            for verb in _VERBS.get(step.action, ()):
                if verb != "patch" or step.unchecked or step.action is Action.BLOCKED:
                    yield RequiredPermission(verb, step.ref.kind, step.ref.namespace)


_WORTH_A_LIST = 3  # from this number of objects, one list is cheaper than single reads
_WRITING = (Action.CREATE, Action.CHANGE, Action.DELETE, Action.CONFLICT, Action.BLOCKED)
_VERBS = {
    Action.CREATE: ("patch", "create"),
    Action.CHANGE: ("patch",),
    Action.CONFLICT: ("patch",),
    Action.BLOCKED: ("patch",),
    Action.DELETE: ("delete",),
}


# The preparation of a bundle for a cluster: names, namespaces by scope, marks, unique objects.


_LONGEST_NAME: Final = 200  # leaves room for prefixes and suffixes within Kubernetes' 253 characters
_NAME: Final = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*")
"""The name becomes part of the names of a Lease and an inventory."""


def prepare(bundle: Bundle, cluster: Cluster) -> Bundle:
    """Return the bundle as it will be sent. Raises ConfigurationError that names an invalid object."""
    bundle = replace(bundle, namespace=bundle.namespace or "default")
    where = bundle.title
    _check_name(bundle.name)
    for body in (*bundle.crds, *bundle.objects, *(hook.body for hook in bundle.hooks)):
        require_named(body, where)
    scopes = KindScopes(cluster, bundle)
    objects = [with_ownership_marks(scopes.clean(body), bundle) for body in bundle.objects]
    crds = [scopes.clean(body) for body in bundle.crds]
    known = {read_ref(body) for body in crds}
    for body in bundle.defaults:
        require_named(body, where)
    resource = scopes.clean(bundle.resource) if bundle.resource is not None else None
    prepared = replace(
        bundle,
        objects=tuple(body for body in unique_objects(objects) if read_ref(body) not in known),
        crds=tuple(unique_objects(crds)),
        hooks=tuple(BundleHook(hook.hook, scopes.clean(hook.body)) for hook in bundle.hooks),
        resource=resource,
        release=_plain(bundle.release) if bundle.release is not None else None,
        resources=tuple(scopes.clean(body) for body in bundle.resources),
    )
    require_storable(prepared)
    return prepared


def _check_name(name: str) -> None:
    if len(name) > _LONGEST_NAME or not _NAME.fullmatch(name):
        raise ConfigurationError(
            f"{name!r} is not a valid name for an installation",
            hint=f"use lowercase letters, digits, '-' and '.', at most {_LONGEST_NAME} characters",
        )


def _plain(release: ChartRelease) -> ChartRelease:
    """Return the release with JSON's number types, as chart values have Go's."""
    chart, config = json.loads(json.dumps([dict(release.chart), dict(release.config)]))
    return replace(release, chart=chart, config=config)


class KindScopes:
    """The scopes of kinds: as the cluster serves them, else by the CRDs of the bundle."""

    def __init__(self, cluster: Cluster, bundle: Bundle) -> None:
        self._cluster = cluster
        self._namespace = bundle.namespace
        definitions = [body for body in (*bundle.crds, *bundle.objects) if is_definition(read_ref(body))]
        self.brought: Mapping[GroupVersionKind, bool] = defined_kinds(definitions)
        self._known: dict[GroupVersionKind, bool | None] = {}

    def namespaced(self, gvk: GroupVersionKind) -> bool | None:
        if gvk not in self._known:
            served = self._cluster.kind(gvk) if gvk not in self.brought else None
            self._known[gvk] = served.namespaced if served is not None else self.brought.get(gvk)
        return self._known[gvk]

    def clean(self, body: Object) -> Object:
        return clean(body, self.namespaced(read_ref(body).kind), self._namespace)


def _with_replaced(plan: Plan) -> Plan:
    """Return the plan that also writes unchanged objects which a hook of their name replaces before."""
    runs = (Action.CREATE, Action.CHANGE)
    names = {hook.ref.key for hook in plan.hooks if hook.event.startswith("pre-") and hook.action in runs}
    reason = "a hook of the same name replaces it first"
    steps = (
        replace(step, action=Action.CHANGE, reason=reason)
        if step.action is Action.SAME and step.ref.key in names
        else step
        for step in plan.steps
    )
    return replace(plan, steps=tuple(steps)) if names else plan


def refuse_blocked_plan(plan: Plan, run: Run) -> None:
    """Raise RefusedError if the plan is for another cluster, has blockers, or needs missing permissions."""
    refuse_foreign_plan(plan, run)
    refusal = plan_refusal(plan)
    if refusal is not None:
        raise refusal


def plan_refusal(plan: Plan) -> RefusedError | None:
    """Return why the plan cannot be applied: blockers or missing permissions; None if it can."""
    refused = f"{plan.bundle.title} cannot be installed"
    blockers = [step for step in plan.blockers if not _is_forbidden(step, plan.missing)]
    if blockers:
        owners = dict.fromkeys(conflict.manager for step in blockers for conflict in step.conflicts)
        force = f"use --force to become the owner of the fields of {', '.join(owners)}" if owners else ""
        return RefusedError(f"{refused}: {'; '.join(group_reasons(blockers))}", hint=force, unchanged=True)
    return missing_rights_error(refused, plan.missing, *plan.command) if plan.missing else None


def _is_forbidden(step: Step, missing: Container[RequiredPermission]) -> bool:
    """Return whether a step is blocked only by a right that the user lacks; webhooks refuse with 403 too."""
    needed = RequiredPermission("patch", step.ref.kind, step.ref.namespace)
    return step.action is Action.BLOCKED and needed in missing


def missing_rights_error(refused: str, missing: Iterable[RequiredPermission], *words: str) -> RefusedError:
    """Return the refusal of an action that needs permissions that the user lacks; `words` are its command."""
    rights = ", ".join(map(str, missing))
    return RefusedError(f"{refused}: you may not {rights}", hint=role_hint(*words), unchanged=True)


def refuse_foreign_plan(plan: Plan, run: Run) -> None:
    """Raise RefusedError if the plan was made for another cluster, also for one of the same name."""
    refuse_another_cluster(plan.cluster, run.cluster)
    identity = cluster_identity(run.cluster) if plan.identity else ""
    if identity and identity != plan.identity:
        message = f"the plan is for another cluster that is also called {plan.cluster}"
        raise RefusedError(message, hint="plan again", unchanged=True)


def group_reasons(steps: Iterable[Step]) -> Iterator[str]:
    """Yield each reason once, with the objects that it concerns."""
    groups: dict[str, list[str]] = {}
    for step in steps:
        groups.setdefault(_because(step), []).append(str(step.ref))
    for reason, names in groups.items():
        yield f"{first_of(names, 5)}: {reason}"


def _because(step: Step) -> str:
    if step.action is not Action.CONFLICT:
        return step.reason
    return ", ".join(f"{conflict.path} is owned by {conflict.manager}" for conflict in step.conflicts)


_KEYED: Final = re.compile(r'\[(?:[A-Za-z]+="([^"]*)"(?:,[^\]]*)?)\]')


class ObjectDriftKind(StrEnum):
    """The kinds of drift of an object."""

    CHANGED = "changed"
    MISSING = "missing"
    EXTRA = "extra"  # of an earlier version, or kept; not in the manifest
    BLOCKED = "blocked"  # unknown: the server rejects the dry run


class DriftedField(Struct, frozen=True):
    """A drifted field: expected value, actual value, and the field manager that wrote it ("" if unknown).

    `since` is the manager's last write to the object, as the server prints it ("2026-11-21T12:00:00Z").
    """

    path: str
    expected: object
    actual: object
    manager: str = ""
    since: str = ""


class ObjectDrift(Struct, frozen=True):
    """The drift of one object."""

    finding: ObjectDriftKind
    ref: ObjectRef
    fields: tuple[DriftedField, ...] = ()
    reason: str = ""


class DriftReport(Struct, frozen=True):
    """The result of a check; applying `plan` repairs the drift (with force if others own the fields).

    `well` is the result of the caller's check function; with `by_helm`, helm installed the same chart with the same
    values, so that only its record is another than kymatui's.
    """

    plan: Plan
    drifts: tuple[ObjectDrift, ...]
    readiness: tuple[Readiness, ...] = ()
    well: bool = True
    by_helm: bool = False

    @property
    def installed(self) -> bool:
        """Return whether the installation was ever completed."""
        return not self.plan.first

    @property
    def consistent(self) -> bool:
        """Return whether every object matches the manifest and no run was interrupted."""
        return self.installed and not self.drifts and (self.by_helm or not self.plan.unfinished)

    @property
    def ready(self) -> bool:
        return self.consistent and self.well and all(entry.ready for entry in self.readiness)


def check(
    intent: Intent,
    cluster: Cluster,
    clock: Clock,
    *,
    manager: str = FIELD_MANAGER,
    cancel: threading.Event | None = None,
    width: int = WIDTH,
    ready: bool = True,
    retry: RetryPolicy = DEFAULT_RETRY,
) -> DriftReport:
    """Compare with the cluster, without writes; with `ready`, also check the readiness."""
    stop = cancel or threading.Event()
    patient = read_once(cluster, clock, stop, retry)
    planner = Planner(as_installed(intent, patient, clock), patient, clock, manager, stop, width)
    plan, known = planner.plan(), planner.previous
    drifted = [step for step in plan.steps if step.action is not Action.SAME]
    touched = [step for step in drifted if step.action in (Action.CHANGE, Action.CONFLICT) and step.changes]
    live = dict(
        zip(
            (step.ref for step in touched),
            run_for_each(touched, lambda s: patient.get(s.ref), stop, width),
            strict=True,
        )
    )
    drifts = tuple(_drift(step, live.get(step.ref), manager) for step in drifted if _is_drift(step))
    readiness = _readiness(plan, patient, clock, stop, width) if ready else ()
    bundle = intent.bundle
    by_helm = known is not None and known.chart and not known.digest and known.finished
    own = ReleaseStore(patient, bundle.name, bundle.namespace, clock.now).as_installed(bundle) if by_helm else bundle
    return DriftReport(plan, drifts, readiness, by_helm=own is not bundle)


def as_installed(intent: Intent, cluster: Cluster, clock: Clock) -> Intent:
    """Return the intent with the release's stored rendering if chart and values are the same.

    A chart may generate passwords and certificates; their difference in a new rendering is no drift.
    """
    bundle = intent.bundle
    if bundle.release is None:
        return intent
    kept = ReleaseStore(cluster, bundle.name, bundle.namespace, clock.now).as_installed(bundle)
    same = kept.release is None or kept.release.manifest == bundle.release.manifest
    return intent if same else replace(intent, bundle=kept)


def _is_drift(step: Step) -> bool:
    return step.action is not Action.CHANGE or bool(step.changes)


def _drift(step: Step, live: Object | None, manager: str) -> ObjectDrift:
    if step.action is Action.CREATE:
        return ObjectDrift(ObjectDriftKind.MISSING, step.ref, reason=step.reason)
    if step.action in (Action.DELETE, Action.KEEP):
        return ObjectDrift(ObjectDriftKind.EXTRA, step.ref, reason=step.reason)
    if step.action is Action.BLOCKED:
        return ObjectDrift(ObjectDriftKind.BLOCKED, step.ref, reason=step.reason)
    fields = tuple(_field(change, step.conflicts, live or {}, manager) for change in step.changes)
    return ObjectDrift(ObjectDriftKind.CHANGED, step.ref, fields, step.reason)


def _field(
    change: FieldDiff, conflicts: tuple[FieldConflict, ...], live: Mapping[str, Any], manager: str
) -> DriftedField:
    owners = [conflict.manager for conflict in conflicts if _same_place(change.path, plain_path(conflict.path))]
    entries = _others(live, manager)
    if owners:
        since = max((time for time, name in entries if name == owners[0]), default="")
        return DriftedField(change.path, change.after, change.before, owners[0], since)
    clients = [entry for entry in entries if entry[1] not in KUBERNETES_COMPONENTS]
    since, who = max(clients, default=("", ""))  # a removed field has no owner, so name the latest writer
    return DriftedField(change.path, change.after, change.before, who, since)


def plain_path(path: str) -> str:
    """Return a path of a conflict in the syntax of differences: list items by name."""
    return _KEYED.sub(lambda match: f"[{match[1]}]", path)


def _same_place(path: str, other: str) -> bool:
    return path == other or path.startswith((f"{other}.", f"{other}[")) or other.startswith((f"{path}.", f"{path}["))


def _others(live: Mapping[str, Any], manager: str) -> list[tuple[str, str]]:
    """Return time and name of the other field managers of an object."""
    return [
        (str(entry.get("time") or ""), str(entry.get("manager") or ""))
        for entry in (live.get("metadata") or {}).get("managedFields") or ()
        if entry.get("manager") != manager and not entry.get("subresource")
    ]


def _readiness(
    plan: Plan, cluster: Cluster, clock: Clock, cancel: threading.Event, width: int
) -> tuple[Readiness, ...]:
    refs = [read_ref(body) for body in plan.bundle.objects]
    checked = [ref for ref in refs if has_readiness(ref) and cluster.kind(ref.kind) is not None]
    bodies = run_for_each(checked, cluster.get, cancel, width)
    return tuple(check_readiness(body, clock.now()) for body in bodies if body is not None)


def not_ready(report: DriftReport) -> Iterator[str]:
    """Yield what is not ready."""
    return (f"{readiness.ref}: {readiness.message}" for readiness in report.readiness if not readiness.ready)
