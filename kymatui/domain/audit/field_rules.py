"""Rules about the objects of modules: fields that another manager changed, images, and permissions.

The rules about fields read only metadata.managedFields. They compare nothing with the source and send no dry run,
because a dry run needs the right to write. `drift.unseen` reports what they cannot decide. Images are named by digest,
by a tag that can move, or by no valid reference. Permissions are dangerous ones that modules have, and ones that the
user lacks.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from kymatui.domain.audit.findings import AuditFinding, AuditInput, AuditRule, InstallationRecord, InventoryOwner
from kymatui.domain.kubernetes.image_references import parse_image
from kymatui.domain.kubernetes.json_reader import JsonReader
from kymatui.domain.kubernetes.managed_fields import (
    KUBERNETES_COMPONENTS,
    NAMELESS,
    FieldWriter,
    Path,
    content_writers,
    field_writers,
    format_path,
    owned_value,
)
from kymatui.domain.kubernetes.object_meta import parse_time, read_ref
from kymatui.domain.kubernetes.privileges import Privilege, PrivilegeKind, find_privileges
from kymatui.domain.kubernetes.refs import ObjectRef
from kymatui.domain.kubernetes.terminal_text import format_count, sanitize
from kymatui.domain.kyma.problems import Actor, Severity
from kymatui.domain.snapshot.snapshots import Object

CHANGED = AuditRule(
    "drift.fields",
    "another client changed a field of a module's object",
    Severity.WARNING,
    "The module differs from its release; the next upgrade reverts the change or stops with a conflict.",
    "Installed by kymatui: compare with `kymatui check MODULE`, repair with `kymatui install MODULE --force`. "
    "Managed by lifecycle-manager: revert the field, or make the change in the module CR or its channel.",
)
MISSING = AuditRule(
    "drift.missing",
    "an object of a module is missing",
    Severity.ERROR,
    "The module was installed with it and may not work without it.",
    "Install the module again; lifecycle-manager recreates objects of managed modules.",
)
FOREIGN = AuditRule(
    "drift.foreign",
    "an object of a module was not written by the module's installer",
    Severity.WARNING,
    "Another client recreated or adopted it; upgrades stop with a conflict, and a deletion may leave it behind.",
    "Find its owner. Installed by kymatui: `kymatui install MODULE --force` adopts it again. "
    "Managed by lifecycle-manager: delete the object, and lifecycle-manager creates it again.",
)
UNSEEN = AuditRule(
    "drift.unseen",
    "it is unknown whether objects of a module were changed",
    Severity.INFO,
    "Without findings, objects may still have been changed.",
    "Installed by kymatui: run `kymatui check MODULE`, which compares with the source by a server-side dry run (needs "
    "write permission). Managed by lifecycle-manager: allow reading the objects that the finding names.",
)
RULES = (CHANGED, MISSING, FOREIGN, UNSEEN)

INSTALLERS: Final = frozenset({"kymatui", "kymatui-operator", "declarative.kyma-project.io/applier", "helm"})
_SYSTEM: Final = frozenset({*KUBERNETES_COMPONENTS, "manager", NAMELESS})
_MOST_FIELDS: Final = 10  # findings for one manager of an object; its other fields are counted
_LONGEST: Final = 80  # characters of a value in a finding
_RESTARTED: Final = "f:kubectl.kubernetes.io/restartedAt"


def check(case: AuditInput) -> Iterator[AuditFinding]:
    elsewhere = [record for record in case.inspection.installations if _is_elsewhere(case, record)]
    yield from _elsewhere(case, elsewhere)
    for installation in case.inspection.installations:
        if installation not in elsewhere:
            yield from _installation(case, installation)


def _is_elsewhere(case: AuditInput, record: InstallationRecord) -> bool:
    """Return whether a Manifest's objects are in a runtime: this is a control plane, or none of them exists here."""
    asked = [ref for ref in record.refs if ref in case.inspection.objects]
    here = any(case.inspection.objects[ref] is not None for ref in asked) and not case.catalog.is_control_plane
    return bool(asked) and not here and record.by is InventoryOwner.KEEPER and not record.unread


def _elsewhere(case: AuditInput, some: Sequence[InstallationRecord]) -> Iterator[AuditFinding]:
    """Yield one finding for all modules of a control plane's Kyma, with their number as value."""
    if some:
        names = sorted({record.module for record in some})
        count = format_count(len(names), "module")
        message = f"the objects of {count} are in another cluster ({', '.join(names)}); use --remote"
        about = case.catalog.kyma.ref if case.catalog.kyma is not None else some[0].record
        yield AuditFinding(UNSEEN, message, "", str(about), "modules", str(len(names)))


