"""Rules about modules that are installed twice, only in part, or before they are released."""

from __future__ import annotations

from collections.abc import Iterator

from kymatui.domain.audit.findings import AuditFinding, AuditInput, AuditRule
from kymatui.domain.catalog.catalog_problems import is_orphaned
from kymatui.domain.kubernetes.object_meta import read_ref
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
