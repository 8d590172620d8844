"""Plans: what an installation, upgrade or deletion does, with the differences; to be reviewed, saved and read."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping
from enum import StrEnum
from typing import Any, Final

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from kymatui.domain.gitops import GitChanges, GitSource, changes_of
from kymatui.domain.kubernetes.object_meta import LAST_APPLIED, read_kind
from kymatui.domain.kubernetes.privileges import find_privileges
from kymatui.domain.kubernetes.refs import GroupVersionKind, ObjectRef
from kymatui.domain.kubernetes.terminal_text import cut_text
from kymatui.domain.kyma.kymas import Policy
from kymatui.domain.rights import RequiredPermission
from kymatui.domain.versions.version_diff import ChangeKind, ValueChange, field_changes
from kymatui.engine.bundles.bundle import HIDDEN, Bundle, HiddenContent
from kymatui.engine.cluster.ports import Object
from kymatui.errors import ConfigurationError
from kymatui.json_input import JsonInputError, read_json
from kymatui.structs import resolved_type

# The permissions that a module gets: roles that it installs or binds.


_RBAC: Final = "rbac.authorization.k8s.io"


class Grant(Struct, frozen=True):
    """One binding: role ("ClusterRole manager"), subjects, and namespace ("" for the whole cluster).

    `rules` are those of the role, empty if the bundle does not have it. `warnings` describe dangerous permissions.
    """

    role: str
    subjects: tuple[str, ...]
    namespace: str = ""
    rules: tuple[Mapping[str, Any], ...] = ()
    warnings: tuple[str, ...] = ()

    @property
    def cluster_wide(self) -> bool:
        return not self.namespace


def list_grants(objects: Iterable[Object]) -> tuple[Grant, ...]:
    """Return the grants of the bindings among the objects, cluster-wide ones first."""
    rbac = [body for body in objects if str(body.get("apiVersion") or "").startswith(f"{_RBAC}/")]
    roles = {
        _role_key(body): tuple(body.get("rules") or ()) for body in rbac if body["kind"] in ("Role", "ClusterRole")
    }
    grants = [_grant(body, roles) for body in rbac if body["kind"] in ("RoleBinding", "ClusterRoleBinding")]
    return tuple(sorted(grants, key=lambda grant: (not grant.cluster_wide, grant.role, grant.namespace)))


def _role_key(body: Object) -> tuple[str, str, str]:
    metadata = body["metadata"]
    namespace = metadata.get("namespace", "") if body["kind"] == "Role" else ""
    return body["kind"], namespace, metadata["name"]


def _grant(binding: Object, roles: Mapping[tuple[str, str, str], tuple[Mapping[str, Any], ...]]) -> Grant:
    wide = binding["kind"] == "ClusterRoleBinding"
    namespace = "" if wide else str(binding["metadata"].get("namespace") or "")
    ref: Mapping[str, Any] = binding.get("roleRef") or {}
    kind, name = str(ref.get("kind") or ""), str(ref.get("name") or "")
    rules = roles.get((kind, namespace if kind == "Role" else "", name), ())
    subjects = tuple(_subject(subject) for subject in binding.get("subjects") or ())
    return Grant(
        f"{kind} {name}",
        subjects,
        namespace,
        rules,
        tuple(power.message for power in find_privileges(kind, name, rules)),
    )


def _subject(subject: Mapping[str, Any]) -> str:
    namespace = f"{subject['namespace']}/" if subject.get("namespace") else ""
    return f"{subject.get('kind', '')} {namespace}{subject.get('name', '')}"


class Action(StrEnum):
    """The actions on one object."""

    CREATE = "create"
    CHANGE = "change"
    SAME = "same"
    DELETE = "delete"
    KEEP = "keep"  # would be deleted, but is kept for the given reason
    CONFLICT = "conflict"  # others own fields that would change; needs force
    BLOCKED = "blocked"  # the server or a rule rejects it


class BundlePart(StrEnum):
    """The parts of a bundle."""

    NAMESPACE = "namespace"  # the bundle's namespace, not part of its objects
    DEFINITION = "definition"  # created if missing, never changed
    OBJECT = "object"
    RESOURCE = "resource"  # the module's default CR
    PREVIOUS = "previous"  # of an earlier version only
    HOOK = "hook"  # a chart's hook


class FieldConflict(Struct, frozen=True):
    """A field that another field manager owns."""

    path: str
    manager: str


class Step(Struct, frozen=True):
    """One object and its action.

    wave       steps of one wave run in parallel; deletions have later waves of their own
    reason     why it is blocked or kept, or a note for the user
    unchecked  no dry run was possible: the CRD or namespace is part of the plan
    adopted    the object existed before, without an owner
    event      event of a hook, as in "pre-install"; its `wave` is its weight
    inherits   helm wrote to it for the same release, so its fields are transferred first (see `field_takeover`)
    uid        uid of the object to delete or keep; a recreated object is kept
    version    resource version of that object, "" while it is being deleted
    takes      uids of what is deleted with it: a CRD's instances, a namespace's content
    git        what applies it from Git, None for nothing
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
    version: str = ""
    takes: tuple[str, ...] = ()
    git: GitSource | None = None


