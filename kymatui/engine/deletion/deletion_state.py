"""The state of a guided deletion: its flowchart, evaluated with the current cluster content.

  managed resources exist? - continue? - delete them - wait - check again - through the Kyma, or directly - end

Nothing is stored: a later call, even on another machine, finds the current step.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from enum import StrEnum
from typing import Any, Final

from msgspec import Struct, field

from kymatui.domain.gitops import GitChanges, changes_of, git_warnings
from kymatui.domain.kubernetes.json_reader import JsonReader
from kymatui.domain.kubernetes.object_meta import uid_of
from kymatui.domain.kubernetes.refs import ObjectRef
from kymatui.domain.kyma.kyma_keeper import with_keeper
from kymatui.domain.kyma.kymas import ModuleRequest, read_request
from kymatui.domain.kyma.problems import Actor
from kymatui.domain.plans.backups import AcceptedObjects
from kymatui.domain.rights import RequiredPermission
from kymatui.engine.cluster.kind_order import deletion_blocker
from kymatui.engine.cluster.ports import Cluster
from kymatui.engine.deletion.uninstall_plan import UninstallPlan
from kymatui.engine.inventory.managed_resources import ManagedObject, ManagedObjects
from kymatui.engine.jobs.job_progress import JobProgress, read_at_stop
from kymatui.engine.plans.plan import git_of
from kymatui.errors import CancelledError


class ManagedBy(StrEnum):
    """The manager of the installed module, which also deletes it."""

    KYMA = "lifecycle-manager"
    MANIFEST = "the controller of its Manifest"
    DIRECT = "kymatui"
    UNMANAGED = "nothing (unmanaged in the Kyma)"
    SOMEBODY = "an unknown installer"
    NOBODY = "nothing"

    @property
    def message(self) -> str:
        """Return the manager for a sentence or a title."""
        match self:
            case ManagedBy.NOBODY:
                return "not managed"
            case ManagedBy.UNMANAGED:
                return "not managed (unmanaged in the Kyma)"
            case _:
                return f"managed by {self.value}"


class ModuleCRHandling(StrEnum):
    """The handling of the default CR while lifecycle-manager manages the module.

    lifecycle-manager may recreate a CR that is deleted manually. So it deletes the CR itself, or is first set to
    ignore the CR, or releases the whole module.
    """

    LET = "let"
    IGNORE = "ignore"
    UNMANAGE = "unmanage"


class NextStep(StrEnum):
    """The next step of the deletion."""

    REFUSED = "cannot be deleted here"
    UNKNOWN = "check which managed objects are left"
    IGNORE = "set the policy to Ignore in the Kyma"
    UNMANAGE = "set the module to unmanaged in the Kyma"
    CLEAR = "delete the managed objects"
    LEAVE = "remove the module from the Kyma"
    FOLLOW = "lifecycle-manager uninstalls the module"
    MANIFEST = "delete the Manifest"
    UNDEPLOY = "delete the module's own objects"
    GONE = "deleted completely"


class StageStatus(StrEnum):
    """The progress of one stage."""

    DONE = "done"
    NOW = "now"
    AHEAD = "ahead"
    NOT_NEEDED = "not needed"


class DeletionStage(Struct, frozen=True):
    """One stage of the flowchart for display."""

    title: str
    progressed: StageStatus
    message: str = ""


class DeletionState(Struct, frozen=True):
    """The remains of a module that is to be deleted.

    remaining    objects that its manager handles; `ours` are deleted together with the module
    default      the default CR, if it exists
    requested    whether the Kyma requests it; `reported` is the state in the Kyma's status, "" for none
    by_hand      lifecycle-manager ignores or left the default CR, so kymatui or the user deletes it
    is_left      it is by_hand, although no policy is known: lifecycle-manager deletes the module, and not its CR
    manager      its workload, if it exists; `runs` tells whether it can still remove finalizers
    definitions  its remaining CRDs
    uninstall        the uninstall plan of a direct installation, else None
    manifest     its Manifest, which has to be deleted if no Kyma requests the module
    control      name of the Manifest's cluster, "" if it is the same
    reported_by_manifest  the Manifest's own state
    refusal      why it cannot be deleted from here
    entry        its entry in the Kyma, or None
    manifest_uid uid of its Manifest, "" for none
    is_held      whether finalizers that lifecycle-manager does not remove block the deletion of its Manifest
    foreseen     known deviations of lifecycle-manager, as sentences with a solution
    edited       the change of its Kyma or Manifest where that comes from Git
    installer    who installed it directly, where that is known: kymatui, helm, flux
    keeper       what works on the Kyma: lifecycle-manager or kymatui's operator
    missing      permissions that the deletion needs and the user lacks; only plans have them
    """

    cluster: str
    module: str
    managed_by: ManagedBy
    handling: ModuleCRHandling = ModuleCRHandling.LET
    installed: str = ""
    remaining: ManagedObjects = field(default_factory=ManagedObjects)
    default: ManagedObject | None = None
    requested: bool = False
    reported: str = ""
    by_hand: bool = False
    is_left: bool = False
    manager: ObjectRef | None = None
    runs: bool = False
    definitions: tuple[ObjectRef, ...] = ()
    uninstall: UninstallPlan | None = None
    manifest: ObjectRef | None = None
    control: str = ""
    reported_by_manifest: str = ""
    refusal: str = ""
    entry: ModuleRequest | None = None
    manifest_uid: str = ""
    is_held: bool = False
    foreseen: tuple[str, ...] = ()
    edited: GitChanges = ()
    installer: str = ""
    keeper: Actor = Actor.KLM
    missing: tuple[RequiredPermission, ...] = ()

    @property
    def managed_by_words(self) -> str:
        """Return who manages the module, as a phrase."""
        if self.managed_by in (ManagedBy.DIRECT, ManagedBy.SOMEBODY) and self.installer:
            return f"managed by {self.installer}"
        return with_keeper(self.managed_by.message, self.keeper)

    @property
    def has_manager(self) -> bool:
        """Return whether something manages the installed module."""
        return self.managed_by is not ManagedBy.NOBODY

    @property
    def accepted(self) -> AcceptedObjects:
        """Return the objects that the state displays and the user accepts."""
        stays = [(instance.ref, instance.uid) for instance in self.remaining.instances if instance.stays]
        goes = [(instance.ref, instance.uid) for instance in self.remaining.instances if not instance.stays]
        shown = AcceptedObjects.of(goes, stays)
        manifest = AcceptedObjects.of([(self.manifest, self.manifest_uid)] if self.manifest is not None else ())
        own = self.uninstall.accepted if self.uninstall is not None else AcceptedObjects()
        return shown | manifest | own

    @property
    def theirs(self) -> tuple[ManagedObject, ...]:
        """Return the objects that must and may be deleted before the manager."""
        own = (
            managed_object
            for managed_object in self.remaining.ours
            if self.deletes_default and not managed_object.applied
        )
        return (*(managed_object for managed_object in self.remaining.theirs if not managed_object.stays), *own)

    @property
    def deletes_default(self) -> bool:
        """Return whether kymatui deletes the default CR, because nothing else does."""
        return self.by_hand or self.managed_by is ManagedBy.NOBODY

    @property
    def by_hand_words(self) -> str:
        """Return when and why kymatui deletes a default CR that is `by_hand`."""
        return f"deleted before the module: {f'{self.keeper} left it' if self.is_left else 'the policy is Ignore'}"

    @property
    def deleted_objects(self) -> tuple[ManagedObject, ...]:
        """Return the managed objects that go with the module, each once."""
        default = (self.default,) if self.default is not None else ()
        managed_objects = (*self.theirs, *self.remaining.ours, *default)
        return tuple(
            {
                managed_object.ref: managed_object for managed_object in managed_objects if not managed_object.stays
            }.values()
        )

    @property
    def blocking(self) -> tuple[ManagedObject, ...]:
        """Return the objects that block the deletion and are not being deleted yet."""
        return tuple(managed_object for managed_object in self.theirs if managed_object.deleted_at is None)

    @property
    def stuck(self) -> tuple[ManagedObject, ...]:
        """Return the objects that are being deleted and still exist."""
        return tuple(instance for instance in self.remaining.instances if instance.deleted_at is not None)

    @property
    def git(self) -> GitChanges:
        """Return what comes from Git of what is edited and deleted."""
        own = git_of(self.uninstall.steps, release=self.uninstall.inventory.chart) if self.uninstall is not None else ()
        objects = changes_of((managed_object.git, managed_object.ref) for managed_object in self.deleted_objects)
        return (*self.edited, *own, *objects)

    @property
    def warnings(self) -> tuple[str, ...]:
        """Return what is foreseen, and what Git puts back of what is deleted."""
        return (*dict.fromkeys(self.foreseen), *git_warnings(self.git))

    def next_step(self, *, accept_unknown: bool = False) -> NextStep:
        """Return the next step of the flowchart."""
        if self.managed_by is ManagedBy.NOBODY and not self.remaining.unknown:
            return NextStep.CLEAR if self.theirs else NextStep.GONE
        if self.refusal:
            return NextStep.REFUSED
        if self.remaining.unknown and not accept_unknown:
            # a kind that cannot be listed may have objects that block the deletion
            return NextStep.UNKNOWN
        if self.managed_by is ManagedBy.KYMA and self.requested and self.handling is ModuleCRHandling.UNMANAGE:
            return NextStep.UNMANAGE
        if (
            self.managed_by is ManagedBy.KYMA
            and self.requested
            and self.handling is ModuleCRHandling.IGNORE
            and self._may_return
        ):
            return NextStep.IGNORE
        if self.theirs:
            return NextStep.CLEAR
        match self.managed_by:
            case ManagedBy.KYMA:
                return NextStep.LEAVE if self.requested else NextStep.FOLLOW
            case ManagedBy.MANIFEST:
                return NextStep.MANIFEST
            case ManagedBy.NOBODY:
                return NextStep.GONE
            case _:
                return NextStep.UNDEPLOY

    @property
    def _may_return(self) -> bool:
        """Return whether lifecycle-manager would recreate the default CR."""
        return self.default is not None and not self.by_hand

    @property
    def advice(self) -> str:
        """Return advice for objects whose finalizers no manager can remove, else ""."""
        if self.managed_by is not ManagedBy.NOBODY:
            held = [deleted_object for deleted_object in self.deleted_objects if deleted_object.finalizers]
            is_managed = self.managed_by in (ManagedBy.KYMA, ManagedBy.MANIFEST) or self.manager is not None
            is_kept = self.handling is ModuleCRHandling.UNMANAGE or not is_managed or self.runs
            return "" if is_kept or not held else f"{expected(self)}. Finalizers: {count_by_kind(held)}"
        if not self.theirs:
            return ""
        return (
            f"the manager of {self.module} is missing, so finalizers are not removed and nothing is cleaned up. "
            f"Install {self.module} again so that its manager does it, or delete what is left"
        )

    @property
    def warning(self) -> str:
        """Return the warning against deleting the default CR manually, else ""."""
        if self.managed_by is not ManagedBy.KYMA or not self.requested or not self._may_return:
            return ""
        assert self.default is not None
        return (
            f"{self.default.ref} is the default CR: while the Kyma requests the module, {self.keeper} may create "
            f"it again after you delete it. Let {self.keeper} delete it, set the policy to Ignore first, or "
            "unmanage the module"
        )


def requested(entry: Mapping[str, Any] | None) -> ModuleRequest | None:
    """Return what an entry of the Kyma requests, with defaults."""
    return read_request(JsonReader(entry)) if entry is not None else None


def new_manager_since(agreed: DeletionState, state: DeletionState, *, has_left: bool = False) -> str:
    """Return who adopted the module after the user accepted its deletion, "" for none.

    `has_left` means that the deletion already removed the Kyma entry; a new entry is then a new request.
    """
    if state.managed_by is ManagedBy.KYMA and state.requested and (has_left or not agreed.requested):
        return f"another client has enabled {state.module} in the Kyma meanwhile"
    if state.managed_by is ManagedBy.DIRECT and agreed.managed_by is not ManagedBy.DIRECT:
        return f"another client has installed {state.module} {state.installed}".rstrip() + " meanwhile"
    return ""


def count_by_kind(objects: Iterable[ManagedObject]) -> str:
    """Return `2 APIRule (billing/invoices, shop/orders)`; of each kind three names at most."""
    names: dict[str, list[str]] = {}
    for managed_object in objects:
        names.setdefault(managed_object.ref.kind.kind, []).append(managed_object.ref.path)
    return ", ".join(
        f"{len(kind_names)} {kind} ({', '.join(kind_names[:3])}{', …' if len(kind_names) > 3 else ''})"
        for kind, kind_names in names.items()
    )


def explain_finalizers(state: DeletionState) -> str:
    """Return what keeps the finalizers: objects that block the deletion, or a manager that does not remove them."""
    if state.manager is not None and state.runs and state.blocking:
        return f"{state.manager} keeps the finalizers while these objects exist: {count_by_kind(state.blocking)}"
    return expected(state)


def expected(state: DeletionState) -> str:
    """Return which manager has to remove the finalizers, and whether it can."""
    if state.manager is None:
        return f"the manager of {state.module} is missing, so its finalizers stay: install the module again first"
    if not state.runs:
        return f"{state.manager} has to remove the finalizers and is not ready: repair it first"
    return f"{state.manager} has to remove the finalizers and is running: read its logs (`kymatui logs {state.module}`)"


def deletion_stages(
    departure: DeletionState, *, accept_unknown: bool = False, begun: DeletionState | None = None
) -> tuple[DeletionStage, ...]:
    """Return all stages with the current one marked; completed ones stay as they were in `begun`, an earlier state."""
    step = departure.next_step(accept_unknown=accept_unknown)
    theirs, going = (
        len(departure.theirs),
        sum(managed_object.deleted_at is not None for managed_object in departure.theirs),
    )
    at = _at(step, theirs, going)
    remaining_count = f"{theirs} left" if theirs else "none"
    count = len(departure.remaining.unknown)
    unknown = f", {count} {'kinds' if count > 1 else 'kind'} unknown" if count else ""
    is_gone = step is NextStep.GONE and begun is not None
    known = begun if begun is not None and is_gone else departure
    last = [(title, "") for title, _ in _last_part(known)] if is_gone else _last_part(known)
    titles = [
        ("Installed module", f"{known.installed}, {known.managed_by_words}".removeprefix(", ")),
        ("Count managed objects", remaining_count + unknown),
        ("Delete them", f"{theirs - going} to delete" if theirs else ""),
        ("Wait for their deletion", f"{going} being deleted" if going else ""),
        *last,
    ]
    had_objects = theirs or (begun is not None and begun.theirs)
    skipped = set() if had_objects else {2, 3}
    return tuple(
        DeletionStage(title, _progressed(number, at, skipped), words) for number, (title, words) in enumerate(titles)
    )


def deletion_options(state: DeletionState) -> tuple[ModuleCRHandling, ...]:
    """Return the options for the default CR, the usual one first."""
    if state.managed_by is not ManagedBy.KYMA or not state.requested:
        return (ModuleCRHandling.LET,)
    ignore = (ModuleCRHandling.IGNORE,) if state.default is not None else ()
    return (ModuleCRHandling.LET, *ignore, ModuleCRHandling.UNMANAGE)


def _last_part(departure: DeletionState) -> list[tuple[str, str]]:
    """Return the stages of the module's own deletion, which depend on its manager."""
    definitions = f"{len(departure.definitions)} left" if departure.definitions else ""
    manager = departure.manager.name if departure.manager is not None else ""
    match departure.managed_by:
        case ManagedBy.KYMA:
            first, second = "Remove from the Kyma", "Module CR and Manifest"
        case ManagedBy.MANIFEST:
            first, second = "Delete the Manifest", "Module CR and objects"
        case _:
            first, second = "Delete the module CR", "Delete its objects"
    return [(first, ""), (second, departure.reported), ("Module's manager", manager), ("CRDs", definitions)]


