"""Channel, version and template of a module, resolved as lifecycle-manager does.

New style: the ModuleReleaseMeta named like the module has the channel's version, and the template must be named
`<module>-<version>`. If only a wrong name hides a template from lifecycle-manager, kymatui accepts it and notes the
broken convention. Old style, without a ModuleReleaseMeta: one template of the module in the channel.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from enum import StrEnum

from msgspec import Struct, field
from msgspec.structs import replace

from kymatui.domain.kubernetes.label_selectors import InvalidSelector, read_selector
from kymatui.domain.kubernetes.object_meta import LABEL_MODULE_NAME
from kymatui.domain.kyma.kymas import DEFAULT_CHANNEL, NO_CHANNEL, Kyma
from kymatui.domain.kyma.maintenance_windows import (
    ControllerSettings,
    MaintenanceWindow,
    next_window,
    runtime_properties,
)
from kymatui.domain.kyma.module_templates import ModuleTemplate, TemplateGeneration
from kymatui.domain.kyma.template_index import ReleaseMeta, TemplateIndex
from kymatui.domain.kyma.versions import is_downgrade, parse_version, same_version
from kymatui.domain.versions import refusals
from kymatui.domain.versions.refusals import Refusal


class ChannelSource(StrEnum):
    """The sources of a channel."""

    OVERRIDDEN = "overridden"  # the module's entry in the Kyma
    PREDEFINED = "predefined"  # the Kyma
    DEFAULT = "default"  # no Kyma, or a Kyma without a channel
    STATUS = "status"  # it is being removed, or requested in the runtime
    MANIFEST = "Manifest"  # the Kyma is unreadable; the Manifest has the channel
    UNKNOWN = "unknown"  # the Kyma is unreadable, and no Manifest has the channel


class Convention(StrEnum):
    """The names and namespaces by which lifecycle-manager finds objects."""

    META_NAME = "release meta"
    META_NAMESPACE = "namespace of the release meta"
    TEMPLATE_NAME = "template"
    TEMPLATE_NAMESPACE = "namespace of the template"


class ConventionNote(Struct, frozen=True):
    """A broken convention: lifecycle-manager searches for `expected` and will not find `actual`."""

    kind: Convention
    actual: str
    expected: str


class Resolution(Struct, frozen=True):
    """The resolution of a module; with a refusal, `template` and `version` are its subject, if known."""

    module: str
    channel: str
    channel_source: ChannelSource
    version: str = ""
    template: ModuleTemplate | None = None
    meta: ReleaseMeta | None = None
    refusal: Refusal | None = None
    notes: tuple[ConventionNote, ...] = ()


class _Search(Struct, frozen=True):
    """The state of one resolution."""

    module: str
    kyma: Kyma | None
    templates: TemplateIndex
    rules: ControllerSettings
    now: float
    channel: str
    source: ChannelSource
    meta: ReleaseMeta | None = None
    notes: list[ConventionNote] = field(default_factory=list)

    def refuse(self, refusal: Refusal, version: str = "", template: ModuleTemplate | None = None) -> Resolution:
        return Resolution(
            self.module, self.channel, self.source, version, template, self.meta, refusal, tuple(self.notes)
        )

    def accept(self, version: str, template: ModuleTemplate) -> Resolution:
        return Resolution(self.module, self.channel, self.source, version, template, self.meta, None, tuple(self.notes))


def desired_channel(module: str, kyma: Kyma | None) -> tuple[str, ChannelSource]:
    """Return a module's channel: its entry's, the Kyma's, or `regular`; its status' during removal."""
    if kyma is None:
        return DEFAULT_CHANNEL, ChannelSource.DEFAULT
    request, report = kyma.request(module), kyma.report(module)
    if request is not None and request.channel:
        return request.channel, ChannelSource.STATUS if request.is_reported else ChannelSource.OVERRIDDEN
    if request is None and report is not None and report.channel:
        return report.channel, ChannelSource.STATUS
    if kyma.channel:
        return kyma.channel, ChannelSource.PREDEFINED
    return DEFAULT_CHANNEL, ChannelSource.DEFAULT


def resolve(
    module: str,
    kyma: Kyma | None,
    templates: TemplateIndex,
    *,
    now: float = 0.0,
    rules: ControllerSettings | None = None,
    channel: str = "",
) -> Resolution:
    """Return the template of a module for a Kyma; without a Kyma nothing is refused.

    `channel` is the Manifest's, if the Kyma is unreadable.
    """
    channel, source = (channel, ChannelSource.MANIFEST) if channel else desired_channel(module, kyma)
    meta = templates.meta(module)
    search = _Search(module, kyma, templates, rules or ControllerSettings(), now, channel, source, meta)
    if invalid := _invalid(search):
        return search.refuse(invalid)
    resolution = _new_style(search, meta) if meta is not None else _old_style(search)
    if resolution.refusal is not None or resolution.template is None:
        return resolution
    refusal = _waits(search, resolution) or _forbidden(search, resolution.template) or _held_back(search, resolution)
    return search.refuse(refusal, resolution.version, resolution.template) if refusal else resolution


def _invalid(search: _Search) -> Refusal | None:
    request = search.kyma.request(search.module) if search.kyma else None
    report = search.kyma.report(search.module) if search.kyma else None
    if search.channel.lower() == NO_CHANNEL and search.source is not ChannelSource.STATUS:
        where = "spec.modules[].channel" if search.source is ChannelSource.OVERRIDDEN else "spec.channel"
        return refusals.ChannelIsNone(search.module, where)
    if request is not None and request.version and request.channel:
        return refusals.ChannelAndVersion(search.module, request.channel, request.version)
    if request is None and report is not None and report.template is None:
        return refusals.StatusWithoutTemplate(search.module)
    return None


def _new_style(search: _Search, meta: ReleaseMeta) -> Resolution:
    module = search.module
    if meta.meta.name != module:
        search.notes.append(ConventionNote(Convention.META_NAME, meta.meta.name, module))
    if search.kyma is not None and meta.meta.namespace != search.templates.namespace:
        search.notes.append(ConventionNote(Convention.META_NAMESPACE, meta.meta.namespace, search.templates.namespace))
    if meta.mandatory_version is None and not meta.channels:
        return search.refuse(refusals.NoChannels(module))
    if meta.mandatory_version is None and search.channel not in meta.channels:
        return search.refuse(refusals.ChannelMissing(module, search.channel, tuple(meta.channels)))
    version = offered_version(meta, search.channel)
    template = find_version(search.templates, module, version, meta.meta.namespace)
    if template is None:
        name = f"{module}-{version}"
        return search.refuse(refusals.TemplateMissing(module, version, name, meta.meta.namespace), version)
    if template.meta.name != f"{module}-{version}":
        search.notes.append(ConventionNote(Convention.TEMPLATE_NAME, template.meta.name, f"{module}-{version}"))
    if template.meta.namespace != meta.meta.namespace:
        search.notes.append(ConventionNote(Convention.TEMPLATE_NAMESPACE, template.meta.namespace, meta.meta.namespace))
    return search.accept(version, template)


def offered_version(meta: ReleaseMeta, channel: str) -> str:
    """Return a release meta's version for a channel, "" if none; a mandatory module's for any channel."""
    return meta.mandatory_version if meta.mandatory_version is not None else meta.channels.get(channel, "")


def find_version(templates: TemplateIndex, module: str, version: str, namespace: str) -> ModuleTemplate | None:
    """Return the template of a version by name, else by content, the release meta's namespace first."""
    named = templates.by_name.get((namespace, f"{module}-{version}"))
    if named is not None:
        return named
    candidates = [
        template
        for template in templates.offers(module)
        if template.version and same_version(template.version, version)
    ]
    candidates.sort(
        key=lambda template: (template.meta.namespace != namespace, not templates.is_kyma(template), str(template.ref))
    )
    return next(
        (template for template in candidates if template.meta.namespace == namespace or templates.is_kyma(template)),
        None,
    )


