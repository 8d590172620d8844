"""Rules about modules that are installed twice or only in part."""

from __future__ import annotations

from collections.abc import Iterator

from kymatui.domain.audit.findings import AuditFinding, AuditInput, AuditRule
from kymatui.domain.kubernetes.object_meta import read_ref
from kymatui.domain.kubernetes.refs import ObjectRef
from kymatui.domain.kyma.kymas import Kyma, read_kyma
from kymatui.domain.kyma.manifests import Manifest, read_manifest
from kymatui.domain.kyma.problems import Actor, Severity
from kymatui.domain.modules.presence import Presence

TWICE = AuditRule(
    "module.twice",
    "a module is managed and installed directly at the same time",
    Severity.ERROR,
    "Two of them write the same objects, and each undoes what the other did.",
    "Let one of them go: disable the module in the Kyma, or delete the direct installation.",
)
ORPHAN_RESOURCE = AuditRule(
    "module.orphan",
    "a module's resource has no manager",
    Severity.WARNING,
    "Nothing acts on it, and its finalizers will never be removed.",
    "Install the module again, or delete the resource; a finalizer that nobody removes is the last resort.",
)
NOT_CONFIGURED = AuditRule(
    "module.not-configured",
    "a module is installed, and has no resource",
    Severity.INFO,
    "Its manager runs and does nothing.",
    "Create the module's resource, or take the module away.",
)
UNMANAGED = AuditRule(
    "module.unmanaged",
    "a module is in the Kyma, and not managed",
    Severity.INFO,
    "It gets no updates, and nobody repairs it.",
    "Manage it again, or take it out of the Kyma when you run it yourself.",
)
ORPHAN_MANIFEST = AuditRule(
    "manifest.orphan",
    "a Manifest belongs to a module that no Kyma asks for",
    Severity.WARNING,
    "Lifecycle-manager reports an error for it, and what it installed stays.",
    "Delete the Manifest, if nobody needs what it installed.",
)
RULES = (TWICE, ORPHAN_RESOURCE, NOT_CONFIGURED, UNMANAGED, ORPHAN_MANIFEST)
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
            yield AuditFinding(rule, row.reason.text, row.name, str(subject or ""), actor=row.actor)
    yield from _orphaned_manifests(case)


def orphan_manifest_finding(manifest: ObjectRef, kyma: str, module: str) -> AuditFinding:
    """Return the finding for a Manifest on a control plane whose Kyma does not exist."""
    words = f"the Kyma {kyma} that it is labelled with is not there"
    return AuditFinding(ORPHAN_MANIFEST, words, module, str(manifest), "metadata.labels", kyma, actor=Actor.YOU)


def _orphaned_manifests(case: AuditInput) -> Iterator[AuditFinding]:
    """Yield a finding for each orphaned Manifest whose Kyma is readable; otherwise the owner is unknown."""
    kymas = {kyma.meta.name: kyma for kyma in map(read_kyma, case.snapshot.kymas) if isinstance(kyma, Kyma)}
    for raw in case.snapshot.manifests:
        manifest = read_manifest(raw)
        if not isinstance(manifest, Manifest) or manifest.mandatory or not manifest.module:
            continue
        kyma = kymas.get(manifest.kyma)
        if kyma is not None and kyma.request(manifest.module) is None and kyma.report(manifest.module) is None:
            words = f"the Kyma {manifest.kyma} neither asks for {manifest.module} nor reports it"
            yield AuditFinding(ORPHAN_MANIFEST, words, manifest.module, str(read_ref(raw)), actor=Actor.YOU)
