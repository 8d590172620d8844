"""The way of a Manifest to being installed: each of its installs on its own, as far as one turn gets."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final

from kymatui.domain.manifests import Manifest, default_resource_body
from kymatui.domain.objects import read_ref
from kymatui.domain.readiness import Readiness, readiness
from kymatui.domain.refs import GroupVersionKind, ObjectRef
from kymatui.domain.selectors import InvalidSelector, read_selector
from kymatui.domain.states import State, worst
from kymatui.engine.applying import apply
from kymatui.engine.awaiting import has_readiness
from kymatui.engine.bundles import Bundle
from kymatui.engine.controllers.manifest.credentials import authenticated
from kymatui.engine.controllers.manifest.places import COMPONENT, PART_OF, Site
from kymatui.engine.controllers.manifest.records import Installed, unique_name
from kymatui.engine.controllers.manifest.statechecking import has_rules, judge, resource_ref, words_of
from kymatui.engine.controllers.manifest.statuses import (
    INSTALLATION,
    MODULE_CR,
    OF_INSTALL,
    RESOURCES,
    Finding,
    Said,
)
from kymatui.engine.holders import ANNOTATION_MANIFEST
from kymatui.engine.inventories import Inventory
from kymatui.engine.planning import installed, plan
from kymatui.engine.plans import Action, FieldConflict, Intent, Plan, Policy
from kymatui.engine.ports import OPERATOR_FIELD_MANAGER, Cluster, Object
from kymatui.engine.releases import ReleaseKeeper
from kymatui.engine.running import Run
from kymatui.engine.sources.installs import Failure, InstallReader
from kymatui.engine.transforms import transformed, with_annotations, with_labels
from kymatui.errors import CancelledError, KymatuiError

_LONGEST_LABEL = 63
WORKLOADS: Final = tuple(GroupVersionKind("apps", "v1", kind) for kind in ("Deployment", "StatefulSet", "DaemonSet"))
STATEFUL_SET: Final = GroupVersionKind("apps", "v1", "StatefulSet")
POD: Final = GroupVersionKind("", "v1", "Pod")


@dataclass(frozen=True, slots=True)
class Result:
    """One install after a turn: its state, and why."""

    install: str
    state: State
    words: str
    inventory: Inventory | None = None
    waits: tuple[ObjectRef, ...] = ()


@dataclass(frozen=True, slots=True)
class Read:
    """An install under the Manifest's name for it; the bundle has the name that it goes by in the cluster."""

    install: str
    bundle: Bundle | Failure


def read_bundles(site: Site, manifest: Manifest, cluster: Cluster) -> list[Read]:
    """The installs, by the names that they have in the cluster."""
    by_secret = authenticated(site, manifest)
    target, folder = site.target_of(cluster), site.folder
    found = InstallReader(manifest, site.blobs, target, folder=folder, authenticated=by_secret).read()
    return [Read(one.name, one if isinstance(one, Failure) else _named(manifest, one)) for one in found]


def recorded(read: Sequence[Read]) -> list[Installed]:
    """Under which names they go; what cannot be read at present is not among them."""
    return [
        Installed(one.install, one.bundle.name, one.bundle.namespace) for one in read if isinstance(one.bundle, Bundle)
    ]


def _named(manifest: Manifest, bundle: Bundle) -> Bundle:
    return replace(bundle, name=unique_name(manifest, bundle))


def _marked(site: Site, manifest: Manifest, bundle: Bundle) -> Bundle:
    """Its objects marked as the Manifest's."""
    name = manifest.meta.name
    labels = {COMPONENT: name, PART_OF: "Kyma"} if len(name) <= _LONGEST_LABEL else {PART_OF: "Kyma"}
    marks = [with_labels(labels), with_annotations({ANNOTATION_MANIFEST: f"{manifest.meta.namespace}/{name}"})]
    return transformed(bundle, [*marks, *site.transforms])


