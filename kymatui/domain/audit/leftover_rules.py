"""Rules about modules that are installed twice, only in part, or before they are released, and about inventories.

Inventories name interrupted operations; objects that no inventory lists are orphans.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from kymatui.domain.audit.findings import AuditFinding, AuditInput, AuditRule
from kymatui.domain.catalog.catalog_problems import is_orphaned
from kymatui.domain.catalog.rows import ModuleRow
from kymatui.domain.installed import is_deleted_elsewhere
from kymatui.domain.kubernetes.json_reader import JsonReader
from kymatui.domain.kubernetes.object_meta import field_managers, read_meta, read_ref
from kymatui.domain.kubernetes.refs import ObjectRef
from kymatui.domain.kyma.kymas import Kyma, read_kyma
from kymatui.domain.kyma.manifests import Manifest, read_manifest
from kymatui.domain.kyma.problems import Actor, Severity
from kymatui.domain.modules.presence import Presence

TWICE = AuditRule(
    "module.twice",
    "a module is managed and also installed directly",
    Severity.ERROR,
    "Two installations write the same objects and revert each other.",
    "End one of the two: `kymatui unmanage MODULE` keeps the direct installation.",
)
ORPHAN_RESOURCE = AuditRule(
    "module.orphan",
    "a module CR has no manager",
    Severity.WARNING,
    "It is not reconciled, and its finalizers are never removed.",
    "Install the module again, or delete the CR; remove its finalizer only as the last resort.",
)
NOT_CONFIGURED = AuditRule(
    "module.not-configured",
    "a module is installed without a module CR",
    Severity.INFO,
    "Its manager is running without work.",
    "Create the module CR (`kymatui edit MODULE`), or delete the module.",
)
UNMANAGED = AuditRule(
    "module.unmanaged",
    "a module in the Kyma is unmanaged",
    Severity.INFO,
    "It gets no updates and no repairs.",
    "Manage it again, or remove it from the Kyma if you manage it yourself.",
)
ORPHAN_MANIFEST = AuditRule(
    "manifest.orphan",
    "a Manifest belongs to a module that no Kyma requests",
    Severity.WARNING,
    "lifecycle-manager reports an error for it, and its objects stay.",
    "Delete the Manifest if its objects are unused.",
)
IGNORED_MANIFEST = AuditRule(
    "manifest.ignored",
    "a Manifest is outside of the namespaces of Kymas",
    Severity.WARNING,
    "Nothing installs it, except an operator of kymatui with its namespace in --manifest-namespaces.",
    "Delete it, or move it to the namespace of the Kymas if its author may install anything.",
)
BETA = AuditRule(
    "module.beta",
    "a beta module is installed",
    Severity.INFO,
    "It is uninstalled when the Kyma or the module loses its beta label.",
    "Keep it off clusters that need a released version, or accept it in the ignore file.",
)
RULES = (TWICE, ORPHAN_RESOURCE, NOT_CONFIGURED, UNMANAGED, ORPHAN_MANIFEST, IGNORED_MANIFEST, BETA)
_PRESENCES = {
    Presence.CONFLICT: TWICE,
    Presence.ORPHAN: ORPHAN_RESOURCE,
    Presence.NOT_CONFIGURED: NOT_CONFIGURED,
    Presence.UNMANAGED: UNMANAGED,
}


def check(case: AuditInput) -> Iterator[AuditFinding]:
    for row in case.catalog.rows:
        rule = _PRESENCES.get(row.presence)
        if rule is not None:
            subject = row.checked[0].resource if rule is ORPHAN_RESOURCE and row.checked else row.manager
            is_reason = rule is not NOT_CONFIGURED or row.reason.severity is Severity.INFO  # else about something worse
            yield AuditFinding(
                rule,
                row.reason.text if is_reason else "its manager is installed, but it has no module CR",
                row.name,
                str(subject or ""),
                actor=row.actor if is_reason else Actor.YOU,
                level=row.reason.severity if is_reason else None,
            )
        if row.beta and row.presence not in (Presence.NOT_INSTALLED, Presence.UNKNOWN):
            words = f"{row.name} {row.installed}".strip() + " is a beta module"
            yield AuditFinding(BETA, words, row.name, str(row.manager or ""), "", row.installed)
    yield from _orphaned_manifests(case)
    yield from _ignored_manifests(case)


def orphan_manifest_finding(manifest: ObjectRef, kyma: str, module: str) -> AuditFinding:
    """Return the finding for a Manifest on a control plane whose Kyma does not exist."""
    words = f"its label names the Kyma {kyma}, which does not exist"
    return AuditFinding(ORPHAN_MANIFEST, words, module, str(manifest), "metadata.labels", kyma, actor=Actor.YOU)


def ignored_manifest_finding(manifest: ObjectRef) -> AuditFinding:
    """Return the finding for a Manifest in a namespace without Kymas that no controller has reconciled."""
    words = f"namespace {manifest.namespace} has no Kyma, and no controller has reconciled the Manifest"
    return AuditFinding(IGNORED_MANIFEST, words, "", str(manifest), "metadata.namespace", actor=Actor.YOU)


def _ignored_manifests(case: AuditInput) -> Iterator[AuditFinding]:
    namespaces = {kyma.meta.namespace for kyma in map(read_kyma, case.snapshot.kymas) if isinstance(kyma, Kyma)}
    for raw in case.snapshot.manifests if namespaces else ():
        manifest = read_manifest(raw)
        if isinstance(manifest, Manifest) and manifest.meta.namespace not in namespaces and not manifest.state:
            yield ignored_manifest_finding(read_ref(raw))


def _orphaned_manifests(case: AuditInput) -> Iterator[AuditFinding]:
    """Yield a finding for each orphaned Manifest whose Kyma is readable; otherwise the owner is unknown."""
    kymas = {kyma.meta.name: kyma for kyma in map(read_kyma, case.snapshot.kymas) if isinstance(kyma, Kyma)}
    for raw in case.snapshot.manifests:
        manifest = read_manifest(raw)
        if not isinstance(manifest, Manifest) or not manifest.module:
            continue
        kyma = kymas.get(manifest.kyma)
        if is_orphaned(manifest.module, manifest, kyma, mandatory=manifest.mandatory):
            words = f"the Kyma {manifest.kyma} neither requests nor reports {manifest.module}"
            yield AuditFinding(ORPHAN_MANIFEST, words, manifest.module, str(read_ref(raw)), actor=Actor.YOU)


UNFINISHED = AuditRule(
    "install.unfinished",
    "an installation or a deletion was interrupted",
    Severity.WARNING,
    "The cluster has parts of two versions, or half of one.",
    "Run one of the commands that the finding names; each works from any machine that has its source.",
)
DELETED = AuditRule(
    "install.deleted",
    "another tool deleted what kymatui installed",
    Severity.INFO,
    "The record of the installation is left, and with it objects that the other tool did not know.",
    "Delete the record with `kymatui delete MODULE`, or install the module again.",
)
UNRECORDED = AuditRule(
    "module.unrecorded",
    "a module is running without an inventory of its objects",
    Severity.INFO,
    "Upgrades cannot prune, and a deletion cannot know all its objects.",
    "Run `kymatui adopt MODULE`; its plan lists what is adopted.",
)
ORPHAN = AuditRule(
    "object.orphan",
    "a workload belongs to an installation that no longer exists",
    Severity.WARNING,
    "It is left over: it is never upgraded or deleted.",
    "Delete it if it is unused, or install its module again.",
)
SHARED = AuditRule(
    "module.two-accounts",
    "two installations own the same object",
    Severity.ERROR,
    "Each may change or delete what the other needs.",
    "Disable the module in the Kyma, or delete one of the installations.",
)
INVENTORY_RULES = (UNFINISHED, DELETED, UNRECORDED, ORPHAN, SHARED)
_SET: Final = "applyset.kubernetes.io/part-of"
_RELEASE: Final = "meta.helm.sh/release-name"
_RELEASE_NAMESPACE: Final = "meta.helm.sh/release-namespace"
_RUNNING: Final = (Presence.ENABLED, Presence.NOT_CONFIGURED)


def check_inventories(case: AuditInput) -> Iterator[AuditFinding]:
    for row in case.catalog.rows:
        if row.installation is None or row.run is None:
            continue
        about, text = str(row.installation.record), row.reason.text
        if row.presence in (Presence.PARTIAL, Presence.DELETION_INTERRUPTED):
            yield AuditFinding(UNFINISHED, text, row.name, about, "state", row.presence.value, actor=row.actor)
        elif is_deleted_elsewhere(row.run):
            yield AuditFinding(DELETED, text, row.name, about, "state", row.run.phase.value, actor=row.actor)
    yield from _shared(case)
    if case.inspection.sets is not None and case.inspection.releases is not None:
        yield from _unrecorded(case)
        yield from _orphans(case)


def _shared(case: AuditInput) -> Iterator[AuditFinding]:
    owners: dict[object, str] = {}
    for installation in case.inspection.installations:
        account = f"{installation.owner} ({installation.record})"
        for ref in installation.refs:
            other = owners.setdefault(ref.key, account)
            if other != account and ref.kind.kind != "Namespace":
                words = f"{ref} is owned by {other} and by {account}"
                yield AuditFinding(SHARED, words, installation.module, str(ref), actor=Actor.YOU)


def _unrecorded(case: AuditInput) -> Iterator[AuditFinding]:
    known = {installation.module for installation in case.inspection.installations}
    marked = {read_ref(raw) for raw in case.snapshot.workloads if _set(raw) or _release(raw)}
    for row in case.catalog.rows:
        if _runs_by_itself(row) and row.name not in known and row.manager not in marked:
            by = f", which {row.applied_by} installed," if row.applied_by else ""
            words = f"{row.manager}{by} is running, and no Kyma, Manifest, kymatui inventory or Helm release lists it"
            yield AuditFinding(UNRECORDED, words, row.name, str(row.manager), actor=Actor.YOU)


def _runs_by_itself(row: ModuleRow) -> bool:
    return row.manager is not None and row.manifest is None and not row.managed and row.presence in _RUNNING


def _orphans(case: AuditInput) -> Iterator[AuditFinding]:
    sets, releases = case.inspection.sets or frozenset(), case.inspection.releases or frozenset()
    for raw in case.snapshot.workloads:
        of_set, of_release = _set(raw), _release(raw)
        lost = of_set if of_set and of_set not in sets else of_release if of_release not in releases else ""
        if lost:
            ref, meta = read_ref(raw), read_meta(JsonReader(raw))
            what = "the set" if lost == of_set else "the Helm release"
            key = f"metadata.labels[{_SET}]" if lost == of_set else f"metadata.annotations[{_RELEASE}]"
            words = f"{ref} names {what} {lost}, which does not exist"
            yield AuditFinding(ORPHAN, words, "", str(ref), key, lost, meta.created, Actor.YOU)


def _set(raw: object) -> str:
    """Return the ApplySet that kymatui put an object in.

    Other tools' ApplySets may have parents of any kind, which the audit does not search.
    """
    if "kymatui" not in field_managers(raw):
        return ""
    return JsonReader(raw).child("metadata").labels("labels").get(_SET, "")


def _release(raw: object) -> str:
    annotations = JsonReader(raw).child("metadata").labels("annotations")
    name = annotations.get(_RELEASE, "")
    return f"{annotations.get(_RELEASE_NAMESPACE) or 'default'}/{name}" if name else ""
