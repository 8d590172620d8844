"""The reconciliation of a Manifest that people create: each of its installs with kymatui's own engine."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from typing import ClassVar, Final

from msgspec import Struct
from msgspec.structs import replace

from kymatui.domain.inventories import ANNOTATION_INSTALLS, InstallRecord, Inventory, read_record
from kymatui.domain.kubernetes.json_reader import JsonReader
from kymatui.domain.kubernetes.refs import ObjectRef
from kymatui.domain.kyma.kymas import KYMA_NAMESPACE, Policy
from kymatui.domain.kyma.manifests import FINALIZER, OLD_FINALIZER, Manifest, default_resource_body
from kymatui.domain.kyma.states import State, worst_state
from kymatui.domain.modules.readiness import check_readiness
from kymatui.domain.ownership import ANNOTATION_MANIFEST, LABEL_PART_OF
from kymatui.engine.apply.applier import apply
from kymatui.engine.apply.planner import plan
from kymatui.engine.bundles.bundle import Bundle
from kymatui.engine.cluster.ports import OPERATOR_FIELD_MANAGER, Cluster, Object
from kymatui.engine.deletion.managed_deletion import DeletionConsent
from kymatui.engine.deletion.module_deletion import uninstall_module
from kymatui.engine.deletion.uninstall_plan import DeletionScope, plan_uninstall
from kymatui.engine.inventory.inventory_store import ApplySetStore
from kymatui.engine.inventory.release_store import ReleaseStore, read_inventory
from kymatui.engine.jobs.run import Run
from kymatui.engine.jobs.wait import has_readiness
from kymatui.engine.plans.plan import Action, FieldConflict, Intent, Plan
from kymatui.engine.plans.transforms import apply_transforms, with_annotations, with_labels
from kymatui.engine.sources.manifest_installs import InstallFailure, InstallReader
from kymatui.errors import CancelledError, KymatuiError, NotFoundError
from kymatui.operator.manifests.default_resource import (
    describe_evaluation,
    evaluate_state,
    has_rules,
    resource_ref,
    stateful_pods,
)
from kymatui.operator.manifests.manifest_marks import COMPONENT, PART_OF, WORKLOADS
from kymatui.operator.manifests.manifest_pass import ManifestPass
from kymatui.operator.manifests.manifest_status import (
    INSTALLATION,
    MODULE_CR,
    OF_INSTALL,
    RESOURCES,
    ConditionReport,
    is_v1alpha1,
)
from kymatui.operator.manifests.standalone_context import StandaloneContext, authenticated

SOON: Final = 5.0
"""Seconds until the next reconciliation of a pending Manifest without a watch."""
WATCHED: Final = 30.0
"""The same with a watch; still needed, because a slow start becomes a failure by time alone."""
_NEXT: Final = 0.2
LATER: Final = 60.0
"""Seconds until the next try after a failure that a person has to repair."""
_LONGEST_LABEL: Final = 63  # Kubernetes' limit for a label's value


# the record of installs


def record_text(entries: Iterable[InstallRecord]) -> str:
    return json.dumps([list(entry) for entry in entries], separators=(",", ":"))


def unique_name(manifest: Manifest, bundle: Bundle) -> str:
    """Return the name of an install in its cluster.

    A chart keeps its release name. Other installs are all called "raw-manifest" in their Manifests and so get the
    Manifest's name.
    """
    if bundle.release is not None:
        return bundle.name
    return manifest.meta.name if len(manifest.installs) == 1 else f"{manifest.meta.name}-{bundle.name}"


class RenderedInstall(Struct, frozen=True):
    """An install with the Manifest's name for it; the bundle has the name in the cluster."""

    install: str
    bundle: Bundle | InstallFailure

    @property
    def record(self) -> InstallRecord | None:
        bundle = self.bundle
        return InstallRecord(self.install, bundle.name, bundle.namespace) if isinstance(bundle, Bundle) else None


class InstallResult(Struct, frozen=True):
    """The result of one install: its state and the reason. `waits` are the objects whose changes may change it."""

    install: str
    state: State
    message: str
    inventory: Inventory | None = None
    waits: tuple[ObjectRef, ...] = ()


class RemainingObjects(Struct, frozen=True):
    """The remaining objects: a sentence ("" if none), and the objects to watch."""

    message: str = ""
    waits: tuple[ObjectRef, ...] = ()


