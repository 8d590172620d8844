"""Where deletions of a session are, decided from the snapshot; and its edits, which may uninstall a module."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from kymatui.actions.edits.cluster_edits import ClusterKymaEdits
from kymatui.actions.modules.module_sources import find_installed
from kymatui.actions.ports import BackupStore, SavedObjects
from kymatui.domain.catalog.catalog import build_catalog
from kymatui.domain.catalog.module_inputs import CatalogOptions, gather_inputs
from kymatui.domain.catalog.rows import ModuleRow
from kymatui.domain.gitops import git_changes
from kymatui.domain.kubernetes.json_reader import JsonReader
from kymatui.domain.kubernetes.object_meta import read_ref
from kymatui.domain.kubernetes.refs import ObjectRef, split_name
from kymatui.domain.kyma.kymas import Policy
from kymatui.domain.kyma.manifests import Manifest, default_resource
from kymatui.domain.kyma.module_templates import ModuleTemplate, associated_kinds
from kymatui.domain.kyma.problems import Actor
from kymatui.domain.kyma.states import State
from kymatui.domain.kyma_edit.edit_progress import EditProgress, track_edit
from kymatui.domain.kyma_edit.label_edit import LabelProposal, Labels
from kymatui.domain.kyma_edit.label_effects import preview_label_effects
from kymatui.domain.kyma_edit.module_edit import (
    EditProposal,
    EditVerb,
    ModuleEdit,
    edit_entry,
    elsewhere_refusal,
    entry_change,
)
from kymatui.domain.modules.presence import ManagerVisibility, Presence
from kymatui.domain.modules.risks import effective_policies, unreleased_words
from kymatui.domain.ownership import owning_manifest
from kymatui.domain.plans.direct_install import unknown_lists
from kymatui.domain.remote.catalog_sync import SyncPlan, plan_pair_sync
from kymatui.domain.remote.kyma_sync import owner_kyma
from kymatui.domain.remote.runtime_pair import RuntimePair
from kymatui.domain.snapshot.cluster_index import CATALOG_FEEDS, CRD_FEED, ClusterIndex, index_cluster
from kymatui.domain.snapshot.missing_lists import explain_missing, gap_of
from kymatui.domain.snapshot.snapshots import Feed, ReadCache, Snapshot
from kymatui.engine.cluster.concurrency import WIDTH
from kymatui.engine.cluster.kind_order import is_definition
from kymatui.engine.cluster.ports import Cluster
from kymatui.engine.cluster.retries import read_once
from kymatui.engine.deletion.deletion_state import DeletionState, ManagedBy, ModuleCRHandling, requested
from kymatui.engine.deletion.operator_deletion import with_operator_objects
from kymatui.engine.deletion.uninstall_plan import WHOLE, DeletionScope, plan_uninstall_of
from kymatui.engine.inventory.managed_resources import (
    GroupKind,
    InstallationClaim,
    ManagedObjects,
    list_instances,
    without_operator_kinds,
)
from kymatui.engine.jobs.run import SystemClock
from kymatui.errors import UnreachableError

if TYPE_CHECKING:
    from kymatui.actions.session import Session


_LISTED, _LOOK = 20.0, 0.1  # seconds for a runtime to reconnect; seconds between two checks


class SessionDeletions:
    """The deletions of one session, which was started. Methods block; they are called from one thread at a time.

    Manifests are where they are watched: on the control plane, where the session is with a runtime and its own.
    """

    def __init__(self, session: Session, backups: BackupStore, cluster: Cluster | None = None) -> None:
        self._session = session
        self._backups = backups
        self._cluster = cluster if cluster is not None else session.cluster
        self.manifests_on: Cluster = session.home if session.target.has_control_plane else self._cluster
        self._stop = threading.Event()
        self.cache = ReadCache()
        self.delete_kymas = False
        """Whether the deletion of the operator deletes its Kymas first."""

    # looking

    def read_state(
        self,
        module: str,
        namespace: str = "",
        handling: ModuleCRHandling = ModuleCRHandling.LET,
        *,
        scope: DeletionScope = WHOLE,
    ) -> DeletionState:
        """Return the state of a module's deletion from a list of its managed resources; no write."""
        self._wait_listed()
        snapshot = self._session.snapshot()
        catalog = build_catalog(snapshot, time.time(), cache=self.cache, only=module)
        row, choice = catalog.row(module), elsewhere_refusal(catalog, "delete", module)
        world = index_cluster(snapshot, cache=self.cache)
        unseen = tuple(unknown_lists(snapshot.feeds))
        managed_by = self._managed_by(row, world, module)
        state = DeletionState(self._cluster.name, module, managed_by, handling=handling, keeper=world.keeper)
        refused = replace(state, refusal=f"{module}: {choice}")
        if managed_by in (ManagedBy.KYMA, ManagedBy.MANIFEST):
            assert row is not None
            if choice:
                return refused
            return _with_unseen(self._through_manager(state, row, world), unseen)
        within, name = split_name(module)  # one of several installations with that name has its namespace in its row
        known = find_installed(self._cluster, name, within or namespace)
        if known is not None:
            patient = read_once(self._cluster, SystemClock(), self._stop)
            scope = replace(scope, manifests=self._described_by(snapshot))
            uninstall_plan = plan_uninstall_of(known, patient, SystemClock(), self._stop, scope=scope)
            direct = self._direct(replace(state, managed_by=ManagedBy.DIRECT), uninstall_plan, row)
            return _with_unseen(with_operator_objects(direct, self._cluster, delete_kymas=self.delete_kymas), unseen)
        if row is not None and _is_left_behind(row, world):
            return _with_unseen(self._left_behind(state, row, world), unseen)
        if choice and row is not None:
            return replace(refused, managed_by=ManagedBy.KYMA)  # whether the module is installed depends on the Kyma
        return _with_unseen(_not_ours(state, row), unseen)

    def _described_by(self, snapshot: Snapshot) -> tuple[object, ...] | None:
        """Return the Manifests of a control plane that describe this runtime, None for a cluster that has its own."""
        if self.manifests_on is self._cluster:
            return None
        return tuple(manifest.raw for manifest in index_cluster(snapshot, cache=self.cache).manifests.values())

    def _wait_listed(self) -> None:
        """Wait for a runtime that reconnects, since its Secret changed: its lists are not empty, but not read yet.

        Raises what keeps it from being reached, and UnreachableError where that takes too long.
        """
        session = self._session
        deadline = time.monotonic() + _LISTED
        while (pair := session.pair()) is not None and not pair.runtime_is_listed and time.monotonic() < deadline:
            if session.failure is not None:
                raise session.failure
            self._stop.wait(_LOOK)
        if pair is not None and pair.runtime is None:
            raise UnreachableError(f"{self._cluster.name} was not connected within {_LISTED:g} s", hint="retry")

    def _managed_by(self, row: ModuleRow | None, world: ClusterIndex, module: str) -> ManagedBy:
        if row is None or row.presence is Presence.NOT_INSTALLED:
            return ManagedBy.NOBODY
        if row.managed or (world.kyma is not None and world.kyma.report(module) and row.presence is Presence.DELETING):
            return ManagedBy.KYMA
        if row.presence is Presence.UNMANAGED:
            return ManagedBy.UNMANAGED
        return ManagedBy.MANIFEST if row.manifest is not None else ManagedBy.SOMEBODY

    def _left_behind(self, state: DeletionState, row: ModuleRow, world: ClusterIndex) -> DeletionState:
        """Return a module's resources without their manager; nobody would take their definitions away, either."""
        templates = _templates(row, world)
        kinds = {(gvk.group, gvk.kind) for template in templates for gvk in associated_kinds(template)}
        definitions = tuple(read_ref(raw) for raw in world.snapshot.definitions if _defines(raw) in kinds)
        remaining = self._count(templates, definitions, _default(templates, row.name, world), keeps_own=True)
        unread = tuple(_unread_definitions(world.snapshot.feeds))
        remaining = replace(remaining, unknown=(*remaining.unknown, *unread))
        return replace(state, managed_by=ManagedBy.NOBODY, remaining=remaining, definitions=definitions)

    def _through_manager(self, state: DeletionState, row: ModuleRow, world: ClusterIndex) -> DeletionState:
        templates = _templates(row, world)
        request = world.kyma.request(row.name) if world.kyma is not None else None
        report = world.kyma.report(row.name) if world.kyma is not None else None
        manifest = world.manifests.get(row.name)
        default = _default(templates, row.name, world) or _applied_default(manifest, world)
        definitions = self._definitions(row, world)
        # a Manifest that cannot be read here may have policy Ignore, and nothing else leaves a CR then
        is_left = request is None and manifest is None and report is not None and report.state == State.DELETING
        is_left = is_left and any(not item.deleting for item in row.checked)
        by_hand = is_left or Policy.IGNORE in effective_policies(request, manifest)
        counted = self._count(templates, definitions, default, _owner(row, world), keeps_own=by_hand)
        unread = tuple(_unread_definitions(world.snapshot.feeds))
        counted = replace(counted, unknown=(*counted.unknown, *unread))
        refusal = "mandatory: every runtime has this module, so it cannot be disabled" if row.mandatory else ""
        disable = ModuleEdit(EditVerb.DISABLE, row.name)  # for a runtime, in its own Kyma
        edit = self.edits.propose(disable).edit if state.managed_by is ManagedBy.KYMA else None
        is_held = manifest is not None and manifest.ref in row.reason.blocked_by and not manifest.skipped
        edited = edit.git if edit is not None else ()
        if manifest is not None and state.managed_by is ManagedBy.MANIFEST:
            edited = git_changes(manifest.raw)
        if not refusal and default is None and counted.theirs and not by_hand:
            refusal = _unknown_default(world.snapshot.feeds)
        stopped = [f"{world.stopped}; the deletion waits until it runs"] if world.stopped else []
        return replace(
            state,
            installed=row.installed,
            remaining=counted,
            default=next((managed for managed in counted.ours if not managed.applied), None),
            requested=request is not None and state.managed_by is ManagedBy.KYMA,
            reported=report.state if report is not None else "",
            foreseen=(*stopped, *(risk.warning for risk in row.foreseen), *([row.reason.text] if is_held else ())),
            is_held=is_held,
            edited=edited,
            by_hand=by_hand,
            is_left=is_left,
            manager=row.manager,
            runs=row.readiness is not None and row.readiness.state is State.READY,
            definitions=definitions,
            manifest=row.manifest,
            control=self.manifests_on.name if self.manifests_on is not self._cluster else "",
            reported_by_manifest=str(row.reports.manifest),
            refusal=refusal and f"{row.name}: {refusal}",
            entry=requested(edit.before) if edit is not None else None,
            manifest_uid=_manifest_uid(row, world),
        )

    def _direct(self, state: DeletionState, uninstall_plan: Any, row: ModuleRow | None) -> DeletionState:
        return replace(
            state,
            installed=uninstall_plan.inventory.version,
            remaining=uninstall_plan.remaining,
            uninstall=uninstall_plan,
            installer=row.installed_by if row is not None else "",
            manager=row.manager if row is not None else None,
            runs=row is not None and row.readiness is not None and row.readiness.state is State.READY,
            definitions=tuple(step.ref for step in uninstall_plan.steps if is_definition(step.ref)),
        )

    def _definitions(self, row: ModuleRow, world: ClusterIndex) -> tuple[ObjectRef, ...]:
        """Return the CRDs with the owner of the module's manager: lifecycle-manager marks all that it applies."""
        owner = _owner(row, world)
        return tuple(read_ref(raw) for raw in world.snapshot.definitions if owner and owning_manifest(raw) == owner)

    def _count(
        self,
        templates: Iterable[ModuleTemplate],
        definitions: Iterable[ObjectRef],
        default: ObjectRef | None,
        manifest: str = "",
        *,
        keeps_own: bool = False,
    ) -> ManagedObjects:
        declared = [(gvk.group, gvk.kind) for template in templates for gvk in associated_kinds(template)]
        if default is not None:  # known from the Manifest alone
            declared.append((default.kind.group, default.kind.kind))
        kinds = without_operator_kinds([*declared, *self._kinds_of(definitions)])
        own = frozenset({default.key}) if default is not None else frozenset()
        claim = InstallationClaim(own, manifest=manifest, keeps_own=keeps_own)
        return list_instances(claim, self._cluster, kinds, self._stop, WIDTH)

    def _kinds_of(self, definitions: Iterable[ObjectRef]) -> list[GroupKind]:
        """Return the kinds of CRDs as the server serves them: a CRD's name has the plural."""
        names = {ref.name for ref in definitions}
        if not names:
            return []
        served = self._cluster.all_kinds()
        return [(kind.gvk.group, kind.gvk.kind) for kind in served if f"{kind.resource}.{kind.gvk.group}" in names]

    # what a run needs

    @property
    def edits(self) -> ClusterKymaEdits:
        return session_edits(self._session, self._backups)

    def snapshot(self) -> Snapshot:
        return self._session.snapshot()

    def backup_path(self, module: str, moment: float) -> Path:
        return self._backups.backup_path(self._cluster.name, module, moment)

    def backup(self, path: Path, state: DeletionState) -> SavedObjects:
        """Save what the deletion may delete. Raises ConfigurationError where the file cannot be written."""
        return self._backups.save_deletion(path, state, self._cluster, self.manifests_on)

    def finish_backups(self, module: str) -> None:
        """Note that the deletion of a module has ended, also in the backup of its Manifest on a control plane."""
        for cluster in {id(cluster): cluster for cluster in (self._cluster, self.manifests_on)}.values():
            self._backups.finish_backups(module, cluster)

    @property
    def session(self) -> Session:
        return self._session

    @property
    def cluster(self) -> Cluster:
        return self._cluster


