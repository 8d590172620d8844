"""The installation of a Manifest: each install separately, as far as one reconciliation gets."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence

from msgspec import Struct
from msgspec.structs import replace

from kymatui.domain.inventories import Inventory
from kymatui.domain.kubernetes.label_selectors import InvalidSelector, read_selector
from kymatui.domain.kubernetes.object_meta import read_ref
from kymatui.domain.kubernetes.refs import ObjectRef
from kymatui.domain.kyma.kymas import KYMA_NAMESPACE, Policy
from kymatui.domain.kyma.manifests import Manifest, default_resource_body
from kymatui.domain.kyma.states import State, worst_state
from kymatui.domain.modules.readiness import Readiness, check_readiness
from kymatui.engine.apply.applier import apply
from kymatui.engine.apply.planner import plan
from kymatui.engine.bundles.bundle import Bundle
from kymatui.engine.cluster.ports import OPERATOR_FIELD_MANAGER, Cluster, Object
from kymatui.engine.inventory.inventory_lookup import read_inventory
from kymatui.engine.inventory.ownership_marks import ANNOTATION_MANIFEST
from kymatui.engine.inventory.release_store import ReleaseStore
from kymatui.engine.jobs.run import Run
from kymatui.engine.jobs.wait import has_readiness
from kymatui.engine.plans.plan import Action, FieldConflict, Intent, Plan
from kymatui.engine.plans.transforms import apply_transforms, with_annotations, with_labels
from kymatui.engine.sources.manifest_installs import InstallFailure, InstallReader
from kymatui.errors import CancelledError, KymatuiError
from kymatui.operator.manifests.custom_state_check import (
    describe_evaluation,
    evaluate_state,
    has_rules,
    resource_ref,
)
from kymatui.operator.manifests.install_record import InstallRecord, unique_name
from kymatui.operator.manifests.manifest_marks import COMPONENT, PART_OF, POD, STATEFUL_SET, WORKLOADS
from kymatui.operator.manifests.manifest_status import (
    INSTALLATION,
    MODULE_CR,
    OF_INSTALL,
    RESOURCES,
    ConditionReport,
    ReconcileResult,
)
from kymatui.operator.manifests.pull_secrets import authenticated
from kymatui.operator.manifests.reconcile_context import ReconcileContext

_LONGEST_LABEL = 63  # Kubernetes' limit for a label's value


class InstallResult(Struct, frozen=True):
    """The result of one install: its state and the reason."""

    install: str
    state: State
    message: str
    inventory: Inventory | None = None
    waits: tuple[ObjectRef, ...] = ()


class RenderedInstall(Struct, frozen=True):
    """An install with the Manifest's name for it; the bundle has the name in the cluster."""

    install: str
    bundle: Bundle | InstallFailure


def read_bundles(site: ReconcileContext, manifest: Manifest, cluster: Cluster) -> list[RenderedInstall]:
    """Return the rendered installs with their names in the cluster."""
    by_secret = authenticated(site, manifest)
    target, folder = site.target_of(cluster), site.folder
    reader = InstallReader(
        manifest, site.blobs, target, folder=folder, namespace=site.namespace or "default", authenticated=by_secret
    )
    found = reader.read()
    return [
        RenderedInstall(one.name, one if isinstance(one, InstallFailure) else _named(manifest, one)) for one in found
    ]


def install_records(read: Sequence[RenderedInstall]) -> list[InstallRecord]:
    """Return the records of the installs; unreadable ones are left out."""
    return [
        InstallRecord(one.install, one.bundle.name, one.bundle.namespace)
        for one in read
        if isinstance(one.bundle, Bundle)
    ]


def _named(manifest: Manifest, bundle: Bundle) -> Bundle:
    return replace(bundle, name=unique_name(manifest, bundle))


