"""Rules about inventories: interrupted operations, and objects that no inventory lists."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from kymatui.domain.audit.findings import AuditFinding, AuditInput, AuditRule
from kymatui.domain.catalog.rows import ModuleRow
from kymatui.domain.installed import is_deleted_elsewhere
from kymatui.domain.kubernetes.json_reader import JsonReader
from kymatui.domain.kubernetes.object_meta import field_managers, read_meta, read_ref
from kymatui.domain.kyma.problems import Actor, Severity
from kymatui.domain.modules.presence import Presence

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
TWICE = AuditRule(
    "module.two-accounts",
    "two installations own the same object",
    Severity.ERROR,
    "Each may change or delete what the other needs.",
    "Disable the module in the Kyma, or delete one of the installations.",
)
RULES = (UNFINISHED, DELETED, UNRECORDED, ORPHAN, TWICE)
_SET: Final = "applyset.kubernetes.io/part-of"
_RELEASE: Final = "meta.helm.sh/release-name"
_RELEASE_NAMESPACE: Final = "meta.helm.sh/release-namespace"
_RUNNING: Final = (Presence.ENABLED, Presence.NOT_CONFIGURED)


def check(case: AuditInput) -> Iterator[AuditFinding]:
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
                yield AuditFinding(TWICE, words, installation.module, str(ref), actor=Actor.YOU)


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