def _with_unseen(state: DeletionState, unseen: Iterable[tuple[str, str]]) -> DeletionState:
    """Add the unknown resources: lifecycle-manager might create the module again."""
    return replace(state, remaining=replace(state.remaining, unknown=(*state.remaining.unknown, *unseen)))


def _unread_definitions(feeds: Mapping[str, Feed]) -> Iterator[tuple[str, str]]:
    """Yield the CRDs, whose kinds a module manages, if they are not listed."""
    gap = gap_of(feeds.get(CRD_FEED))
    if gap is not None:
        yield CRD_FEED, f"{gap}; kinds of the module may be missing here"


def _is_left_behind(row: ModuleRow, world: ClusterIndex) -> bool:
    """Return whether the module's resources have no manager, also while they are being deleted."""
    if row.presence is not Presence.DELETING:
        return row.presence is Presence.ORPHAN
    return gather_inputs(row.name, world, time.time(), CatalogOptions()).manager.visibility is ManagerVisibility.ABSENT


def _not_ours(state: DeletionState, row: ModuleRow | None) -> DeletionState:
    if state.managed_by is ManagedBy.NOBODY:
        return replace(state, refusal=f"{state.module} is not installed in {state.cluster}")
    if state.managed_by is ManagedBy.UNMANAGED:
        unreleased = unreleased_words(row.reports.kyma, row.foreseen) if row is not None else ""
        released = (
            f"{state.keeper} released it, and kymatui has no record of its objects; "
            f"run `kymatui adopt {state.module}` first, or `kymatui manage {state.module}`"
        )
        refusal = f"{state.module} is unmanaged: {unreleased or released}"
    else:
        refusal = (
            f"{state.module} was not installed by kymatui in {state.cluster}, "
            f"and kymatui has no record of its objects; run `kymatui adopt {state.module}` first"
        )
    installed = row.installed if row is not None else ""
    return replace(state, installed=installed, manager=row.manager if row is not None else None, refusal=refusal)