def _marked(site: ReconcileContext, manifest: Manifest, bundle: Bundle) -> Bundle:
    """Return the bundle with the Manifest's marks on its objects."""
    name = manifest.meta.name
    labels = {COMPONENT: name, PART_OF: "Kyma"} if len(name) <= _LONGEST_LABEL else {PART_OF: "Kyma"}
    marks = [with_labels(labels), with_annotations({ANNOTATION_MANIFEST: f"{manifest.meta.namespace}/{name}"})]
    return apply_transforms(bundle, [*marks, *site.transforms])


class ManifestInstallation:
    """The installation of a Manifest on one cluster, in one reconciliation."""

    def __init__(self, site: ReconcileContext, manifest: Manifest, cluster: Cluster, cancel: threading.Event) -> None:
        self._site = site
        self._manifest = manifest
        self._cluster = cluster
        self._cancel = cancel

    def install(self, read: Sequence[RenderedInstall]) -> ReconcileResult:
        """Install everything; an error of one install does not stop the others."""
        found = self._finding([self._one(one.install, one.bundle) for one in read])
        return self._judged(found) if has_rules(self._manifest) else found

    def _resource_ref(self) -> ObjectRef | None:
        return resource_ref(self._manifest, self._cluster, self._site.namespace or KYMA_NAMESPACE)

    def _judged(self, found: ReconcileResult) -> ReconcileResult:
        """Return the result with the default CR's state, which counts once everything else is ready.

        The CR is watched from the beginning.
        """
        ref = self._resource_ref()
        waits = (*found.waits, *((ref,) if ref is not None else ()))
        if found.state is not State.READY:
            return replace(found, waits=waits)
        try:
            evaluation = evaluate_state(self._manifest, self._cluster, ref, self._site.clock.now())
        except CancelledError:
            raise
        except KymatuiError as error:
            return replace(found, state=State.ERROR, message=str(error), waits=waits)
        words = found.message if evaluation.state is State.READY else describe_evaluation(evaluation, ref)
        return replace(found, state=evaluation.state, message=words, waits=waits)

    def _one(self, name: str, found: Bundle | InstallFailure) -> InstallResult:
        if isinstance(found, InstallFailure):
            return InstallResult(name, State.ERROR, str(found.error))
        try:
            return self._turn(name, self._as_installed(found))
        except CancelledError:
            raise
        except KymatuiError as error:
            return InstallResult(name, State.ERROR, str(error), self._known(found))

    def _as_installed(self, bundle: Bundle) -> Bundle:
        if bundle.release is not None:
            keeper = ReleaseStore(self._cluster, bundle.name, bundle.namespace, self._site.clock.now)
            bundle = keeper.as_installed(bundle)
        return _marked(self._site, self._manifest, bundle)

    def _known(self, bundle: Bundle) -> Inventory | None:
        return read_inventory(self._cluster, self._site.clock, bundle.name, bundle.namespace)

    def _turn(self, name: str, bundle: Bundle) -> InstallResult:
        made = self._plan(bundle)
        if made.blockers:
            conflict = all(step.action is Action.CONFLICT for step in made.blockers)
            words = "; ".join(f"{step.ref}: {_conflicts(step.conflicts) or step.reason}" for step in made.blockers)
            words = f"{words} (from {bundle.origin.address})"
            return InstallResult(name, State.WARNING if conflict else State.ERROR, words, self._known(bundle))
        workload = filter(_is_workload, (step.ref for step in made.steps))
        self._site.watches.watch(self._manifest.ref, self._cluster, workload, more=True)
        with self._site.begin(self._cluster, self._cancel) as run:
            outcome = apply(made, run, wait=False, just_made=True)
            inventory = outcome.inventory or self._known(bundle)
            return self._ready(name, inventory, run)

    def _plan(self, bundle: Bundle) -> Plan:
        policy = Policy.IGNORE if self._manifest.policy == Policy.IGNORE else Policy.CREATE_AND_DELETE
        intent = Intent(self._with_resource(bundle), policy=policy)
        return plan(intent, self._cluster, self._site.clock, manager=OPERATOR_FIELD_MANAGER, cancel=self._cancel)

    def _with_resource(self, bundle: Bundle) -> Bundle:
        """Return the bundle with lifecycle-manager's default name for the default CR."""
        ref = self._resource_ref()
        if bundle.resource is None or ref is None:
            return bundle
        return replace(bundle, resource=default_resource_body(bundle.resource, ref))

    def _ready(self, name: str, inventory: Inventory | None, run: Run) -> InstallResult:
        refs = [item.ref for item in inventory.items if has_readiness(item.ref)] if inventory is not None else []
        for ref in refs:
            live = run.cluster.get(ref, cancel=run.cancel)
            if live is None:
                return InstallResult(name, State.PROCESSING, f"{ref} does not exist yet", inventory, (ref,))
            found = check_readiness(live, self._site.clock.now())
            if not found.ready:
                found = self._broken_pod(live, run) or found
                state = State.ERROR if found.state is State.ERROR else State.PROCESSING
                return InstallResult(name, state, f"{ref}: {found.message}", inventory, (ref,))
        return InstallResult(name, State.READY, "installed and ready", inventory)

    def _broken_pod(self, live: Object, run: Run) -> Readiness | None:
        """Return a failing pod of a StatefulSet, whose own status does not tell; None if there is none."""
        ref = read_ref(live)
        chosen = read_selector(live.get("spec", {}).get("selector") or {})
        if ref.kind != STATEFUL_SET or isinstance(chosen, InvalidSelector) or chosen.empty:
            return None
        labels = ",".join(one.written for one in chosen.requirements)
        pods = run.cluster.list(POD, ref.namespace, labels=labels, cancel=run.cancel)
        found = (check_readiness(pod, self._site.clock.now()) for pod in pods)
        return next((one for one in found if one.state is State.ERROR), None)

    # status

    def _finding(self, results: Sequence[InstallResult]) -> ReconcileResult:
        state = worst_state(result.state for result in results) or State.READY
        bad = [result for result in results if result.state is not State.READY]
        words = "; ".join(f"{result.install}: {result.message}" for result in bad) or "installation is ready"
        complete = all(result.inventory is not None for result in results)
        synced = _synced(results)
        waits = (*(ref for result in results for ref in result.waits), *filter(_is_workload, synced))
        return ReconcileResult(
            state, words, tuple(self._result_conditions(results, bad)), synced if complete else None, waits
        )

    def _result_conditions(
        self, results: Sequence[InstallResult], bad: Sequence[InstallResult]
    ) -> Iterator[ConditionReport]:
        missing = [result for result in bad if result.inventory is None or not result.inventory.finished]
        yield ConditionReport(
            RESOURCES, not missing, "; ".join(result.message for result in missing) or "all are applied"
        )
        yield ConditionReport(
            INSTALLATION, not bad, "; ".join(result.message for result in bad) or "installation is ready"
        )
        if self._manifest.resource and self._manifest.policy != Policy.IGNORE:
            created = any(result.inventory is not None and result.inventory.resource_created for result in results)
            yield ConditionReport(MODULE_CR, created, "the default CR was created" if created else "not created yet")
        if len(results) > 1:
            for result in results:
                good = result.state is State.READY
                yield ConditionReport(
                    f"{result.install}{OF_INSTALL}", good, result.message, "Ready" if good else "NotReady"
                )


def _synced(results: Sequence[InstallResult]) -> tuple[ObjectRef, ...]:
    refs = (item.ref for result in results if result.inventory is not None for item in result.inventory.items)
    return tuple(dict.fromkeys(refs))


def _conflicts(conflicts: Sequence[FieldConflict]) -> str:
    return ", ".join(f"{conflict.path} is owned by {conflict.manager}" for conflict in conflicts)


def _is_workload(ref: ObjectRef) -> bool:
    """Return whether a change of the object may change the Manifest's state."""
    return ref.kind in WORKLOADS
