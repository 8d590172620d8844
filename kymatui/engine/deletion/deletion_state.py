"""Where the guided deletion of a module stands: the flowchart, walked anew with what the cluster says at this moment.

    managed resources exist? - continue? - delete them - wait - look again - through the Kyma, or directly - the end

Nothing is remembered: whoever looks again, later or from another machine, finds the place where it was left.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from kymatui.domain.kubernetes.json_reader import JsonReader
from kymatui.domain.kubernetes.refs import ObjectRef
from kymatui.domain.kyma.kymas import ModuleRequest, read_request
from kymatui.domain.plans.accepted_objects import AcceptedObjects
from kymatui.engine.deletion.uninstall_plan import UninstallPlan
from kymatui.engine.inventory.managed_resources import ManagedObject, ManagedObjects


class ManagedBy(StrEnum):
    """Who looks after what is installed, and so who takes it away."""

    KYMA = "lifecycle-manager"
    MANIFEST = "the owner of its Manifest"
    DIRECT = "kymatui"
    UNMANAGED = "nobody: the Kyma says that it is unmanaged"
    SOMEBODY = "somebody else, who left no record of it"
    NOBODY = "nobody"


class ModuleCRHandling(StrEnum):
    """What becomes of the module's default resource while lifecycle-manager is in charge.

    Deleted by hand it may be created again, and the module with it. So lifecycle-manager deletes it, or is told
    beforehand to ignore it, or lets go of the whole module.
    """

    LET = "let"
    IGNORE = "ignore"
    UNMANAGE = "unmanage"


class NextStep(StrEnum):
    """What comes next."""

    REFUSED = "it cannot be deleted from here"
    UNKNOWN = "nobody knows whether something is left"
    IGNORE = "the Kyma is told to ignore the default resource"
    UNMANAGE = "lifecycle-manager is told to let go"
    CLEAR = "what the module manages is deleted"
    LEAVE = "the module is taken out of the Kyma"
    FOLLOW = "lifecycle-manager takes the module away"
    MANIFEST = "its Manifest is deleted"
    UNDEPLOY = "the module's own objects are deleted"
    GONE = "nothing of it is left"


class StageStatus(StrEnum):
    """How far one step of the flowchart is; the signs stand on screens without words."""

    DONE = "done"
    NOW = "now"
    AHEAD = "ahead"
    NOT_NEEDED = "not needed"


@dataclass(frozen=True, slots=True)
class DeletionStage:
    """One step of the flowchart as it is shown."""

    title: str
    progressed: StageStatus
    words: str = ""


@dataclass(frozen=True, slots=True)
class DeletionState:
    """What there is of a module that is to go.

    remaining    what its manager looks after; `ours` are those that go with the module by themselves
    default      the module's default resource, where it is there
    requested    the Kyma asks for it; `reported` is what the Kyma's status says of it, "" where nothing
    by_hand      lifecycle-manager ignores the default resource: whoever wants the module gone deletes it
    manager      its workload, where it is there; `runs` says whether it can still let anything go
    definitions  the CustomResourceDefinitions that came with it and are still there
    found        what kymatui installed of it, None where that is nothing
    manifest     its Manifest; where no Kyma asks for it, it is what has to be deleted
    control      the cluster of the Manifest, where that is another: "" where both are on the same
    reported_by_manifest  what the Manifest says of itself
    refusal      why it cannot be deleted from here
    entry        what the Kyma requests of it, None where it has no entry
    manifest_uid of its Manifest, "" where there is none
    foreseen     what lifecycle-manager is known to do otherwise than its API says, in sentences with the way out
    """

    cluster: str
    module: str
    charge: ManagedBy
    way: ModuleCRHandling = ModuleCRHandling.LET
    installed: str = ""
    remaining: ManagedObjects = field(default_factory=ManagedObjects)
    default: ManagedObject | None = None
    requested: bool = False
    reported: str = ""
    by_hand: bool = False
    manager: ObjectRef | None = None
    runs: bool = False
    definitions: tuple[ObjectRef, ...] = ()
    found: UninstallPlan | None = None
    manifest: ObjectRef | None = None
    control: str = ""
    reported_by_manifest: str = ""
    refusal: str = ""
    entry: ModuleRequest | None = None
    manifest_uid: str = ""
    foreseen: tuple[str, ...] = ()

    @property
    def accepted(self) -> AcceptedObjects:
        """The objects that it displays: what a person accepts with it."""
        shown = AcceptedObjects.of((one.ref, one.uid) for one in self.remaining.instances)
        manifest = AcceptedObjects.of([(self.manifest, self.manifest_uid)] if self.manifest is not None else ())
        own = self.found.accepted if self.found is not None else AcceptedObjects()
        return shown | manifest | own

    @property
    def theirs(self) -> tuple[ManagedObject, ...]:
        """What has to be gone before the manager may go, and may be deleted."""
        own = (one for one in self.remaining.ours if self.by_hand and not one.applied)
        return (*(one for one in self.remaining.theirs if not one.shared), *own)

    @property
    def stuck(self) -> tuple[ManagedObject, ...]:
        """What is being deleted, and held."""
        return tuple(one for one in self.remaining.instances if one.deleted_at is not None)

    def turn(self, *, accept_unknown: bool = False) -> NextStep:
        """What comes next, by the flowchart."""
        if self.charge is ManagedBy.NOBODY and not self.remaining.unknown:
            return NextStep.CLEAR if self.theirs else NextStep.GONE
        if self.refusal:
            return NextStep.REFUSED
        if self.remaining.unknown and not accept_unknown:
            return NextStep.UNKNOWN
        if self.charge is ManagedBy.KYMA and self.requested and self.way is ModuleCRHandling.UNMANAGE:
            return NextStep.UNMANAGE
        if (
            self.charge is ManagedBy.KYMA
            and self.requested
            and self.way is ModuleCRHandling.IGNORE
            and self._may_return
        ):
            return NextStep.IGNORE
        if self.theirs:
            return NextStep.CLEAR
        match self.charge:
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
        """Whether the default resource would be created again."""
        return self.default is not None and not self.by_hand

    @property
    def advice(self) -> str:
        """What is to be known where what is left has no manager any more; "" otherwise."""
        if self.charge is not ManagedBy.NOBODY or not self.theirs:
            return ""
        return (
            f"the manager of {self.module} is not there: nobody cleans up behind what is deleted, and nobody lets go "
            f"of a finalizer. Install {self.module} again to let its manager do it, or delete what is left as it is"
        )

    @property
    def warning(self) -> str:
        """What is to be known before the default resource is deleted by hand; "" where it may be."""
        if self.charge is not ManagedBy.KYMA or not self.requested or not self._may_return:
            return ""
        assert self.default is not None
        return (
            f"{self.default.ref} belongs to the module: while the Kyma asks for the module, lifecycle-manager may "
            "create it again when it is deleted by hand. Let lifecycle-manager delete it, set the policy to Ignore "
            "first, or unmanage the module"
        )


def requested(entry: Mapping[str, Any] | None) -> ModuleRequest | None:
    """Return what an entry of the Kyma requests, however it is written."""
    return read_request(JsonReader(entry)) if entry is not None else None


def new_manager_since(agreed: DeletionState, seen: DeletionState, *, has_left: bool = False) -> str:
    """Who has taken the module up since its deletion was agreed to; "" where nobody has.

    `has_left` says that the deletion has taken it out of the Kyma already: who asks for it then wants it again.
    """
    if seen.charge is ManagedBy.KYMA and seen.requested and (has_left or not agreed.requested):
        return f"somebody has asked the Kyma for {seen.module} meanwhile"
    if seen.charge is ManagedBy.DIRECT and agreed.charge is not ManagedBy.DIRECT:
        return f"somebody has installed {seen.module} {seen.installed}".rstrip() + " meanwhile"
    return ""


def expected(seen: DeletionState) -> str:
    """Who removes the finalizers of what a module manages, and whether he still can."""
    if seen.manager is None:
        return f"the manager of {seen.module} is not there, and nobody will remove its finalizers: bring it back first"
    if not seen.runs:
        return f"{seen.manager} has to remove the finalizers, and it is not ready: see to it first"
    return f"{seen.manager} has to remove the finalizers, and it runs: see its log and events"


def deletion_stages(departure: DeletionState, *, accept_unknown: bool = False) -> tuple[DeletionStage, ...]:
    """The whole way, one station after the other, with the present one marked."""
    turn = departure.turn(accept_unknown=accept_unknown)
    theirs, going = len(departure.theirs), sum(one.deleted_at is not None for one in departure.theirs)
    at = _at(turn, theirs, going)
    left = f"{theirs} left" if theirs else "none"
    count = len(departure.remaining.unknown)
    unknown = f", {count} {'kinds' if count > 1 else 'kind'} unknown" if count else ""
    titles = [
        ("What is installed", f"{departure.installed} by {departure.charge.value}".strip()),
        ("Managed resources?", left + unknown),
        ("Delete them", f"{theirs - going} to delete" if theirs else ""),
        ("Wait until gone", f"{going} being deleted" if going else ""),
        *_last_part(departure),
    ]
    skipped = {2, 3} if not theirs else set()
    return tuple(
        DeletionStage(title, _progressed(number, at, skipped), words) for number, (title, words) in enumerate(titles)
    )


def _last_part(departure: DeletionState) -> list[tuple[str, str]]:
    """Who takes the module itself away."""
    definitions = f"{len(departure.definitions)} there" if departure.definitions else ""
    manager = departure.manager.name if departure.manager is not None else ""
    match departure.charge:
        case ManagedBy.KYMA:
            first, second = "Remove from the Kyma", "Resource and Manifest"
        case ManagedBy.MANIFEST:
            first, second = "Delete the Manifest", "Resource and objects"
        case _:
            first, second = "The module's resource", "Its objects, in reverse"
    return [(first, ""), (second, departure.reported), ("Manager undeployed", manager), ("Definitions", definitions)]


def _at(turn: NextStep, theirs: int, going: int) -> int:
    match turn:
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