class StandalonePass(ManifestPass[StandaloneContext]):
    """One reconciliation; its failures are a state of the Manifest, which a person has to repair."""

    retry: ClassVar[float | None] = LATER
    failed_deletion: ClassVar[State] = State.DELETING

    @property
    def soon(self) -> float:
        return _NEXT

    def connect(self) -> Cluster | None:
        return self.context.runtimes.of(self.manifest, self.cancel)

    def new_marks(self) -> tuple[Sequence[str], str]:
        return (OLD_FINALIZER if is_v1alpha1(self.manifest) else FINALIZER,), ""

    @property
    def may_be_orphaned(self) -> bool:
        return super().may_be_orphaned and not self.context.namespace

    # installation

    def install(self, cluster: Cluster) -> float | None:
        """Install each install, whatever the errors of others; delete those that are gone."""
        installs = self._read_installs(cluster)
        known = read_record(self.manifest)
        current = [record for install in installs if (record := install.record) is not None]
        self._record((*known, *current))
        results = [self._install(cluster, install) for install in installs]
        broken = {install.install for install in installs if isinstance(install.bundle, InstallFailure)}
        gone = [entry for entry in known if entry not in current and entry.install not in broken]
        remaining = self._uninstall(cluster, gone)
        waits = self._set_result(cluster, results)
        if remaining.message:
            self.status.set_state(State.WARNING, f"{self.status.operation}; removing: {remaining.message}")
            waits = (*waits, *remaining.waits)
        else:
            self._record(entry for entry in (*known, *current) if entry not in gone)
        watched = self.context.watches.watch(self.manifest.ref, cluster, waits)
        state = self.status.state
        self.write_status()
        if state == State.READY:
            return None
        return LATER if state != State.PROCESSING else WATCHED if watched else SOON

    def _record(self, entries: Iterable[InstallRecord]) -> None:
        """Write the record; an entry stays until its objects are deleted."""
        text = record_text(dict.fromkeys(entries))
        if text != record_text(read_record(self.manifest)):
            self.patch_metadata(annotations={ANNOTATION_INSTALLS: text})

    def _read_installs(self, cluster: Cluster) -> list[RenderedInstall]:
        """Return the rendered installs with their names in the cluster."""
        context, manifest = self.context, self.manifest
        reader = InstallReader(
            manifest,
            context.blobs,
            context.target_of(cluster),
            folder=context.folder,
            namespace=context.namespace or "default",
            authenticated=authenticated(context, manifest),
        )
        return [
            RenderedInstall(
                bundle.name,
                bundle if isinstance(bundle, InstallFailure) else replace(bundle, name=unique_name(manifest, bundle)),
            )
            for bundle in reader.read()
        ]

    def _install(self, cluster: Cluster, install: RenderedInstall) -> InstallResult:
        bundle = install.bundle
        if isinstance(bundle, InstallFailure):
            return InstallResult(install.install, State.ERROR, str(bundle.error))
        try:
            return self._apply(cluster, install.install, self._as_installed(cluster, bundle))
        except CancelledError:
            raise
        except KymatuiError as error:
            return InstallResult(install.install, State.ERROR, str(error), self._inventory(cluster, bundle))

    def _as_installed(self, cluster: Cluster, bundle: Bundle) -> Bundle:
        """Return the bundle with the Manifest's marks on its objects."""
        if bundle.release is not None:
            store = ReleaseStore(cluster, bundle.name, bundle.namespace, self.context.clock.now)
            bundle = store.as_installed(bundle)
        name = self.manifest.meta.name
        labels = {COMPONENT: name, PART_OF: "Kyma"} if len(name) <= _LONGEST_LABEL else {PART_OF: "Kyma"}
        marks = [with_labels(labels), with_annotations({ANNOTATION_MANIFEST: self.mark})]
        return apply_transforms(bundle, [*marks, *self.context.transforms])

    def _inventory(self, cluster: Cluster, bundle: Bundle) -> Inventory | None:
        return read_inventory(cluster, self.context.clock, bundle.name, bundle.namespace)

    def _apply(self, cluster: Cluster, name: str, bundle: Bundle) -> InstallResult:
        install_plan = self._plan(cluster, bundle)
        if blockers := install_plan.blockers:
            conflict = all(step.action is Action.CONFLICT for step in blockers)
            message = "; ".join(f"{step.ref}: {_conflicts(step.conflicts) or step.reason}" for step in blockers)
            message = f"{message} (from {bundle.origin.address})"
            state = State.WARNING if conflict else State.ERROR
            return InstallResult(name, state, message, self._inventory(cluster, bundle))
        workloads = filter(_is_workload, (step.ref for step in install_plan.steps))
        self.context.watches.watch(self.manifest.ref, cluster, workloads, more=True)
        with self.context.begin(cluster, self.cancel) as run:
            outcome = apply(install_plan, run, wait=False, just_made=True)
            return self._readiness(name, outcome.inventory or self._inventory(cluster, bundle), run)

    def _plan(self, cluster: Cluster, bundle: Bundle) -> Plan:
        """Plan the install; the default CR has lifecycle-manager's default name."""
        policy = Policy.IGNORE if self.manifest.policy == Policy.IGNORE else Policy.CREATE_AND_DELETE
        ref = self._resource_ref(cluster)
        if bundle.resource is not None and ref is not None:
            bundle = replace(bundle, resource=default_resource_body(bundle.resource, ref))
        intent = Intent(bundle, policy=policy)
        return plan(intent, cluster, self.context.clock, manager=OPERATOR_FIELD_MANAGER, cancel=self.cancel)

    def _resource_ref(self, cluster: Cluster) -> ObjectRef | None:
        return resource_ref(self.manifest, cluster, self.context.namespace or KYMA_NAMESPACE)

    def _readiness(self, name: str, inventory: Inventory | None, run: Run) -> InstallResult:
        now = self.context.clock.now()
        refs = [item.ref for item in inventory.items if has_readiness(item.ref)] if inventory is not None else []
        for ref in refs:
            live = run.cluster.get(ref, cancel=run.cancel)
            if live is None:
                return InstallResult(name, State.PROCESSING, f"{ref} does not exist yet", inventory, (ref,))
            readiness = check_readiness(live, now)
            if not readiness.ready:
                # a StatefulSet's own status does not tell of a failing Pod
                pods = (check_readiness(pod, now) for pod in stateful_pods(run.cluster, live, run.cancel))
                readiness = next((pod for pod in pods if pod.state is State.ERROR), readiness)
                state = State.ERROR if readiness.state is State.ERROR else State.PROCESSING
                return InstallResult(name, state, f"{ref}: {readiness.message}", inventory, (ref,))
        return InstallResult(name, State.READY, "installed and ready", inventory)

    def _set_result(self, cluster: Cluster, results: Sequence[InstallResult]) -> tuple[ObjectRef, ...]:
        """Set the status to the results of all installs; return the objects that may change it."""
        state = worst_state(result.state for result in results) or State.READY
        bad = [result for result in results if result.state is not State.READY]
        message = "; ".join(f"{result.install}: {result.message}" for result in bad) or "installation is ready"
        inventories = [result.inventory for result in results if result.inventory is not None]
        refs = tuple(dict.fromkeys(item.ref for inventory in inventories for item in inventory.items))
        waits = (*(ref for result in results for ref in result.waits), *filter(_is_workload, refs))
        self.status.set_conditions(tuple(self._conditions(results, bad)))
        if len(inventories) == len(results):
            self.status.synced = tuple(sorted(refs))
        if has_rules(self.manifest):
            ref = self._resource_ref(cluster)
            waits = (*waits, *((ref,) if ref is not None else ()))  # the CR is watched from the beginning
            if state is State.READY:
                state, message = self._rated_resource(cluster, ref, message)
        self.status.set_state(state, message)
        return waits

    def _rated_resource(self, cluster: Cluster, ref: ObjectRef | None, message: str) -> tuple[State, str]:
        """Return the default CR's state, which counts once everything else is ready, and its reason."""
        try:
            evaluation = evaluate_state(self.manifest, cluster, ref, self.context.clock.now())
        except CancelledError:
            raise
        except KymatuiError as error:
            return State.ERROR, str(error)
        is_ready = evaluation.state is State.READY
        return evaluation.state, message if is_ready else describe_evaluation(evaluation, ref)

    def _conditions(self, results: Sequence[InstallResult], bad: Sequence[InstallResult]) -> Iterator[ConditionReport]:
        missing = [result for result in bad if result.inventory is None or not result.inventory.finished]
        yield ConditionReport(
            RESOURCES, not missing, "; ".join(result.message for result in missing) or "all are applied"
        )
        yield ConditionReport(
            INSTALLATION, not bad, "; ".join(result.message for result in bad) or "installation is ready"
        )
        if self.manifest.resource and self.manifest.policy != Policy.IGNORE:
            created = any(result.inventory is not None and result.inventory.resource_created for result in results)
            yield ConditionReport(MODULE_CR, created, "the default CR was created" if created else "not created yet")
        if len(results) > 1:
            for result in results:
                good = result.state is State.READY
                yield ConditionReport(
                    f"{result.install}{OF_INSTALL}", good, result.message, "Ready" if good else "NotReady"
                )

    # deletion and release

    def delete(self, cluster: Cluster | None) -> float | None:
        """Delete the installs; those of a released Manifest stay, as with lifecycle-manager."""
        if cluster is None:
            self._end()  # the cluster and its content no longer exist
            return None
        if self.manifest.unmanaged:
            return self.release(cluster)
        remaining = self._uninstall(cluster, read_record(self.manifest))
        if not remaining.message:
            self._end()
            return None
        watched = self.context.watches.watch(self.manifest.ref, cluster, remaining.waits) and bool(remaining.waits)
        self.status.set_state(State.DELETING, remaining.message)
        self.write_status()
        return WATCHED if watched else SOON

    def _end(self) -> None:
        self.context.watches.unwatch(self.manifest.ref)
        self.drop_finalizers(FINALIZER, OLD_FINALIZER)

    def release(self, cluster: Cluster) -> float | None:
        """Take off ownership marks, and delete inventories and the Manifest; the objects stay."""
        for entry in read_record(self.manifest):
            inventory = read_inventory(cluster, self.context.clock, entry.name, entry.namespace)
            if inventory is None:
                continue
            refs = [item.ref for item in inventory.items]
            try:
                self.release_objects(cluster, refs, _owner, (LABEL_PART_OF,), (ANNOTATION_MANIFEST,))
            except NotFoundError as error:
                self.fail(error)
            if not inventory.chart:  # a Helm release stays for the helm command
                ApplySetStore(cluster, inventory.name, inventory.namespace).remove(inventory)
        self.status.set_state(State.UNMANAGED, "all objects stay, unmanaged")
        self.write_status()
        self._end()
        self.delete_manifest()
        return None

    def _uninstall(self, cluster: Cluster, entries: Sequence[InstallRecord]) -> RemainingObjects:
        """Delete as much as possible now, the last install first; return what remains.

        User objects that a manager handles are never deleted here: until their owners delete them, everything
        stays.
        """
        parts = [self._uninstall_one(cluster, entry) for entry in reversed(entries)]
        message = "; ".join(part.message for part in parts if part.message)
        return RemainingObjects(message, tuple(ref for part in parts for ref in part.waits))

    def _uninstall_one(self, cluster: Cluster, entry: InstallRecord) -> RemainingObjects:
        waits: tuple[ObjectRef, ...] = ()
        scope = DeletionScope(delete_crds=True, manifest=self.mark)  # a module's CRDs end with it, as far as unused
        try:
            uninstall = plan_uninstall(
                entry.name, entry.namespace, cluster, self.context.clock, cancel=self.cancel, scope=scope
            )
            if uninstall is None:
                return RemainingObjects()
            instances = (instance.ref for instance in uninstall.remaining.instances)
            waits = (*instances, *(step.ref for step in uninstall.deletions))
            with self.context.begin(cluster, self.cancel) as run:
                uninstall_module(uninstall, run, DeletionConsent(uninstall.accepted))
            return RemainingObjects()
        except CancelledError:
            raise
        except KymatuiError as error:
            return RemainingObjects(str(error), waits)


def _owner(live: Object) -> str:
    """Return the Manifest that a mark names as the owner, "" for none."""
    return JsonReader(live).child("metadata").labels("annotations").get(ANNOTATION_MANIFEST, "")


def _conflicts(conflicts: Sequence[FieldConflict]) -> str:
    return ", ".join(f"{conflict.path} is owned by {conflict.manager}" for conflict in conflicts)


def _is_workload(ref: ObjectRef) -> bool:
    """Return whether a change of the object may change the Manifest's state."""
    return ref.kind in WORKLOADS