def missing_versions(templates: TemplateIndex, meta: ReleaseMeta) -> Iterator[tuple[str, str]]:
    """Yield each channel whose version has no template, with the version; the channel of a mandatory one is ""."""
    versions = {"": meta.mandatory_version} if meta.mandatory_version is not None else meta.channels
    for channel, version in versions.items():
        if version and find_version(templates, meta.module, version, meta.meta.namespace) is None:
            yield channel, version


def _matches_old(template: ModuleTemplate, module: str) -> bool:
    names = (
        template.meta.labels.get(LABEL_MODULE_NAME),
        f"{template.meta.namespace}/{template.meta.name}",
        template.meta.name,
        template.component,
    )
    return module in names


def _old_style(search: _Search) -> Resolution:
    module, channel = search.module, search.channel
    matching = [
        template for template in search.templates.old_by_channel.get(channel, ()) if _matches_old(template, module)
    ]
    if not matching:
        # lifecycle-manager does not match by the name `<module>-<channel>`, although it is the convention.
        matching = [t for t in search.templates.old_by_channel.get(channel, ()) if t.module == module]
        search.notes.extend(
            ConventionNote(Convention.TEMPLATE_NAME, template.meta.name, module) for template in matching[:1]
        )
    if len(matching) > 1:
        names = tuple(sorted(f"{template.meta.namespace}/{template.meta.name}" for template in matching))
        return search.refuse(refusals.AmbiguousTemplates(module, channel, names))
    if not matching:
        return search.refuse(_nothing_old(search))
    template = matching[0]
    if template.mandatory:
        return search.refuse(refusals.IsMandatory(module, template.meta.name), template.version, template)
    return search.accept(template.version, template)