def _installation(case: AuditInput, record: InstallationRecord) -> Iterator[AuditFinding]:
    if record.unread:
        yield AuditFinding(UNSEEN, record.unread, record.module, str(record.record), actor=Actor.NOBODY)
        return
    asked = [ref for ref in record.refs if ref in case.inspection.objects]
    live = {ref: body for ref in asked if (body := case.inspection.objects[ref]) is not None}
    if not record.lacks_objects:  # what it lacks is one finding
        actor = record.keeper if record.by is InventoryOwner.KEEPER else Actor.YOU
        for ref in asked:
            if ref not in live:
                yield AuditFinding(MISSING, f"{ref} is missing", record.module, str(ref), actor=actor)
    yield from _unread(case, record)
    if not any(_is_installers(writer) for raw in live.values() for writer in field_writers(raw)):
        if live:
            yield AuditFinding(
                UNSEEN, "no object records which fields its installer wrote", record.module, str(record.record)
            )
        return
    own = {name for ref in live for name in _own_names(ref, live[ref])}
    for ref, raw in live.items():
        yield from _object(record, ref, raw, own)


def _unread(case: AuditInput, record: InstallationRecord) -> Iterator[AuditFinding]:
    for ref in record.refs:
        if reason := case.inspection.unread.get(ref):
            words = f"{ref} could not be read: {reason}"
            yield AuditFinding(UNSEEN, words, record.module, str(ref), actor=Actor.CLUSTER, is_of_object=True)


def _own_names(ref: ObjectRef, raw: Object) -> Iterator[str]:
    """Yield the field manager names that a module's own programs use; the default is the binary's name."""
    containers = owned_value(raw, ("f:spec", "f:template", "f:spec", "f:containers"))
    if isinstance(containers, list):
        yield ref.name
        yield from (str(item.get("name")) for item in containers if isinstance(item, dict))


def _is_installers(writer: FieldWriter) -> bool:
    return writer.manager in INSTALLERS and not writer.subresource


def _object(record: InstallationRecord, ref: ObjectRef, raw: Object, own: set[str]) -> Iterator[AuditFinding]:
    entries = field_writers(raw)
    if not entries:
        yield AuditFinding(UNSEEN, f"{ref} has no managed fields", record.module, str(ref), is_of_object=True)
        return
    if not any(_is_installers(entry) for entry in entries):
        names = ", ".join(sorted(content_writers(raw)))
        when = max((entry.at for entry in entries if entry.at is not None), default=None)
        words = f"{ref} was written by {names or 'an unnamed field manager'}, not by its installer"
        yield AuditFinding(FOREIGN, words, record.module, str(ref), since=when, actor=Actor.YOU)
        return
    mine = frozenset(path for entry in entries if _is_installers(entry) for path in entry.fields)
    for entry in entries:
        if entry.manager not in _SYSTEM | own | INSTALLERS and entry.subresource in ("", "scale"):
            yield from _changes(record, ref, raw, entry, mine)


def _changes(
    record: InstallationRecord, ref: ObjectRef, raw: Object, entry: FieldWriter, mine: frozenset[Path]
) -> Iterator[AuditFinding]:
    paths = sorted(path for path in entry.fields - mine if _matters(path))
    for path in paths[:_MOST_FIELDS]:
        value = "" if ref.kind.kind == "Secret" and not ref.kind.group else _text(owned_value(raw, path))
        words = f"{ref}: {sanitize(entry.manager) or 'an unnamed field manager'} set {format_path(path)}"
        yield AuditFinding(CHANGED, words, record.module, str(ref), format_path(path), value, entry.at, Actor.YOU)
    more = len(paths) - _MOST_FIELDS
    if more > 0:
        words = f"{ref}: {sanitize(entry.manager)} set {format_count(more, 'more field')}"
        yield AuditFinding(CHANGED, words, record.module, str(ref), "", str(more), entry.at, Actor.YOU)


def _matters(path: Path) -> bool:
    """Return whether a change of this field counts as drift.

    Other controllers add metadata, status, injected webhook certificates and the restart annotation to every
    object.
    """
    if path[0] in ("f:metadata", "f:status"):
        return False
    return path[-1] not in ("f:caBundle", _RESTARTED)


def _text(value: object) -> str:
    text = value if isinstance(value, str) else "" if value is None else json.dumps(value, ensure_ascii=False)
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"


TAG = AuditRule(
    "image.tag",
    "a module's image is referenced by a tag",
    Severity.INFO,
    "A tag can be moved: a pod that starts tomorrow may run another image than today.",
    "Reference the image by its digest.",
)
MUTABLE = AuditRule(
    "image.mutable",
    "a module's image has no version",
    Severity.WARNING,
    "Without a tag, or with a tag such as latest, each start may run another version.",
    "Reference the image by version and digest.",
)
INVALID = AuditRule(
    "image.invalid",
    "a module's image reference is invalid",
    Severity.ERROR,
    "No node can pull it.",
    "Fix the image reference.",
)
IMAGE_RULES = (TAG, MUTABLE, INVALID)
_WITH_PODS = ("Deployment", "StatefulSet", "DaemonSet", "Job", "CronJob")
_MOVING = ("latest", "main", "master", "edge", "nightly", "stable", "dev")


