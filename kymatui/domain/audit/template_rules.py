"""Rules about ModuleTemplates and ModuleReleaseMetas: schema, names, deprecation, signatures and version drift."""

from __future__ import annotations

from collections.abc import Iterator
from urllib.parse import urlsplit

from kymatui.domain.audit.findings import AuditFinding, AuditInput, AuditRule
from kymatui.domain.catalog.rows import Catalog, ModuleRow
from kymatui.domain.kubernetes.json_reader import JsonReader
from kymatui.domain.kubernetes.object_meta import MalformedObject, read_ref
from kymatui.domain.kubernetes.terminal_text import format_count
from kymatui.domain.kyma import module_templates as reading
from kymatui.domain.kyma import template_index
from kymatui.domain.kyma.kymas import KYMA_NAMESPACE
from kymatui.domain.kyma.module_templates import ModuleTemplate, TemplateGeneration, read_template
from kymatui.domain.kyma.problems import Actor, AdviceKind, Severity, with_advice
from kymatui.domain.kyma.template_index import TemplateIndex
from kymatui.domain.modules.presence import Presence
from kymatui.domain.modules.state_checks import lint_rules
from kymatui.domain.snapshot.cluster_index import index_cluster
from kymatui.domain.versions.drift import DriftKind
from kymatui.domain.versions.messages import drift_words
from kymatui.domain.versions.resolution import missing_versions

MALFORMED = AuditRule(
    "template.malformed",
    "an object of the catalog cannot be read",
    Severity.ERROR,
    "The module that it describes is missing from the catalog.",
    "Fix the object at its source.",
)
SCHEMA = AuditRule(
    "template.schema",
    "an object of the catalog does not match its schema",
    Severity.WARNING,
    "Other tools may read it differently, and a newer CRD may reject it.",
    "Fix the field at the object's source.",
)
NAME = AuditRule(
    "template.name",
    "a template does not have the name that lifecycle-manager looks for",
    Severity.WARNING,
    "A managed module that resolves to this version is not installed.",
    "Name it <module>-<version>.",
)
MISSING = AuditRule(
    "template.missing",
    "a channel or mandatory module has a version without a template",
    Severity.ERROR,
    "lifecycle-manager reports an Error for every Kyma that uses it, and installs nothing.",
    "Create the template <module>-<version>, or name another version in the ModuleReleaseMeta.",
)
NO_SOURCE = AuditRule(
    "template.no-source",
    "a template names nothing to install",
    Severity.WARNING,
    "The module is offered but cannot be installed.",
    "Name the raw manifest in spec.resources (rawManifest), or the component in spec.descriptor.",
)
LINK = AuditRule(
    "template.link",
    "a template's manifest is fetched without TLS, or from an invalid address",
    Severity.WARNING,
    "An attacker on the network can replace it, and its content runs with the module's rights.",
    "Use an https:// address.",
)
OLD_STYLE = AuditRule(
    "template.old-style",
    "a template has the old format",
    Severity.INFO,
    "Templates with spec.channel are deprecated.",
    "Define channels in a ModuleReleaseMeta, and name the template <module>-<version>.",
)
UNSIGNED = AuditRule(
    "template.unsigned",
    "a module's descriptor has no signature",
    Severity.WARNING,
    "kymatui cannot verify that the installed objects are what the owner released.",
    "Sign the component version when it is released.",
)
CHECKS_DEPRECATED = AuditRule(
    "checks.deprecated",
    "a template has a customStateCheck",
    Severity.INFO,
    "Current versions of lifecycle-manager do not evaluate it: they report the state of the manager's workload.",
    "Report the state in the module's own status.",
)
CHECKS_INVALID = AuditRule(
    "checks.invalid",
    "a customStateCheck has a wrong rule",
    Severity.WARNING,
    "The module is displayed in a state that its author did not intend.",
    "Fix the named rule.",
)
CHECKS_DIFFER = AuditRule(
    "checks.differ",
    "lifecycle-manager reads a customStateCheck differently than documented",
    Severity.WARNING,
    "The reported state is not the intended one.",
    "Give each path of the rules a value in the module CR, or remove the rule.",
)
RULES = (
    MALFORMED,
    SCHEMA,
    NAME,
    MISSING,
    NO_SOURCE,
    LINK,
    OLD_STYLE,
    UNSIGNED,
    CHECKS_DEPRECATED,
    CHECKS_INVALID,
    CHECKS_DIFFER,
)


