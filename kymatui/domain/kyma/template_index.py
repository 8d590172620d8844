"""Which templates belong to a module, and what the ModuleReleaseMetas offer of them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import Any

from msgspec import Struct

from kymatui.domain.kubernetes.json_reader import Flaw, JsonReader
from kymatui.domain.kubernetes.object_meta import MalformedObject, ObjectMeta, WithRaw, read_meta, read_ref, unusable
from kymatui.domain.kyma.kymas import KYMA_NAMESPACE
from kymatui.domain.kyma.module_templates import ModuleTemplate, TemplateGeneration, read_template
from kymatui.domain.kyma.versions import parse_version


class ReleaseMeta(WithRaw, Struct, frozen=True):
    """A ModuleReleaseMeta.

    `channels` keeps the order, and the first entry of a duplicate channel. `mandatory_version` is None without
    `spec.mandatory`, `selector` None without `spec.kymaSelector`.
    """

    meta: ObjectMeta
    module: str
    component: str
    channels: Mapping[str, str]
    mandatory_version: str | None
    beta: bool
    internal: bool
    selector: Mapping[str, Any] | None
    flaws: tuple[Flaw, ...]
    raw: Mapping[str, Any]

    @property
    def follows_convention(self) -> bool:
        """Return whether lifecycle-manager finds it, which requires the module's name as object name."""
        return self.meta.name == self.module


def read_release_meta(raw: object) -> ReleaseMeta | MalformedObject:
    """Read a ModuleReleaseMeta; the module's name defaults to the object's name."""
    reader = JsonReader(raw)
    meta = read_meta(reader)
    if reason := unusable(raw, meta.name):
        return MalformedObject(read_ref(raw), reason, raw)
    spec = reader.child("spec")
    channels: dict[str, str] = {}
    for entry in spec.children("channels"):
        if channel := entry.text("channel"):
            channels.setdefault(channel, entry.text("version"))
    return ReleaseMeta(
        meta=meta,
        module=spec.text("moduleName") or meta.name,
        component=spec.text("ocmComponentName"),
        channels=channels,
        mandatory_version=spec.child("mandatory").text("version") if spec.has("mandatory") else None,
        beta=spec.flag("beta"),
        internal=spec.flag("internal"),
        selector=spec.mapping("kymaSelector"),
        flaws=tuple(reader.flaws),
        raw=reader.raw,
    )


def release_meta_violations(meta: ReleaseMeta) -> tuple[Flaw, ...]:
    """Return what the CRD would reject; it requires either channels or mandatory, not both."""
    flaws = list(meta.flaws)
    if meta.channels and meta.mandatory_version is not None:
        flaws.append(Flaw("spec", "either channels or mandatory", "both"))
    if not meta.channels and meta.mandatory_version is None:
        flaws.append(Flaw("spec", "either channels or mandatory", "neither"))
    return tuple(flaws)