def check_images(case: AuditInput) -> Iterator[AuditFinding]:
    """Check the images of managers and of all other workloads that a module installs."""
    workloads = {read_ref(raw): raw for raw in case.snapshot.workloads}
    known = {}
    for row in case.catalog.rows:
        raw = workloads.get(row.manager) if row.manager is not None else None
        if raw is not None and row.manager is not None:
            known[row.manager] = row.name, raw
    for installation in case.inspection.installations:
        for ref in installation.refs:
            raw = case.inspection.objects.get(ref)
            if raw is not None and ref.kind.kind in _WITH_PODS:
                known.setdefault(ref, (installation.module, raw))
    for ref, (module, raw) in known.items():
        yield from _workload(module, ref, raw)


def _workload(module: str, ref: ObjectRef, raw: Mapping[str, Any]) -> Iterator[AuditFinding]:
    spec = JsonReader(raw).child("spec")
    spec = spec.child("jobTemplate").child("spec") if spec.has("jobTemplate") else spec
    pod = spec.child("template").child("spec")
    for key in ("initContainers", "containers"):
        for container in pod.children(key):
            text = container.text("image")
            path = f"spec.template.spec.{key}[{container.text('name')}].image"
            yield from _image(module, str(ref), text, path)


def _image(module: str, where: str, text: str, path: str) -> Iterator[AuditFinding]:
    image = parse_image(text)
    if image is None:
        yield AuditFinding(
            INVALID, f"{text!r} is not an image reference", module, where, path, text, actor=Actor.CATALOG
        )
    elif image.digest:
        return
    elif not image.tag or image.tag in _MOVING:
        words = f"{text} has no version"
        yield AuditFinding(MUTABLE, words, module, where, path, text, actor=Actor.CATALOG)
    else:
        yield AuditFinding(TAG, f"{text} has no digest", module, where, path, text, actor=Actor.CATALOG)


EVERYTHING = AuditRule(
    "rights.everything",
    "a module may do everything",
    Severity.ERROR,
    "An attacker in the module's pods controls the cluster, or a whole API group.",
    "Ask the module's owner for a role with only the rights that it needs.",
)
ESCALATION = AuditRule(
    "rights.escalation",
    "a module can give itself more rights",
    Severity.WARNING,
    "With escalate, bind, impersonate, tokens or webhooks, the module can gain any right.",
    "Ask the module's owner to list the roles that it binds, or to give up these rights.",
)
BROAD = AuditRule(
    "rights.broad",
    "a module reads Secrets or accesses pods",
    Severity.WARNING,
    "Secrets and pods of other workloads hold passwords, tokens and running programs.",
    "Ask the module's owner to list the Secrets, or to use only its own namespace.",
)
LACKING = AuditRule(
    "access.lacking",
    "you lack a permission that actions on modules need",
    Severity.INFO,
    "Actions that need it are refused.",
    "Ask for the right if you need it.",
)
RIGHTS_RULES = (EVERYTHING, ESCALATION, BROAD, LACKING)
_KINDS = {
    PrivilegeKind.EVERYTHING: EVERYTHING,
    PrivilegeKind.GAINING: ESCALATION,
    PrivilegeKind.TOKENS: ESCALATION,
    PrivilegeKind.HOOKS: ESCALATION,
    PrivilegeKind.SECRETS: BROAD,
    PrivilegeKind.ENTERING: BROAD,
}
_GROUP = "rbac.authorization.k8s.io"


def check_rights(case: AuditInput) -> Iterator[AuditFinding]:
    for installation in case.inspection.installations:
        objects = [case.inspection.objects.get(ref) for ref in installation.refs if ref.kind.group == _GROUP]
        yield from _granted(installation.module, [raw for raw in objects if raw is not None])
    for right in case.inspection.lacking:
        where = f" in {right.namespace}" if right.namespace else ""
        words = f"you may not {right.verb} {right.resource}{where}, which {right.needed_for} needs"
        yield AuditFinding(LACKING, words, right.module, right.resource, "", right.verb, actor=Actor.CLUSTER)


def _granted(module: str, objects: list[Mapping[str, Any]]) -> Iterator[AuditFinding]:
    """Check roles, bound or not, and bindings to roles outside the module."""
    for raw in objects:
        ref = read_ref(raw)
        if ref.kind.kind in ("Role", "ClusterRole"):
            rules = raw.get("rules")
            for power in find_privileges(ref.kind.kind, ref.name, rules if isinstance(rules, list) else ()):
                yield _finding(module, ref, power, raw)
        elif ref.kind.kind in ("RoleBinding", "ClusterRoleBinding"):
            role = JsonReader(raw).child("roleRef")
            for power in find_privileges(role.text("kind"), role.text("name"), ()):
                yield _finding(module, ref, power, raw)


def _finding(module: str, ref: ObjectRef, power: Privilege, raw: Mapping[str, Any]) -> AuditFinding:
    path = f"rules[{power.index}]" if power.index >= 0 else "roleRef.name" if "roleRef" in raw else ""
    since = parse_time(JsonReader(raw).child("metadata").text("creationTimestamp"))
    words = f"{ref}: {power.message}"
    return AuditFinding(_KINDS[power.kind], words, module, str(ref), path, power.message, since, Actor.CATALOG)