def _templates(row: ModuleRow, world: ClusterIndex) -> tuple[ModuleTemplate, ...]:
    """Return those of the version that is installed and of the one that is wanted; all, where neither is known."""
    offers = world.templates.offers(row.name)
    matching = [template for template in offers if template.version in (row.installed, row.desired)]
    resolved = row.resolution.template
    candidates = [*([resolved] if resolved is not None else []), *(matching or offers)]
    return tuple({template.ref: template for template in candidates}.values())


def _manifest_uid(row: ModuleRow, world: ClusterIndex) -> str:
    manifest = world.manifests.get(row.name)
    return manifest.meta.uid if manifest is not None else ""


def _applied_default(manifest: Manifest | None, world: ClusterIndex) -> ObjectRef | None:
    """Return the default CR of a Manifest; None if lifecycle-manager creates none."""
    if manifest is None or manifest.resource is None:
        return None
    wide = world.is_cluster_scoped(read_ref(manifest.resource).kind)
    return default_resource(manifest.resource, manifest.meta.name, cluster_scoped=wide)


def _unknown_default(feeds: Mapping[str, Feed]) -> str:
    """Return why the default CR is unknown, "" if no list of ModuleTemplates is missing.

    Without its template the default CR looks like a user's object, and would be deleted before the module.
    """
    missing = explain_missing(feeds, CATALOG_FEEDS[:1])
    return f"its default CR is unknown: {missing.reason}" if missing is not None else ""