def check(case: AuditInput) -> Iterator[AuditFinding]:
    templates = index_cluster(case.snapshot).templates
    for raw in case.snapshot.templates:
        template = read_template(raw)
        if isinstance(template, MalformedObject):
            yield AuditFinding(MALFORMED, template.reason, "", str(template.ref), actor=Actor.CATALOG)
        else:
            yield from _template(template, templates)
    for raw in case.snapshot.release_metas:
        meta = template_index.read_release_meta(raw)
        if isinstance(meta, MalformedObject):
            yield AuditFinding(MALFORMED, meta.reason, "", str(meta.ref), actor=Actor.CATALOG)
            continue
        for flaw in template_index.release_meta_violations(meta):
            yield AuditFinding(SCHEMA, str(flaw), meta.module, str(read_ref(raw)), flaw.path, actor=Actor.CATALOG)
    yield from _missing(case, templates)
    yield from _readings(case)


def _missing(case: AuditInput, templates: TemplateIndex) -> Iterator[AuditFinding]:
    """Yield the versions of release metas that no template has, where all templates are listed."""
    if case.catalog.templates_unknown is not None:
        return
    for meta in templates.metas:
        for channel, version in missing_versions(templates, meta):
            where = f"channel {channel}" if channel else "mandatory"
            words = f"{where} has {version}, but there is no ModuleTemplate {meta.module}-{version}"
            path = f"spec.channels[{channel}].version" if channel else "spec.mandatory.version"
            yield AuditFinding(MISSING, words, meta.module, str(meta.ref), path, version, actor=Actor.CATALOG)


def _template(template: ModuleTemplate, templates: TemplateIndex) -> Iterator[AuditFinding]:
    where, module = str(template.ref), template.module
    for flaw in reading.template_violations(template):
        yield AuditFinding(SCHEMA, str(flaw), module, where, flaw.path, actor=Actor.CATALOG)
    if not template.follows_convention:
        words = f"it is named {template.meta.name}, but lifecycle-manager looks for {template.conventional_name}"
        yield AuditFinding(NAME, words, module, where, "metadata.name", template.meta.name, actor=Actor.CATALOG)
    yield from _sources(template, templates)
    if template.generation is TemplateGeneration.OLD:
        words = f"it uses spec.channel {template.channel}" if template.channel else "it has no version"
        yield AuditFinding(OLD_STYLE, words, module, where, "spec.channel", template.channel, actor=Actor.CATALOG)
    if _is_unsigned(template):
        words = f"the descriptor of {template.component} {template.component_version} has no signature".rstrip()
        yield AuditFinding(UNSIGNED, words, module, where, "spec.descriptor.signatures", actor=Actor.CATALOG)
    yield from _rules(template)


def _sources(template: ModuleTemplate, templates: TemplateIndex) -> Iterator[AuditFinding]:
    """Check the sources of a template.

    lifecycle-manager finds its own new templates in the registry, by the component in their ModuleReleaseMeta; on a
    control plane no label marks them.
    """
    where, module = str(template.ref), template.module
    of_kyma = templates.is_kyma(template) or template.meta.namespace == KYMA_NAMESPACE
    if not template.links and not template.component and not of_kyma:
        yield AuditFinding(
            NO_SOURCE, "it has neither links nor a descriptor", module, where, "spec", actor=Actor.CATALOG
        )
    for index, link in enumerate(template.links):
        if not _is_safe(link.address):
            path = f"spec.resources[{index}].link"
            words = f"{link.name} is fetched from {link.address or 'an empty address'}"
            yield AuditFinding(LINK, words, module, where, path, link.address, actor=Actor.CATALOG)


def _is_safe(address: str) -> bool:
    """Return whether an address is fetched with TLS or from this machine; `oci` uses TLS by default."""
    try:
        parts = urlsplit(address)
        host = parts.hostname or ""
    except ValueError:  # a malformed address is fetched by nothing, so it is not safe
        return False
    local = host == "localhost" or host == "::1" or host.startswith("127.")
    return parts.scheme in ("https", "oci") or (local and parts.scheme == "http")


def _rules(template: ModuleTemplate) -> Iterator[AuditFinding]:
    if template.rules:
        words = f"customStateCheck has {format_count(len(template.rules), 'rule')}"
        yield AuditFinding(
            CHECKS_DEPRECATED, words, template.module, str(template.ref), "spec.customStateCheck", actor=Actor.CATALOG
        )
    for doubt in lint_rules(template.rules):
        if not doubt.harmless:
            position = f"[{doubt.index}]" if doubt.index is not None else ""
            path = f"spec.customStateCheck{position}"
            where = str(template.ref)
            yield AuditFinding(
                CHECKS_INVALID, str(doubt), template.module, where, path, doubt.subject, actor=Actor.CATALOG
            )