def _at(step: NextStep, theirs: int, going: int) -> int:
    match step:
        case NextStep.REFUSED:
            return 0
        case NextStep.UNKNOWN:
            return 1
        case NextStep.CLEAR:
            return 3 if theirs and going == theirs else 2
        case NextStep.IGNORE | NextStep.UNMANAGE | NextStep.LEAVE | NextStep.MANIFEST | NextStep.UNDEPLOY:
            return 4
        case NextStep.FOLLOW:
            return 5
        case NextStep.GONE:
            return 8


def _progressed(number: int, at: int, skipped: set[int]) -> StageStatus:
    if number == at:
        return StageStatus.NOW
    if number in skipped:
        return StageStatus.NOT_NEEDED
    return StageStatus.DONE if number < at else StageStatus.AHEAD


# How far a deletion came when it was stopped: which of the displayed objects are gone, going, and untouched.


_ENTRY: Final = ("Edited", "", "Not edited")


class DeletionSoFar(Struct, frozen=True):
    """What a stopped deletion knows of itself: what was deleted, whether the Kyma is edited, and what undoes it."""

    gone: tuple[ObjectRef, ...]
    has_left: bool
    undo: str


def stopped_deletion(
    error: CancelledError, state: DeletionState, known: DeletionSoFar, cluster: Cluster, manifests_on: Cluster
) -> CancelledError:
    """Return the error of a stopped deletion with what is deleted, being deleted and left of its plan."""
    gone = tuple(dict.fromkeys((*known.gone, *error.gone)))
    progress = [_progress(state, gone, cluster, manifests_on, known.undo)]
    if state.requested:
        entry = (f"entry of {state.module} in the Kyma",)
        progress.append(JobProgress(_ENTRY, entry if known.has_left else (), remaining=() if known.has_left else entry))
    stopped = CancelledError(str(error), hint=error.hint, progress=tuple(progress))
    stopped.gone = gone
    return stopped


