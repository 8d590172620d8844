"""A plan: everything that an installation, an upgrade or a deletion will do, as data that can be reviewed and kept."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from kymatui.domain.kubernetes.refs import GroupVersionKind, ObjectRef
from kymatui.domain.kyma.kymas import Policy
from kymatui.engine.bundles.bundle import Bundle
from kymatui.engine.plans.diff import FieldDiff
from kymatui.engine.plans.grants import Grant


class Action(StrEnum):
    """What happens to one object."""

    CREATE = "create"
    CHANGE = "change"
    SAME = "same"
    DELETE = "delete"
    KEEP = "keep"  # would be deleted, and is not, for the reason that stands beside it
    CONFLICT = "conflict"  # others own fields that would change; needs force
    BLOCKED = "blocked"  # the server, or a rule, refuses it


class BundlePart(StrEnum):
    """What an object is in its bundle."""

    NAMESPACE = "namespace"  # that the bundle lives in, and does not bring
    DEFINITION = "definition"  # created where it is missing, never changed
    OBJECT = "object"
    RESOURCE = "resource"  # the module's default custom resource
    PREVIOUS = "previous"  # an earlier version had it
    HOOK = "hook"  # of a chart: runs at its event


@dataclass(frozen=True, slots=True)
class FieldConflict:
    """A field that another field manager owns."""

    path: str
    manager: str


@dataclass(frozen=True, slots=True)
class Step:
    """One object and what happens to it.

    wave       steps of one wave run side by side; deletions have waves of their own, after all others
    reason     why it is blocked or kept, or what a person should know of it
    unchecked  the server could not be asked yet: the definition or the namespace comes with the plan
    adopted    the object was there before, and nobody said that it is his
    event      of a hook: when it runs, "pre-install"; its `wave` is its weight
    inherits   helm wrote to it for the same release: its fields become kymatui's first (see `inheriting`)
    uid        of the object that is deleted or kept: another one of its name is left
    takes      uids of what goes with it: the instances of a definition, the content of a namespace
    """

    action: Action
    ref: ObjectRef
    wave: int
    part: BundlePart = BundlePart.OBJECT
    changes: tuple[FieldDiff, ...] = ()
    conflicts: tuple[FieldConflict, ...] = ()
    reason: str = ""
    unchecked: bool = False
    adopted: bool = False
    event: str = ""
    inherits: bool = False
    uid: str = ""
    takes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ObservedVersion:
    """An object as it was when the plan was made; empty words where it was not there. See `diffing.stamp`."""

    uid: str = ""
    resource_version: str = ""
    stamp: str = ""


@dataclass(frozen=True, slots=True)
class RequiredPermission:
    """Something that the user would have to be allowed."""

    verb: str
    kind: GroupVersionKind
    namespace: str = ""

    def __str__(self) -> str:
        where = f"in {self.namespace}" if self.namespace else "in the whole cluster"
        return f"{self.verb} {self.kind} {where}"


@dataclass(frozen=True, slots=True)
class Intent:
    """What is wanted.

    force               fields that others own are taken from them
    prune               what an earlier version had and this one has not is deleted
    prune_definitions   also CustomResourceDefinitions, and so all their instances
    prune_namespaces    also Namespaces, and everything in them
    associated          further kinds whose objects the module's manager looks after; it stays as long as they do
    rollback_to         the bundle is this earlier revision of a chart's release; 0 where it is none
    module              the module's name in a Kyma: refused where one asks for it
    create_namespace    the bundle's namespace is created where it is missing
    adopt               what is there becomes part of the installation, also what a lifecycle-manager has let go of
    adopted_version     with `adopt`: the version that is there, "" where it is not known
    outdated            with `adopt`: the objects of that version that the bundle does not have
    """

    bundle: Bundle
    force: bool = False
    prune: bool = True
    prune_definitions: bool = False
    prune_namespaces: bool = False
    policy: Policy = Policy.CREATE_AND_DELETE
    associated: tuple[GroupVersionKind, ...] = ()
    create_namespace: bool = True
    module: str = ""
    rollback_to: int = 0
    adopt: bool = False
    adopted_version: str = ""
    outdated: tuple[ObjectRef, ...] = ()


@dataclass(frozen=True, slots=True)
class Plan:
    """What `apply` will do on the cluster of that name.

    intent     with its bundle as it will be sent: namespaces, marks, order
    waves      the objects to apply are those of the bundle; each step names its own
    first      nothing of that name has ever been installed to its end
    observed   what was seen; the plan is refused when that is no longer so
    inventory  the resourceVersion of the inventory that was seen, "" where there was none
    unfinished an earlier run was cut off; carrying out the plan finishes it
    hooks      what will run before and after the steps, in its order
    """

    cluster: str
    intent: Intent
    steps: tuple[Step, ...]
    first: bool
    made_at: float
    grants: tuple[Grant, ...] = ()
    missing: tuple[RequiredPermission, ...] = ()
    notes: tuple[str, ...] = ()
    observed: tuple[tuple[ObjectRef, ObservedVersion], ...] = ()
    inventory: str = ""
    unfinished: bool = False
    hooks: tuple[Step, ...] = ()

    @property
    def bundle(self) -> Bundle:
        return self.intent.bundle

    def of(self, *actions: Action) -> tuple[Step, ...]:
        """The steps of some actions."""
        return tuple(step for step in self.steps if step.action in actions)

    @property
    def verb(self) -> str:
        """install, upgrade or rollback, as hooks call it."""
        return "rollback" if self.intent.rollback_to else "install" if self.first else "upgrade"

    @property
    def deed(self) -> str:
        """What a person is asked for: the verb, or the change of the owner, and of the version where it changes."""
        if not self.intent.adopt:
            return self.verb
        before = self.intent.adopted_version
        return "adopt and upgrade" if before and before != self.bundle.version else "adopt"

    @property
    def purpose(self) -> str:
        """What a journal says that it is for: what went on would not be the same without the intent to take over."""
        verb = "adopt" if self.intent.adopt else self.verb
        return f"{verb} {self.bundle.name} {self.bundle.version}".rstrip()

    @property
    def waves(self) -> tuple[tuple[Step, ...], ...]:
        """The steps one group after the other; those of one group run side by side."""
        numbers = sorted({step.wave for step in self.steps})
        return tuple(tuple(step for step in self.steps if step.wave == number) for number in numbers)

    @property
    def blockers(self) -> tuple[Step, ...]:
        """What keeps the plan from being carried out as it is."""
        actions = (Action.BLOCKED,) if self.intent.force else (Action.BLOCKED, Action.CONFLICT)
        return (*(hook for hook in self.hooks if hook.action is Action.BLOCKED), *self.of(*actions))

    @property
    def changes_nothing(self) -> bool:
        """Whether everything is as it should be already, and was finished."""
        return not self.first and not self.unfinished and not self.writes

    @property
    def writes(self) -> tuple[Step, ...]:
        """The steps that write."""
        return self.of(Action.CREATE, Action.CHANGE, Action.DELETE, Action.CONFLICT)
