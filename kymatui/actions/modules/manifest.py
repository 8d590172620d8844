"""Modules by Manifests of kymatui's own operator: what is written, and how far the operator is with it."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cached_property
from typing import Any

from msgspec import Struct, field
from msgspec.structs import replace

from kymatui.actions.batch import BatchItem, BatchJob, Verb, Work
from kymatui.actions.operator_lease import operator_of
from kymatui.actions.session import Session
from kymatui.domain.catalog.catalog import build_catalog
from kymatui.domain.gitops import GitChanges, git_changes, git_warnings
from kymatui.domain.kubernetes.json_reader import objects_at
from kymatui.domain.kubernetes.object_meta import OPERATOR, read_ref
from kymatui.domain.kubernetes.refs import ObjectRef
from kymatui.domain.kyma.kyma_keeper import KeeperLease
from kymatui.domain.kyma.manifests import Manifest, read_manifest
from kymatui.domain.kyma.module_templates import ModuleTemplate
from kymatui.domain.kyma.versions import newest_version, same_version, version_order
from kymatui.domain.modules.presence import Presence
from kymatui.domain.plans.cluster_management import ClusterManager, detect_management
from kymatui.domain.plans.direct_install import is_lower_version
from kymatui.domain.plans.manifest_body import (
    ManifestLayer,
    ManifestProgress,
    manifest_body,
    manifest_diff,
    track_manifest,
)
from kymatui.domain.rights import RequiredPermission, creating, patching, role_hint
from kymatui.domain.snapshot.cluster_index import index_cluster
from kymatui.engine.cluster.ports import Cluster
from kymatui.engine.cluster.request_scope import missing_permissions
from kymatui.engine.jobs.job_progress import JobProgress
from kymatui.errors import CancelledError, ConflictError, KymatuiError, OutdatedError, PartlyDoneError, RefusedError

_LOOK = 1.0  # seconds until the cancellation and the deadline are checked again without a change


class ManifestProposal(Struct, frozen=True):
    """What writing a Manifest would do.

    lower     what is installed is higher; "" where it is not
    owners    who owns fields that would be written over
    operator  kymatui's, as its Lease tells
    sides     the cluster that gets the Manifest, and the runtime that the operator installs on; () where it is one
    """

    module: str
    version: str
    body: dict[str, Any]
    live: Manifest | None
    diff: tuple[str, ...]
    lower: str
    owners: tuple[str, ...]
    operator: KeeperLease
    allowed: bool
    sides: tuple[str, ...] = ()

    @property
    def ref(self) -> ObjectRef:
        return read_ref(self.body)

    @property
    def changes_nothing(self) -> bool:
        return all(line.startswith(" ") for line in self.diff)

    @property
    def git(self) -> GitChanges:
        """Return the change where the Manifest comes from Git."""
        return git_changes(self.live.raw, self.body) if self.live is not None else ()

    @property
    def warnings(self) -> tuple[str, ...]:
        """Return why the write may have no effect, or not last."""
        idle = f"no effect until you start `kymatui operator` ({self.operator.message})"
        git = git_warnings(self.git)
        return git if self.operator.works else (idle, *git)

    def refusal(self, *, force: bool, allow_downgrade: bool) -> RefusedError | None:
        """Return what keeps it from being written; None where nothing does."""
        if self.changes_nothing:
            return None
        if not self.allowed:
            return RefusedError(
                f"you may not patch {self.ref}", hint=role_hint("manifest", self.module), unchanged=True
            )
        if self.lower and not allow_downgrade:
            words = f"{self.lower} is installed; {self.version} would be a downgrade"
            return RefusedError(words, hint="use --allow-downgrade to install it anyway")
        if self.owners and not force:
            words = f"other field managers own its fields: {'; '.join(self.owners)}"
            return RefusedError(words, hint="use --force to take over the fields")
        return None


class ManifestResult(Struct, frozen=True):
    """A written Manifest: its uid and generation, and where the operator is with it."""

    uid: str
    generation: int
    message: str
    is_applied: bool = False


ManifestItem = BatchItem[ManifestProposal, ManifestResult]


def manifest_item(proposal: ManifestProposal, refusal: KymatuiError | None = None) -> ManifestItem:
    """Return a planned Manifest for a batch."""
    work = Work.NOTHING if proposal.changes_nothing else Work.CHANGE
    return ManifestItem(proposal.module, proposal, work, refusal)


class ManifestControls(Struct, frozen=True):
    """How a run is followed.

    timeout  seconds for all of it
    wait     until the operator is done
    changed  is set whenever the session's snapshot changes
    wrote    is called with each Manifest that is written
    """

    progress: Callable[[ManifestProgress], None]
    timeout: float
    wait: bool = True
    changed: threading.Event = field(default_factory=threading.Event)
    wrote: Callable[[ManifestProposal], None] = lambda proposal: None


class ManifestAction:
    """The Manifests of one session. Methods block.

    Those of a runtime are on its control plane, whose operator installs on the runtime.
    """

    def __init__(self, session: Session) -> None:
        self._session = session

    @cached_property
    def cluster(self) -> Cluster:
        """Return the cluster with the Manifests; asked for when it is needed first, which menus often avoid."""
        return self._session.home

    def plan(
        self, named: Iterable[tuple[str, str]], *, force: bool = False, allow_downgrade: bool = False
    ) -> tuple[ManifestItem, ...]:
        """Propose each module in a version, "" for the newest."""
        return tuple(self._planned(name, version, force, allow_downgrade) for name, version in named)

    def _planned(self, module: str, version: str, force: bool, allow_downgrade: bool) -> ManifestItem:
        try:
            proposal = self.propose(module, version or self.newest(module))
        except RefusedError as error:
            return ManifestItem(module, refusal=error)
        return manifest_item(proposal, proposal.refusal(force=force, allow_downgrade=allow_downgrade))

    def refusals(self, module: str) -> Iterator[str]:
        """Yield why a Manifest cannot install a module; asks the server what kymatui has installed of it."""
        snapshot = self._session.snapshot()
        manager = detect_management(snapshot)
        if manager.keeper is ClusterManager.LIFECYCLE_MANAGER:
            yield "lifecycle-manager writes the Manifests of this cluster; enable the module in the Kyma"
            return
        if manager.keeper is ClusterManager.UNKNOWN:
            yield f"it is unknown whether lifecycle-manager writes the Manifests of this cluster: {manager.why}"
            return
        if not self.cluster.kinds(OPERATOR, "Manifest"):
            yield "this cluster does not serve Manifests, and no kymatui operator runs"
            return
        if self._session.target.has_control_plane:  # else its other clients are unknown
            operator = operator_of(self.cluster)
            if not operator.works:
                refusal = "no kymatui operator runs for the control plane"
                yield f"{refusal} ({operator.message}); enable it in the Kyma, or install it directly"
                return
        row = build_catalog(snapshot, time.time(), only=module).row(module)
        if row is None or not self.versions(module):
            yield "no ModuleTemplate names its registry; install it directly"
        elif row.manifest is None and row.presence not in (Presence.NOT_INSTALLED, Presence.ORPHAN):
            yield "it is installed without a Manifest; upgrade it with the tool that installed it"

    def versions(self, module: str) -> tuple[str, ...]:
        """Return those whose templates say where their layers are, the newest first."""
        offers = index_cluster(self._session.snapshot()).templates.offers(module)
        versions = dict.fromkeys(offer.version for offer in offers if offer.version and _layer(offer) is not None)
        return tuple(sorted(versions, key=version_order, reverse=True))

    def newest(self, module: str) -> str:
        """Return the newest stable version, or pre-release where there is no other; "" where there is none."""
        return newest_version(self.versions(module))

    def installed(self, module: str) -> str:
        """Return the version of its Manifest, "" where there is none."""
        live = index_cluster(self._session.snapshot()).manifests.get(module)
        return live.version if live is not None else ""

    def propose(self, module: str, version: str) -> ManifestProposal:
        """Raise RefusedError."""
        refused = list(self.refusals(module))
        if refused:
            raise RefusedError(f"{module}: {'; '.join(refused)}", unchanged=True)
        world = index_cluster(self._session.snapshot())
        template = next(
            (
                offer
                for offer in world.templates.offers(module)
                if same_version(offer.version, version) and _layer(offer)
            ),
            None,
        )
        layer = _layer(template) if template is not None else None
        if template is None or layer is None:
            raise RefusedError(f"{module} {version} is no longer offered", unchanged=True)
        live = world.manifests.get(module)
        kyma = self._session.kyma
        body = manifest_body(template, layer, live, kyma)
        before = live.version if live is not None else ""
        ref = read_ref(body)
        needed = [RequiredPermission("get", ref.kind, ref.namespace, ref.name), patching(ref)]
        needed += [creating(ref)] if live is None else []
        return ManifestProposal(
            module,
            template.version,
            body,
            live,
            tuple(manifest_diff(body, live)),
            before if before and is_lower_version(before, template.version) else "",
            self._owners(body),
            operator_of(self.cluster),
            not missing_permissions(self.cluster, needed),
            (self.cluster.name, kyma[1]) if kyma is not None and body["spec"]["remote"] else (),
        )

    def propose_newest(self, modules: Sequence[str]) -> tuple[list[ManifestProposal], list[str]]:
        """Return the newest stable version of each module that it changes, and the reasons of the others."""
        proposals, left_out = [], []
        for module in modules:
            try:
                proposal = self.propose(module, self.newest(module))
            except RefusedError as error:
                left_out.append(str(error))
                continue
            if proposal.changes_nothing or proposal.lower:
                left_out.append(f"{module}: its Manifest already requests {self.installed(module)}")
            else:
                proposals.append(proposal)
        return proposals, left_out

    def _owners(self, body: dict[str, Any]) -> tuple[str, ...]:
        """Return the server's conflicts with other field managers. Raise RefusedError for other refusals."""
        pins = ("resourceVersion", "uid")
        unpinned = {**body, "metadata": {k: v for k, v in body["metadata"].items() if k not in pins}}
        try:
            self.cluster.apply(unpinned, dry_run=True)
        except ConflictError as error:
            messages = (str(cause.get("message") or "") for cause in objects_at(error.body, "details", "causes"))
            return tuple(dict.fromkeys(messages)) or (str(error),)
        except KymatuiError as error:
            raise RefusedError(f"the server rejects the Manifest: {error}", hint=error.hint) from error
        return ()

    def write(self, proposal: ManifestProposal) -> tuple[str, int]:
        """Write it only where it is as it was read; return the uid and the generation that it has then."""
        if proposal.live is None and self.cluster.get(proposal.ref) is not None:
            raise OutdatedError(f"another client has created {proposal.ref} meanwhile", unchanged=True)
        try:
            applied = self.cluster.apply(proposal.body, force=bool(proposal.owners))
        except ConflictError as error:
            raise OutdatedError(
                f"another client has changed or deleted {proposal.ref} since the plan", unchanged=True
            ) from error
        metadata = applied["metadata"]
        return str(metadata.get("uid") or ""), int(metadata.get("generation") or 0)

    def live(self, proposal: ManifestProposal, uid: str) -> Manifest | None:
        """Return the Manifest of the watch, else ask the server for it."""
        manifest = index_cluster(self._session.snapshot()).manifests.get(proposal.module)
        if manifest is not None and manifest.meta.uid == uid:
            return manifest
        current = read_manifest(self.cluster.get(proposal.ref))
        return current if isinstance(current, Manifest) else None