def _progress(
    state: DeletionState, gone: tuple[ObjectRef, ...], cluster: Cluster, manifests_on: Cluster, undo: str
) -> JobProgress:
    uids = {ref: uid for ref, uid in planned_objects(state) if ref not in gone}
    deleted = list(map(str, gone))
    bodies = read_at_stop(list(uids), lambda ref: manifests_on if ref == state.manifest else cluster)
    if bodies is None:
        return JobProgress(done=tuple(deleted), unknown=tuple(map(str, uids)), undo=undo if deleted else "")
    ongoing, remaining = list[tuple[str, str]](), list[str]()
    for (ref, uid), body in zip(uids.items(), bodies, strict=True):
        if body is None or (uid and uid_of(body) != uid):
            deleted.append(str(ref))
        elif body["metadata"].get("deletionTimestamp"):
            ongoing.append((str(ref), deletion_blocker(body).removeprefix(", ").removeprefix("blocked by ")))
        else:
            remaining.append(str(ref))
    changed = deleted or ongoing
    return JobProgress(
        done=tuple(deleted), ongoing=tuple(ongoing), remaining=tuple(remaining), undo=undo if changed else ""
    )


def planned_objects(state: DeletionState) -> tuple[tuple[ObjectRef, str], ...]:
    """Return the objects that a deletion has to delete, in its order, with their uids ("" if unknown)."""
    objects = [(deleted_object.ref, deleted_object.uid) for deleted_object in state.deleted_objects]
    if state.manifest is not None and state.managed_by is ManagedBy.MANIFEST:
        objects.append((state.manifest, state.manifest_uid))
    if state.uninstall is not None:
        objects += [(step.ref, step.uid) for step in state.uninstall.deletions]
    return tuple(dict(objects).items())