class TemplateIndex(Struct, frozen=True):
    """The templates and release metas of a cluster.

    `namespace` is where lifecycle-manager searches: the Kyma's namespace, or `kyma-system` without a Kyma.
    `is_runtime` means that lifecycle-manager syncs its catalog here, so its own templates carry a label.
    """

    namespace: str
    templates: tuple[ModuleTemplate, ...]
    metas: tuple[ReleaseMeta, ...]
    malformed: tuple[MalformedObject, ...]
    by_module: Mapping[str, tuple[ModuleTemplate, ...]]
    by_name: Mapping[tuple[str, str], ModuleTemplate]
    metas_by_module: Mapping[str, tuple[ReleaseMeta, ...]]
    old_by_channel: Mapping[str, tuple[ModuleTemplate, ...]]
    is_runtime: bool

    def meta(self, module: str) -> ReleaseMeta | None:
        """Return the release meta that lifecycle-manager finds, else the nearest one of the module."""
        candidates = self.metas_by_module.get(module, ())
        return min(
            candidates,
            key=lambda meta: (meta.meta.namespace != self.namespace, not meta.follows_convention),
            default=None,
        )

    def is_kyma(self, template: ModuleTemplate) -> bool:
        """Return whether a template belongs to Kyma's own catalog; all others are community templates.

        In a runtime, the catalog sync labels its templates. In a control plane they have no label but share the
        namespace of the release metas and Kymas: there, a release meta of the module, or a channel, identifies
        them.
        """
        if template.outside:
            return False
        if template.managed_by_kyma:
            return True
        if template.meta.namespace != self.namespace:
            return False
        if template.generation is TemplateGeneration.OLD or template.mandatory:
            return bool(template.channel) or template.mandatory
        if self.is_runtime:
            return False
        return any(meta.meta.namespace == self.namespace for meta in self.metas_by_module.get(template.module, ()))

    def is_superseded(self, template: ModuleTemplate) -> bool:
        """Return whether no channel offers a template that names one: its module has a release meta.

        lifecycle-manager looks at no template with a channel then.
        """
        is_old = template.generation is TemplateGeneration.OLD and bool(template.channel) and not template.outside
        return is_old and self.meta(template.module) is not None

    def offers(self, module: str) -> tuple[ModuleTemplate, ...]:
        """Return every template of a module, from all catalogs."""
        return self.by_module.get(module, ())


def index_templates(
    templates: Iterable[object], metas: Iterable[object], namespace: str, outside: Iterable[object] = ()
) -> TemplateIndex:
    """Index templates and release metas; malformed ones are listed apart.

    An `outside` template counts only if the cluster lacks this version of the module.
    """
    read_templates = [read_template(raw) for raw in templates]
    read_outside = [read_template(raw, outside=True) for raw in outside]
    read_metas = [read_release_meta(raw) for raw in metas]
    inside = [item for item in read_templates if isinstance(item, ModuleTemplate)]
    good = (*inside, *_others(inside, [item for item in read_outside if isinstance(item, ModuleTemplate)]))
    releases = tuple(item for item in read_metas if isinstance(item, ReleaseMeta))
    by_module: dict[str, list[ModuleTemplate]] = defaultdict(list)
    by_channel: dict[str, list[ModuleTemplate]] = defaultdict(list)
    for template in good:
        by_module[template.module].append(template)
        if template.channel and template.generation is TemplateGeneration.OLD and not template.outside:
            by_channel[template.channel].append(template)
    metas_by_module: dict[str, list[ReleaseMeta]] = defaultdict(list)
    for meta in releases:
        metas_by_module[meta.module].append(meta)
        if not meta.follows_convention:
            # lifecycle-manager searches by object name and ignores spec.moduleName.
            metas_by_module[meta.meta.name].append(meta)
    return TemplateIndex(
        namespace=namespace,
        templates=good,
        metas=releases,
        malformed=tuple(
            item for item in (*read_templates, *read_outside, *read_metas) if isinstance(item, MalformedObject)
        ),
        by_module={name: tuple(entries) for name, entries in by_module.items()},
        by_name={(template.meta.namespace, template.meta.name): template for template in inside},
        metas_by_module={name: tuple(entries) for name, entries in metas_by_module.items()},
        old_by_channel={name: tuple(entries) for name, entries in by_channel.items()},
        is_runtime=namespace == KYMA_NAMESPACE and any(template.managed_by_kyma for template in good),
    )


def _others(inside: Iterable[ModuleTemplate], outside: Iterable[ModuleTemplate]) -> list[ModuleTemplate]:
    """Return the outside templates whose module and version are new; the first source wins."""
    known = {(template.module, parse_version(template.version) or template.version) for template in inside}
    templates = []
    for template in outside:
        key = template.module, parse_version(template.version) or template.version
        if key not in known:
            known.add(key)
            templates.append(template)
    return templates


def mandatory_metas(index: TemplateIndex) -> list[ReleaseMeta]:
    """Return the release metas of mandatory modules that are not being deleted."""
    return [meta for meta in index.metas if meta.mandatory_version is not None and not meta.meta.deleting]