def git_of(steps: Iterable[Step], *, release: bool) -> GitChanges:
    """Return the changes and deletions of objects that come from Git; `release` as in `GitChange`."""
    changing = (Action.CHANGE, Action.CONFLICT, Action.DELETE)
    return changes_of(((step.git, step.ref) for step in steps if step.action in changing), release=release)


class ObservedVersion(Struct, frozen=True):
    """The version of an object when the plan was made, empty if absent; `stamp` is `diff.state_digest`."""

    uid: str = ""
    resource_version: str = ""
    stamp: str = ""


class Intent(Struct, frozen=True):
    """The request to the planner.

    force               take over fields of other managers
    prune               delete what only an earlier version had
    prune_definitions   also CRDs, and so all their instances
    prune_namespaces    also namespaces, and everything in them
    associated          further kinds that the module's manager handles; it stays while their objects exist
    rollback_to         the bundle is this revision of a chart's release; 0 if it is not
    module              name of the module in a Kyma; refused if a Kyma requests it
    create_namespace    create the bundle's namespace if it is missing
    adopt               add existing objects to the installation, including released ones of lifecycle-manager
    adopted_version     with `adopt`: the installed version, "" if unknown
    outdated            with `adopt`: objects of that version that the bundle lacks
    backup              save what is deleted first, if the run has a backup
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
    backup: bool = True


class Plan(Struct, frozen=True):
    """What `apply` will do on the named cluster.

    intent     with the bundle as it will be sent: namespaces, marks, order
    first      no installation of this name was ever completed
    observed   versions of the objects; the plan is refused if they change
    inventory  resourceVersion of the inventory, "" for none
    unfinished an earlier run was interrupted; applying the plan completes it
    hooks      hooks before and after the steps, in order
    identity   uid of kube-system in a saved plan: another cluster may have the same name; "" if unknown
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
    identity: str = ""

    @property
    def bundle(self) -> Bundle:
        return self.intent.bundle

    def concealed(self) -> Plan:
        """Return the plan without the values of its bundle that are displayed to nobody."""
        hidden = self.bundle.hidden

        def conceal(step: Step) -> Step:
            if step.part not in (BundlePart.OBJECT, BundlePart.HOOK):
                return step
            return replace(step, changes=hide_fields(step.changes, step.ref, hidden), reason=hidden.text(step.reason))

        if not hidden.objects:
            return self
        return replace(self, steps=tuple(map(conceal, self.steps)), hooks=tuple(map(conceal, self.hooks)))

    def of(self, *actions: Action) -> tuple[Step, ...]:
        """Return the steps with these actions."""
        return tuple(step for step in self.steps if step.action in actions)

    @property
    def git(self) -> GitChanges:
        return git_of(self.steps, release=self.bundle.release is not None)

    @property
    def deletion_count(self) -> int:
        """Return the number of objects that the plan deletes, with all dependents."""
        return sum(1 + len([uid for uid in step.takes if uid]) for step in self.of(Action.DELETE))

    @property
    def saved_count(self) -> int:
        """Return the number of objects that are saved before the plan deletes them."""
        return self.deletion_count if self.intent.backup else 0

    @property
    def verb(self) -> str:
        """Return install, upgrade or rollback, as hooks name it."""
        return "rollback" if self.intent.rollback_to else "install" if self.first else "upgrade"

    @property
    def command(self) -> tuple[str, ...]:
        """Return the command that applies it; an upgrade is named by its module alone, the others have a source."""
        verb = "adopt" if self.intent.adopt else self.verb
        return (verb, self.bundle.name) if verb == "upgrade" else (verb,)

    @property
    def user_verb(self) -> str:
        """Return the verb for the user; an adoption is "adopt" or "adopt and upgrade"."""
        if not self.intent.adopt:
            return self.verb
        before = self.intent.adopted_version
        return "adopt and upgrade" if before and before != self.bundle.version else "adopt"

    @property
    def waves(self) -> tuple[tuple[Step, ...], ...]:
        """Return the steps in waves; those of one wave run in parallel."""
        numbers = sorted({step.wave for step in self.steps})
        return tuple(tuple(step for step in self.steps if step.wave == number) for number in numbers)

    @property
    def blockers(self) -> tuple[Step, ...]:
        """Return the steps that prevent the plan from being applied."""
        actions = (Action.BLOCKED,) if self.intent.force else (Action.BLOCKED, Action.CONFLICT)
        return (*(hook for hook in self.hooks if hook.action is Action.BLOCKED), *self.of(*actions))

    @property
    def changes_nothing(self) -> bool:
        """Return whether nothing is to do, and the last run was completed."""
        return not self.first and not self.unfinished and not self.writes

    @property
    def writes(self) -> tuple[Step, ...]:
        """Return the steps that write."""
        return self.of(Action.CREATE, Action.CHANGE, Action.DELETE, Action.CONFLICT)