def _is_unsigned(template: ModuleTemplate) -> bool:
    """Return whether a descriptor is present without a signature; new-style templates have no descriptor."""
    descriptor = JsonReader(template.raw).child("spec").child("descriptor")
    return bool(template.component) and not descriptor.children("signatures")


def _readings(case: AuditInput) -> Iterator[AuditFinding]:
    for row in case.catalog.rows:
        for item in row.checked:
            if item.differs:
                yield AuditFinding(
                    CHECKS_DIFFER, item.difference, row.name, str(item.resource), "", actor=Actor.CATALOG
                )


BEHIND = AuditRule(
    "drift.behind",
    "an older version is running than expected",
    Severity.WARNING,
    "The cluster lacks fixes of the channel, possibly security fixes.",
    "Managed: `kymatui module MODULE` says what blocks it. Installed directly: `kymatui upgrade MODULE`.",
)
AHEAD = AuditRule(
    "drift.ahead",
    "a newer version is running than expected",
    Severity.WARNING,
    "It was installed outside the channel and is not tested with the other modules.",
    "Wait for the channel, or install the channel's version again.",
)
HELD_BACK = AuditRule(
    "drift.held-back",
    "the installed version is newer than the channel",
    Severity.WARNING,
    "The module gets no updates until the channel has a newer version.",
    "Wait for the channel, or delete the module and enable it again.",
)
WINDOW = AuditRule(
    "drift.window",
    "an upgrade awaits its maintenance window",
    Severity.INFO,
    "The upgrade needs downtime, which this runtime allows only in maintenance windows.",
    "Wait, or let the Kyma skip maintenance windows.",
)
UNKNOWN = AuditRule(
    "drift.unknown",
    "the running version is unknown",
    Severity.INFO,
    "Without the installed version, drift cannot be detected.",
    "On a control plane, run `kymatui audit --remote`, which reads the runtimes. In a runtime, set a tag on the "
    "manager's image, or the label app.kubernetes.io/version on its workload.",
)
VERSION_RULES = (BEHIND, AHEAD, HELD_BACK, WINDOW, UNKNOWN)
_KINDS = {
    DriftKind.BEHIND: BEHIND,
    DriftKind.AHEAD: AHEAD,
    DriftKind.NEWER_THAN_CHANNEL: HELD_BACK,
    DriftKind.AWAITING_WINDOW: WINDOW,
    DriftKind.UNKNOWN: UNKNOWN,
}


def check_versions(case: AuditInput) -> Iterator[AuditFinding]:
    elsewhere = _elsewhere(case.catalog)
    if elsewhere and case.catalog.kyma is not None:
        message = "running versions are not known from the control plane; use --remote"
        yield AuditFinding(UNKNOWN, message, "", str(case.catalog.kyma.ref))
    for row in case.catalog.rows:
        rule = _KINDS.get(row.drift.kind)
        if rule is not None and row.name not in elsewhere and row.drift.is_offered:
            yield AuditFinding(
                rule,
                _message(row),
                row.name,
                str(row.manager) if row.manager else "",
                "version",
                row.installed,
                actor=row.actor,
            )


def _elsewhere(catalog: Catalog) -> frozenset[str]:
    """Return the modules whose running version is unknown because they run in another cluster."""
    if not catalog.is_control_plane:
        return frozenset()
    return frozenset(row.name for row in catalog.rows if row.drift.kind is DriftKind.UNKNOWN and not row.installed)


def _message(row: ModuleRow) -> str:
    if row.presence is Presence.UNKNOWN and not row.installed:
        return "it is unknown whether the module is running"
    running = f"running {row.installed}" if row.installed else "the running version is unknown"
    expected = f"expected {row.desired}" if row.desired else "the expected version is unknown"
    words = "" if row.drift.kind is DriftKind.UNKNOWN else f" ({drift_words(row.drift)})"
    return _explained(row, f"{running}, {expected}{words}")


_OF_VERSIONS = (AdviceKind.CHANGE_CHANNEL, AdviceKind.REINSTALL, AdviceKind.RESUME, AdviceKind.UPGRADE, AdviceKind.WAIT)


def _explained(row: ModuleRow, message: str) -> str:
    """Return the message with what keeps the version, and the advice, where the row's reason is about that."""
    advice = row.reason.advice
    if advice is None or advice.kind not in _OF_VERSIONS:
        return message
    has_cause = advice.kind in (AdviceKind.RESUME, AdviceKind.WAIT)  # of others the message is the cause
    return with_advice(f"{message}; {row.reason.cause}" if has_cause else message, advice)