def _nothing_old(search: _Search) -> Refusal:
    module, offers = search.module, search.templates.offers(search.module)
    old = [template for template in offers if template.generation is TemplateGeneration.OLD]
    channels = tuple(sorted({template.channel for template in old if template.channel}))
    if channels:
        return refusals.NoTemplateInChannel(module, search.channel, channels)
    if old:
        mandatory = next((template for template in old if template.mandatory or template.labelled_mandatory), None)
        if mandatory is not None:
            return refusals.IsMandatory(module, mandatory.meta.name)
        return refusals.TemplateWithoutChannel(module, old[0].meta.name)
    before = search.kyma is not None and search.kyma.report(module) is not None
    return refusals.NoReleaseMeta(module, search.templates.namespace, before)


def _waits(search: _Search, resolution: Resolution) -> Refusal | None:
    """Return the refusal for a maintenance window; a first install or an unchanged version never waits."""
    kyma, template = search.kyma, resolution.template
    report = kyma.report(search.module) if kyma is not None else None
    if kyma is None or template is None or report is None:
        return None
    if not template.requires_downtime or kyma.skip_maintenance_windows or report.version == resolution.version:
        return None
    policy = search.rules.windows
    if policy is None:
        return refusals.WaitsForWindow(search.module, report.version, resolution.version, None)
    window = next_window(policy, runtime_properties(kyma.meta.labels), search.now, least=search.rules.least)
    if window is None:
        return refusals.WindowsUnreadable(search.module, "the policy names no window for this runtime")
    if window.is_active(search.now):
        return None
    return refusals.WaitsForWindow(search.module, report.version, resolution.version, window)


def upcoming_window(kyma: Kyma, rules: ControllerSettings, now: float) -> MaintenanceWindow | None:
    """Return the next window of a Kyma's runtime, None if the policy is unknown."""
    if rules.windows is None:
        return None
    return next_window(rules.windows, runtime_properties(kyma.meta.labels), now, least=rules.least)


def _forbidden(search: _Search, template: ModuleTemplate) -> Refusal | None:
    kyma = search.kyma
    if kyma is not None and template.internal and not kyma.internal:
        return refusals.InternalOnly(search.module)
    if kyma is not None and template.beta and not kyma.beta:
        return refusals.BetaOnly(search.module)
    if template.mandatory or (search.meta is not None and search.meta.mandatory_version is not None):
        return refusals.IsMandatory(search.module, template.meta.name)
    if kyma is None or search.meta is None:
        return None
    return check_restriction(search.meta, kyma.meta.labels, search.rules.restricted)


def check_restriction(meta: ReleaseMeta, labels: Mapping[str, str], restricted: frozenset[str]) -> Refusal | None:
    """Return why a Kyma with these labels may not have the module, by the selectors."""
    if meta.module not in restricted:
        return None if meta.selector is None else refusals.SelectorWithoutRestriction(meta.module)
    if meta.selector is None:
        return refusals.RestrictedWithoutSelector(meta.module)
    selector = read_selector(meta.selector)
    if isinstance(selector, InvalidSelector):
        return refusals.SelectorInvalid(meta.module, selector.reason)
    if selector.empty:
        return refusals.RestrictedWithoutSelector(meta.module)
    return None if selector.matches(labels) else refusals.RestrictedToOthers(meta.module)


def _held_back(search: _Search, resolution: Resolution) -> Refusal | None:
    """Return the downgrade guard's refusal; it applies only if the status names a template."""
    report = search.kyma.report(search.module) if search.kyma is not None else None
    if report is None or report.template is None:
        return None
    if search.meta is None and report.channel == search.channel:
        return None  # lifecycle-manager guards old-style templates only on a change of channel
    return guard(search.module, report.version, (search.channel, resolution.version))


def guard(module: str, reported: str, offered: tuple[str, str]) -> Refusal | None:
    """Return why the downgrade guard refuses `offered`, a channel and a version."""
    here, next_version = parse_version(reported), parse_version(offered[1])
    if next_version is None:
        return refusals.InvalidVersion(module, "template", offered[1])
    if here is None:
        return refusals.InvalidVersion(module, "status", reported)
    if is_downgrade(next_version, here):
        return refusals.HeldBack(module, offered[0], reported, offered[1])
    return None


def strict_resolution(resolution: Resolution) -> Resolution:
    """Refuse a template or release meta that lifecycle-manager would not find by its name."""
    refusal: Refusal | None = None
    for note in resolution.notes:
        if note.kind is Convention.META_NAME:
            refusal = refusals.NoReleaseMeta(resolution.module, "", True)
        elif note.kind is Convention.TEMPLATE_NAME and resolution.meta is not None:
            namespace = resolution.meta.meta.namespace
            refusal = refusals.TemplateMissing(resolution.module, resolution.version, note.expected, namespace)
    return resolution if refusal is None else replace(resolution, refusal=refusal)