PLAN_SCHEMA: Final = "kymatui.io/plan/v1"
MOST_VALUES: Final = 2_000_000
"""Values in a plan: 20,000 objects, with all that a plan has of each."""
_LONGEST_SCHEMA: Final = 60  # characters of it in a message


def plan_to_json(plan: Plan) -> bytes:
    """Return the plan as a JSON document."""
    return msgspec.json.encode({"schema": PLAN_SCHEMA, "plan": msgspec.to_builtins(plan)}, order="deterministic")


def plan_from_json(text: bytes | str) -> Plan:
    """Parse a plan. Raises ConfigurationError with the fault."""
    try:
        document = read_json(text, most=MOST_VALUES)
    except JsonInputError as error:
        raise ConfigurationError(f"this file is not a plan: {error}") from None
    return plan_from_document(document)


def plan_from_document(document: object) -> Plan:
    """Return the plan of a decoded document. Raises ConfigurationError with the fault."""
    schema = document.get("schema") if isinstance(document, Mapping) else None
    if not isinstance(document, Mapping) or not isinstance(schema, str):
        raise ConfigurationError("this file is not a plan: it has no schema")
    if schema != PLAN_SCHEMA:
        shown = cut_text(schema, _LONGEST_SCHEMA)
        raise ConfigurationError(
            f"this plan is of another version of kymatui: its schema is {shown!r}, expected {PLAN_SCHEMA!r}",
            hint="plan again",
        )
    try:
        return msgspec.convert(document.get("plan"), resolved_type(Plan))
    except (msgspec.ValidationError, RecursionError) as error:
        raise ConfigurationError(f"this plan cannot be read: {error}") from error