def _default(templates: Iterable[ModuleTemplate], module: str, world: ClusterIndex) -> ObjectRef | None:
    for template in templates:
        if template.data is not None and template.resource_kind is not None:
            wide = world.is_cluster_scoped(template.resource_kind)
            return default_resource(template.data, module, cluster_scoped=wide)
    return None


def _owner(row: ModuleRow, world: ClusterIndex) -> str:
    if row.manifest is not None:
        return f"{row.manifest.namespace}/{row.manifest.name}"
    workloads = world.snapshot.workloads if row.manager is not None else ()
    return next((owning_manifest(raw) for raw in workloads if read_ref(raw) == row.manager), "")


def _defines(raw: object) -> tuple[str, str]:
    """Return group and kind of the objects that a CustomResourceDefinition defines."""
    spec = JsonReader(raw).child("spec")
    return spec.text("group"), spec.child("names").text("kind")


def session_edits(session: Session, backups: BackupStore, cache: ReadCache | None = None) -> ClusterKymaEdits:
    """Return the edits of a cluster, or of a runtime with its control plane."""
    kind = RuntimeKymaEdits if session.target.has_control_plane else ClusterKymaEdits
    return kind(session, lambda session: SessionDeletions(session, backups), cache)


class RuntimeKymaEdits(ClusterKymaEdits):
    """As `ClusterKymaEdits`, on both sides of one runtime.

    Modules are asked for in the runtime's Kyma; which kinds of modules it may have is said by the labels of the control
    plane's, which lifecycle-manager reads.
    """

    @property
    def _sides(self) -> RuntimePair:
        sides = self._session.pair()
        assert sides is not None, "a session with a Kyma on its home has two sides"
        return sides

    def propose(self, toggle: ModuleEdit) -> EditProposal:
        proposal = super().propose(toggle)
        kyma = self._sides.runtime_kyma
        if proposal.edit is None:
            return proposal
        if kyma is None:
            why = self._sides.runtime_kyma_unknown
            unknown = "" if why is None else f"the runtime's Kyma is unknown: {why.reason}"
            refusal = unknown or "the runtime has no Kyma to edit"
            return replace(proposal, edit=None, refusals=(refusal,))
        if (owner := owner_kyma(kyma)) not in ("", self._session.target.runtime):
            refusal = f"the runtime's Kyma belongs to {owner}: the access Secret belongs to another runtime"
            return replace(proposal, refusals=(refusal, *proposal.refusals))
        if kyma.meta.deleting:
            refusal = f"{kyma.ref} of the runtime is being deleted"
            proposal = replace(proposal, refusals=tuple(dict.fromkeys((refusal, *proposal.refusals))))
        return replace(proposal, edit=edit_entry(kyma, toggle.module, entry_change(toggle)))

    def propose_labels(self, labels: Labels) -> LabelProposal:
        """Propose labels, with the objects that the catalog sync adds to the runtime and removes from it."""
        proposal, pair = super().propose_labels(labels), self._sides
        moved = preview_label_effects(pair, labels, time.time()) if proposal.edit is not None else None
        if moved is None or pair.is_one_cluster:
            return proposal
        comes, goes, changes = (
            tuple(entry.ref for entry in entries) for entries in (moved.offered, moved.withdrawn, moved.changed)
        )
        return replace(proposal, comes=comes, goes=goes, changes=changes, warnings=proposal.warnings + moved.warnings)

    @property
    def _labelled(self) -> Cluster:
        return self._session.home

    def may_write(self, proposal: EditProposal | LabelProposal) -> bool:
        if not isinstance(proposal, LabelProposal) or proposal.edit is None:
            return super().may_write(proposal)
        kyma = proposal.edit.kyma
        return self._session.home.allowed("patch", kyma.kind, kyma.namespace, kyma.name)

    def _stage(self, proposal: EditProposal, generation: int, cache: ReadCache) -> EditProgress:
        assert proposal.edit is not None
        pair = self._sides  # before the catalog, which must not be older than the generation that is seen
        snapshot, kyma = self._session.snapshot(), pair.runtime_kyma
        if kyma is None and not pair.runtime_is_listed:  # which does not mean that it is gone
            return EditProgress("the runtime is not connected", Actor.CLUSTER)
        edited = replace(snapshot, kymas=(kyma.raw,) if kyma is not None else ())
        catalog = build_catalog(snapshot, time.time(), cache=cache)
        return track_edit(proposal.toggle, proposal.edit, generation, edited, catalog)

    def _sync_plan(self) -> SyncPlan | None:
        pair = self._sides
        return None if pair.is_one_cluster else plan_pair_sync(pair)