class Installation:
    """One turn's installing on one cluster."""

    def __init__(self, site: Site, manifest: Manifest, cluster: Cluster, cancel: threading.Event) -> None:
        self._site = site
        self._manifest = manifest
        self._cluster = cluster
        self._cancel = cancel

    def install(self, read: Sequence[Read]) -> Finding:
        """Brings every install on its way. Errors of one do not keep the others from theirs."""
        found = self._finding([self._one(one.install, one.bundle) for one in read])
        return self._judged(found) if has_rules(self._manifest) else found

    def _judged(self, found: Finding) -> Finding:
        """The default resource has its say once everything else is ready, and is looked at from the beginning."""
        ref = resource_ref(self._manifest, self._cluster)
        waits = (*found.waits, *((ref,) if ref is not None else ()))
        if found.state is not State.READY:
            return replace(found, waits=waits)
        try:
            evaluation = judge(self._manifest, self._cluster, ref, self._site.clock.now())
        except CancelledError:
            raise
        except KymatuiError as error:
            return replace(found, state=State.ERROR, words=str(error), waits=waits)
        words = found.words if evaluation.state is State.READY else words_of(evaluation, ref)
        return replace(found, state=evaluation.state, words=words, waits=waits)

    def _one(self, name: str, found: Bundle | Failure) -> Result:
        if isinstance(found, Failure):
            return Result(name, State.ERROR, str(found.error))
        try:
            return self._turn(name, self._as_installed(found))
        except CancelledError:
            raise
        except KymatuiError as error:
            return Result(name, State.ERROR, str(error), self._known(found))

    def _as_installed(self, bundle: Bundle) -> Bundle:
        if bundle.release is not None:
            keeper = ReleaseKeeper(self._cluster, bundle.name, bundle.namespace, self._site.clock.now)
            bundle = keeper.as_installed(bundle)
        return _marked(self._site, self._manifest, bundle)

    def _known(self, bundle: Bundle) -> Inventory | None:
        return installed(self._cluster, self._site.clock, bundle.name, bundle.namespace)

    def _turn(self, name: str, bundle: Bundle) -> Result:
        made = self._plan(bundle)
        if made.blockers:
            conflict = all(step.action is Action.CONFLICT for step in made.blockers)
            words = "; ".join(f"{step.ref}: {_conflicts(step.conflicts) or step.reason}" for step in made.blockers)
            words = f"{words} (from {bundle.origin.address})"
            return Result(name, State.WARNING if conflict else State.ERROR, words, self._known(bundle))
        workload = filter(_is_workload, (step.ref for step in made.steps))
        self._site.lookouts.look(self._manifest.ref, self._cluster, workload, more=True)
        with self._site.begin(self._cluster, self._cancel) as run:
            outcome = apply(made, run, wait=False, just_made=True)
            inventory = outcome.inventory or self._known(bundle)
            return self._ready(name, inventory, run)

    def _plan(self, bundle: Bundle) -> Plan:
        policy = Policy.IGNORE if self._manifest.policy == Policy.IGNORE else Policy.CREATE_AND_DELETE
        intent = Intent(self._with_resource(bundle), policy=policy)
        return plan(intent, self._cluster, self._site.clock, manager=OPERATOR_FIELD_MANAGER, cancel=self._cancel)

    def _with_resource(self, bundle: Bundle) -> Bundle:
        """The default resource under the name that lifecycle-manager gives it where it has none."""
        ref = resource_ref(self._manifest, self._cluster)
        if bundle.resource is None or ref is None:
            return bundle
        return replace(bundle, resource=default_resource_body(bundle.resource, ref))

    def _ready(self, name: str, inventory: Inventory | None, run: Run) -> Result:
        refs = [item.ref for item in inventory.items if has_readiness(item.ref)] if inventory is not None else []
        for ref in refs:
            live = run.cluster.get(ref, cancel=run.cancel)
            if live is None:
                return Result(name, State.PROCESSING, f"{ref} is not there yet", inventory, (ref,))
            found = readiness(live, self._site.clock.now())
            if not found.ready:
                found = self._broken_pod(live, run) or found
                state = State.ERROR if found.state is State.ERROR else State.PROCESSING
                return Result(name, state, f"{ref}: {found.words}", inventory, (ref,))
        return Result(name, State.READY, "installed and ready", inventory)

    def _broken_pod(self, live: Object, run: Run) -> Readiness | None:
        """Of a StatefulSet, whose status does not tell, a pod that does not come up; None where there is none."""
        ref = read_ref(live)
        chosen = read_selector(live.get("spec", {}).get("selector") or {})
        if ref.kind != STATEFUL_SET or isinstance(chosen, InvalidSelector) or chosen.empty:
            return None
        labels = ",".join(one.written for one in chosen.requirements)
        pods = run.cluster.list(POD, ref.namespace, labels=labels, cancel=run.cancel)
        found = (readiness(pod, self._site.clock.now()) for pod in pods)
        return next((one for one in found if one.state is State.ERROR), None)

    # what is said of it

    def _finding(self, results: Sequence[Result]) -> Finding:
        state = worst(result.state for result in results) or State.READY
        bad = [result for result in results if result.state is not State.READY]
        words = "; ".join(f"{result.install}: {result.words}" for result in bad) or "installation is ready"
        complete = all(result.inventory is not None for result in results)
        synced = _synced(results)
        waits = (*(ref for result in results for ref in result.waits), *filter(_is_workload, synced))
        return Finding(state, words, tuple(self._said(results, bad)), synced if complete else None, waits)

    def _said(self, results: Sequence[Result], bad: Sequence[Result]) -> Iterator[Said]:
        missing = [result for result in bad if result.inventory is None or not result.inventory.finished]
        yield Said(RESOURCES, not missing, "; ".join(result.words for result in missing) or "all are applied")
        yield Said(INSTALLATION, not bad, "; ".join(result.words for result in bad) or "installation is ready")
        if self._manifest.resource and self._manifest.policy != Policy.IGNORE:
            created = any(result.inventory is not None and result.inventory.resource_created for result in results)
            yield Said(MODULE_CR, created, "the default resource was created" if created else "not created yet")
        if len(results) > 1:
            for result in results:
                good = result.state is State.READY
                yield Said(f"{result.install}{OF_INSTALL}", good, result.words, "Ready" if good else "NotReady")


def _synced(results: Sequence[Result]) -> tuple[ObjectRef, ...]:
    refs = (item.ref for result in results if result.inventory is not None for item in result.inventory.items)
    return tuple(dict.fromkeys(refs))


def _conflicts(conflicts: Sequence[FieldConflict]) -> str:
    return ", ".join(f"{conflict.path} is owned by {conflict.manager}" for conflict in conflicts)


def _is_workload(ref: ObjectRef) -> bool:
    """Whether its changes may change a Manifest's state at any time."""
    return ref.kind in WORKLOADS