class ManifestWriting(Verb[ManifestProposal, ManifestResult]):
    """All Manifests are written, then each is followed until the operator is done with it."""

    def __init__(self, action: ManifestAction, controls: ManifestControls) -> None:
        self._action, self._controls = action, controls
        self._deadline = time.monotonic() + controls.timeout

    def run(self, item: ManifestItem, job: BatchJob) -> ManifestItem:
        proposal = item.required_plan
        with job.journal.step("change", proposal.ref):
            uid, generation = self._action.write(proposal)
        self._controls.wrote(proposal)
        return replace(
            item, result=ManifestResult(uid, generation, f"{proposal.ref} is written; the operator continues")
        )

    def follow(self, items: list[ManifestItem], job: BatchJob) -> None:
        for at, item in enumerate(items):
            if item.result is None or item.error is not None or not self._controls.wait:
                continue
            try:
                message = self._follow(item.required_plan, item.result, job)
                items[at] = replace(item, result=replace(item.result, message=message, is_applied=True))
            except CancelledError:
                raise
            except KymatuiError as error:
                items[at] = replace(item, error=error)

    def _follow(self, proposal: ManifestProposal, written: ManifestResult, job: BatchJob) -> str:
        """Follow the Manifest until the operator is done with it.

        Raises PartlyDoneError where another client interferes or the time is over, CancelledError.
        """
        controls, last = self._controls, None
        while True:
            controls.changed.clear()
            live = self._action.live(proposal, written.uid)
            now = track_manifest(live, written.uid, written.generation)
            if now.lost:
                hint = f"run `kymatui module {proposal.module}`"
                raise PartlyDoneError(f"the Manifest was written; {now.message}", hint=hint)
            if now.finished:
                return now.message
            if now != last:
                controls.progress(now)
                last = now
            if time.monotonic() >= self._deadline:
                words = f"the Manifest is written, but not applied within {controls.timeout:g} s: {now.message}"
                raise PartlyDoneError(words, hint=f"run `kymatui module {proposal.module}`")
            if job.cancel.is_set():
                raise CancelledError("the Manifest is written; the operator continues")
            controls.changed.wait(_LOOK)

    def stopped(self, items: Sequence[ManifestItem], error: CancelledError) -> CancelledError:
        """Return the error with the Manifests that are applied, followed and not written."""
        changed = [item for item in items if item.plan is not None and item.is_pending]
        written = [(str(item.required_plan.ref), item.result) for item in changed if item.result is not None]
        progress = JobProgress(
            ("Done", "Written, not finished", "Not written"),
            tuple(ref for ref, result in written if result.is_applied),
            tuple((ref, "kymatui's operator continues") for ref, result in written if not result.is_applied),
            tuple(str(item.required_plan.ref) for item in changed if item.result is None),
        )
        return CancelledError(str(error), hint=error.hint, progress=(progress,), is_at_once=error.is_at_once)


def _layer(template: ModuleTemplate) -> ManifestLayer | None:
    """Return where the descriptor says that the module's objects lie; None where it does not, or cannot be read."""
    from kymatui.engine.sources.oci_layers import manifest_layer
    from kymatui.ocm import DescriptorError, module_layers, read_descriptor

    raw = (template.raw.get("spec") or {}).get("descriptor")
    if not raw:
        return None
    try:
        descriptor = read_descriptor(raw)
        layer = module_layers(descriptor).raw_manifest
    except DescriptorError:  # a version with an unreadable descriptor is not offered
        return None
    return manifest_layer(descriptor, layer) if layer is not None else None