def bundle_digest(bundle: Bundle) -> str:
    """Return a SHA-256 in hexadecimal of what a bundle installs; the same digest means the same result."""
    content = (
        bundle.name,
        bundle.namespace,
        bundle.version,
        bundle.objects,
        bundle.crds,
        bundle.hooks,
        bundle.defaults,
        dict(bundle.labels),
        (bundle.release.manifest, dict(bundle.release.config)) if bundle.release else None,
    )
    return hashlib.sha256(msgspec.json.encode(content, order="deterministic")).hexdigest()


HIDDEN_CHANGED: Final = "(hidden, another value)"

_KEPT_BY_TOOLS: Final = frozenset({LAST_APPLIED, "deployment.kubernetes.io/revision"})
"""Annotations that tools and controllers use like a status."""
_VOLATILE: Final = ("creationTimestamp", "generation", "managedFields", "resourceVersion", "selfLink", "uid")


class FieldDiff(Struct, frozen=True):
    """One field; `before` and `after` are JSON values, None if absent."""

    path: str
    before: object
    after: object


def diff_objects(before: Mapping[str, Any] | None, after: Mapping[str, Any] | None) -> tuple[FieldDiff, ...]:
    """Return the differences of two states; values of Secrets are masked."""
    old, new = _comparable(before or {}), _comparable(after or {})
    secret = _is_secret(before or after or {})
    return tuple(_shown(change, secret) for change in _changes(old, new))


def hide_fields(changes: Iterable[FieldDiff], ref: ObjectRef, hidden: HiddenContent) -> tuple[FieldDiff, ...]:
    """Return the differences with the hidden values of an object, and the keys that may be values, masked."""
    diffs: dict[str, FieldDiff] = {}
    for change in changes:
        content = hidden.find(ref, change.path)
        if content is None:
            diffs[change.path] = change
            continue
        path = content.shown(change.path)
        before = content.value(change.path, change.before, HIDDEN)
        after = content.value(change.path, change.after, HIDDEN if before is None else HIDDEN_CHANGED)
        diffs.setdefault(path, FieldDiff(path, before, after))
    return tuple(diffs.values())


def state_digest(live: Mapping[str, Any]) -> str:
    """Return a digest of an object without status and server-set metadata."""
    text = json.dumps(_comparable(live), sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:32]


def _changes(old: Mapping[str, Any], new: Mapping[str, Any]) -> Iterator[ValueChange]:
    for key in sorted(old.keys() | new.keys()):
        yield from field_changes(old.get(key), new.get(key), key)


def _comparable(body: Mapping[str, Any]) -> dict[str, Any]:
    fields = {name: value for name, value in body.items() if name not in ("status", "stringData")}
    metadata = {name: value for name, value in (body.get("metadata") or {}).items() if name not in _VOLATILE}
    annotations = metadata.get("annotations")
    if isinstance(annotations, Mapping) and not _KEPT_BY_TOOLS.isdisjoint(annotations):
        metadata["annotations"] = {name: value for name, value in annotations.items() if name not in _KEPT_BY_TOOLS}
        if not metadata["annotations"]:
            del metadata["annotations"]  # so that it equals an object without annotations
    return {**fields, "metadata": metadata}


def _is_secret(body: Mapping[str, Any]) -> bool:
    kind = read_kind(body)
    return (kind.group, kind.kind) == ("", "Secret")


def _shown(change: ValueChange, secret: bool) -> FieldDiff:
    before, after = change.before, change.after
    if secret and (change.path == "data" or change.path.startswith(("data.", "stringData"))):
        before = _masked(before, HIDDEN)
        after = _masked(after, HIDDEN if change.kind is ChangeKind.ADDED else HIDDEN_CHANGED)
    return FieldDiff(change.path, before, after)


def _masked(value: object, word: str) -> object:
    if isinstance(value, Mapping):
        return dict.fromkeys(value, word)
    return None if value is None else word
