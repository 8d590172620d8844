"""Which part of the control plane's catalog a runtime gets, and what the sync deletes there again."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from kymatui.domain.kymas import Kyma
from kymatui.domain.objects import LABEL_BETA, LABEL_INTERNAL
from kymatui.domain.refs import ObjectRef
from kymatui.domain.refusals import NotAllowed
from kymatui.domain.releases import ReleaseMeta
from kymatui.domain.resolution import resolve, restriction
from kymatui.domain.shelves import Shelf
from kymatui.domain.templates import Generation, Template

FIELD_MANAGER = "catalog-sync"


@dataclass(frozen=True, slots=True)
class SyncedMeta:
    """A release meta as the runtime gets it: with fewer channels, perhaps."""

    meta: ReleaseMeta
    channels: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class SyncedCatalog:
    """What the runtime of a Kyma gets."""

    metas: tuple[SyncedMeta, ...]
    templates: tuple[Template, ...]


def is_synced(template: Template, kyma: Kyma) -> bool:
    """Whether a template is for this Kyma, by its labels; the old sync label counts as the old generation read it."""
    allowed = (kyma.beta or not template.beta) and (kyma.internal or not template.internal)
    return allowed and not template.mandatory and template.synced


def synced_catalog(shelf: Shelf, kyma: Kyma, restricted: frozenset[str] = frozenset()) -> SyncedCatalog:
    """Mandatory modules and modules without any channel left are not synced; old-style templates go by themselves."""
    metas = []
    kept: dict[ObjectRef, Template] = {}
    for meta in shelf.metas:
        if meta.mandatory_version is not None or restriction(meta, kyma.meta.labels, restricted) is not None:
            continue
        found = {channel: _template(shelf, meta, version) for channel, version in meta.channels.items()}
        synced = {name: template for name, template in found.items() if template and is_synced(template, kyma)}
        if synced:
            metas.append(SyncedMeta(meta, {channel: meta.channels[channel] for channel in synced}))
            kept.update({template.ref: template for template in synced.values()})
    for template in shelf.templates:
        if template.generation is Generation.OLD and template.channel and is_synced(template, kyma):
            kept[template.ref] = template
    return SyncedCatalog(tuple(metas), tuple(kept.values()))


def _template(shelf: Shelf, meta: ReleaseMeta, version: str) -> Template | None:
    return shelf.by_name.get((meta.meta.namespace, f"{meta.module}-{version}"))


def deleted_by_sync(in_runtime: Iterable[Template], kept: Iterable[Template]) -> tuple[Template, ...]:
    """The templates of a runtime that the sync deletes: not in the set any more, and once written by it."""
    names = {template.meta.name for template in kept}
    return tuple(
        template
        for template in in_runtime
        if template.meta.name not in names and FIELD_MANAGER in template.meta.field_managers
    )


def uninstalled_by_labels(kyma: Kyma, shelf: Shelf, labels: Mapping[str, str]) -> tuple[str, ...]:
    """The modules of a Kyma that lifecycle-manager removes once the Kyma has these labels instead of its own.

    Without the beta (or internal) label a module of that kind is not allowed any more, and its Manifest is deleted.
    """
    beta, internal = (labels.get(label, "").lower() == "true" for label in (LABEL_BETA, LABEL_INTERNAL))
    gone = []
    for request in kyma.modules:
        found = resolve(request.name, kyma, shelf)
        template = found.template
        if template is None or isinstance(found.refusal, NotAllowed) or not request.managed:
            continue
        if (template.beta and not beta) or (template.internal and not internal):
            gone.append(request.name)
    return tuple(gone)
