"""The catalog sync: which catalog objects a runtime should have, which it has, and why.

This follows current lifecycle-manager (`SyncModuleCatalog`): a release meta goes to the runtime with those of its
channels whose template, named `<module>-<version>`, is for this Kyma; a template goes if one of these channels has
its module and version. The sync writes copies with the field manager `catalog-sync` and deletes only what it wrote.
Old-style templates, which have a channel of their own, were synced by older versions of lifecycle-manager.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from enum import StrEnum
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from kymatui.domain.kubernetes.json_reader import JsonReader
from kymatui.domain.kubernetes.object_meta import (
    LABEL_BETA,
    LABEL_INTERNAL,
    LABEL_MANAGED_BY,
    LABEL_SYNC,
    MalformedObject,
    read_ref,
)
from kymatui.domain.kubernetes.refs import ObjectRef
from kymatui.domain.kyma.kymas import KYMA_NAMESPACE, Kyma
from kymatui.domain.kyma.module_templates import ModuleTemplate, TemplateGeneration, read_template
from kymatui.domain.kyma.template_index import ReleaseMeta, TemplateIndex, index_templates, read_release_meta
from kymatui.domain.remote.runtime_pair import RuntimePair, is_synced_copy
from kymatui.domain.snapshot.missing_lists import UnknownFact, explain_missing
from kymatui.domain.snapshot.snapshots import Object, Snapshot
from kymatui.domain.versions.messages import refusal_words
from kymatui.domain.versions.resolution import check_restriction

_TEMPLATES, _METAS = (f"{plural}.operator.kyma-project.io" for plural in ("moduletemplates", "modulereleasemetas"))


class SyncStatus(StrEnum):
    """The sync status of one object."""

    SYNCED = "synced"
    MISSING = "missing"  # should be there
    WITHHELD = "withheld"  # should not be there, and is absent
    LEFT_OVER = "left over"  # should not be there; the sync wrote it, and deletes it
    OWN = "the runtime's own"  # applied in the runtime; the sync ignores it
    OLD = "old style"  # only older lifecycle-managers sync it
    UNKNOWN = "unknown"  # the runtime cannot be read


class ChannelSync(Struct, frozen=True):
    """One channel of a release meta; `why` is "" if it goes to the runtime."""

    channel: str
    version: str
    why: str

    @property
    def is_wanted(self) -> bool:
        return not self.why


class SyncEntry(Struct, frozen=True):
    """One template or release meta of the control plane, or found in the runtime only.

    `is_wanted` tells whether the runtime should have it, and `why` gives the reason. `original` and `copy` are the
    objects of both sides, None if absent. `channels` are those of a release meta.
    """

    ref: ObjectRef
    module: str
    version: str
    is_wanted: bool
    why: str
    standing: SyncStatus
    original: Object | None = None
    copy: Object | None = None
    channels: tuple[ChannelSync, ...] = ()
    is_old: bool = False
    """Whether it is an old-style template, which only older lifecycle-managers sync."""


class SyncPlan(Struct, frozen=True):
    """The sync plan of one runtime."""

    metas: tuple[SyncEntry, ...]
    templates: tuple[SyncEntry, ...]
    unknown: UnknownFact | None = None
    """Why the expected catalog is unknown; the status of every entry is then UNKNOWN."""

    @property
    def entries(self) -> tuple[SyncEntry, ...]:
        return (*self.metas, *self.templates)

    def count(self, standing: SyncStatus) -> int:
        """Return the number of templates and release metas with a status."""
        return sum(entry.standing is standing for entry in self.entries)


class RuntimeCopies(Struct, frozen=True):
    """The templates and release metas in a runtime; None if unreadable."""

    metas: Sequence[Object] | None
    templates: Sequence[Object] | None


def plan_sync(
    kyma: Kyma, templates: TemplateIndex, copies: RuntimeCopies, restricted: frozenset[str] = frozenset()
) -> SyncPlan:
    """Return the sync plan for the runtime of a control plane's Kyma."""
    by_name = _by_name(templates.templates)
    metas = [_meta_wanted(meta, kyma, by_name, restricted) for meta in templates.metas]
    mandatory = frozenset(meta.module for meta in templates.metas if meta.mandatory_version is not None)
    kept: dict[tuple[str, str], list[str]] = {}
    for meta, channels, why in metas:
        for channel in channels if not why else ():
            if channel.is_wanted:
                kept.setdefault((meta.module, channel.version), []).append(channel.channel)
    lists = (
        _with_copies([_meta_entry(*pair) for pair in metas], copies.metas),
        _with_copies(
            [
                _template_entry(template, kyma, kept, is_mandatory=template.module in mandatory)
                for template in templates.templates
                if not template.outside
            ],
            copies.templates,
        ),
    )
    synced_metas, synced_templates = (tuple(_until_deletion(entry, kyma) for entry in entries) for entries in lists)
    return SyncPlan(synced_metas, synced_templates)


def _until_deletion(entry: SyncEntry, kyma: Kyma) -> SyncEntry:
    """Return the entry; nothing more is copied for a Kyma that is being deleted."""
    if entry.standing is not SyncStatus.MISSING or not kyma.meta.deleting:
        return entry
    why = "not in the runtime; the Kyma is being deleted, so it is not created"
    return replace(entry, is_wanted=False, why=why, standing=SyncStatus.WITHHELD)


def _by_name(templates: Iterable[ModuleTemplate]) -> Mapping[str, Sequence[ModuleTemplate]]:
    by_name: dict[str, list[ModuleTemplate]] = {}
    for template in templates:
        if not template.outside:
            by_name.setdefault(template.meta.name, []).append(template)
    return by_name


_MANDATORY = "mandatory: the control plane installs it, without a copy in the runtime"


def exclusion_reason(template: ModuleTemplate, kyma: Kyma) -> str:
    """Return why a template is not for this Kyma, by labels and spec; "" if it is."""
    if template.mandatory:
        return _MANDATORY
    if template.beta and not kyma.beta:
        return f"template has label {LABEL_BETA}, the Kyma does not"
    if template.internal and not kyma.internal:
        return f"template has label {LABEL_INTERNAL}, the Kyma does not"
    if not template.synced and template.generation is TemplateGeneration.OLD:  # current versions ignore the label
        return f"label {LABEL_SYNC} is false"
    return ""


_Found = tuple[ReleaseMeta, tuple[ChannelSync, ...], str]


def _meta_wanted(
    meta: ReleaseMeta, kyma: Kyma, by_name: Mapping[str, Sequence[ModuleTemplate]], restricted: frozenset[str]
) -> _Found:
    """Return the release meta with its channels, and why it does not go to the runtime."""
    channels = tuple(_channel(meta, name, version, kyma, by_name) for name, version in meta.channels.items())
    if meta.mandatory_version is not None:
        return meta, channels, _MANDATORY
    if refusal := check_restriction(meta, kyma.meta.labels, restricted):
        return meta, channels, refusal_words(refusal)
    if not any(channel.is_wanted for channel in channels):
        summary = "; ".join(f"{channel.channel}: {channel.why}" for channel in channels)
        return meta, channels, f"no channel for this runtime: {summary}" if summary else "no channels"
    return meta, channels, ""


def _channel(
    meta: ReleaseMeta, name: str, version: str, kyma: Kyma, by_name: Mapping[str, Sequence[ModuleTemplate]]
) -> ChannelSync:
    template_name = f"{meta.module}-{version}"
    templates = by_name.get(template_name, ())
    reasons = [exclusion_reason(template, kyma) for template in templates]
    why = (
        ""
        if "" in reasons
        else next((f"{template_name}: {reason}" for reason in reasons), f"{template_name} not found")
    )
    return ChannelSync(name, version, why)


def _meta_entry(meta: ReleaseMeta, channels: tuple[ChannelSync, ...], why: str) -> SyncEntry:
    left_out = [channel.channel for channel in channels if not channel.is_wanted]
    summary = f"without {', '.join(left_out)}" if left_out else "with all its channels"
    version = ", ".join(f"{channel.channel}={channel.version}" for channel in channels) or meta.mandatory_version or ""
    return SyncEntry(
        meta.ref, meta.module, version, not why, why or summary, SyncStatus.UNKNOWN, meta.raw, None, channels
    )


def _template_entry(
    template: ModuleTemplate, kyma: Kyma, kept: Mapping[tuple[str, str], Sequence[str]], *, is_mandatory: bool
) -> SyncEntry:
    is_wanted, why = (False, _MANDATORY) if is_mandatory else _template_wanted(template, kyma, kept)
    is_old = template.generation is TemplateGeneration.OLD
    standing = SyncStatus.OLD if is_wanted and is_old else SyncStatus.UNKNOWN
    return SyncEntry(
        template.ref, template.module, template.version, is_wanted, why, standing, template.raw, is_old=is_old
    )


def _template_wanted(
    template: ModuleTemplate, kyma: Kyma, kept: Mapping[tuple[str, str], Sequence[str]]
) -> tuple[bool, str]:
    if reason := exclusion_reason(template, kyma):
        return False, reason
    if template.generation is TemplateGeneration.OLD:
        if template.channel:
            return True, f"old format, in channel {template.channel}: only older lifecycle-managers sync it"
        return False, "template has neither version nor channel"
    channels = kept.get((template.spec_module, template.spec_version), ())
    if channels:
        return True, f"in channel {', '.join(channels)}"
    return False, "no channel of this runtime has this version"


# against the runtime


def _with_copies(entries: Iterable[SyncEntry], copies: Sequence[Object] | None) -> Iterable[SyncEntry]:
    """Yield the entries with their copies, then the objects that only the runtime has."""
    if copies is None:
        yield from (replace(entry, standing=SyncStatus.UNKNOWN) for entry in entries)
        return
    remaining = {name_key(raw): raw for raw in copies}
    for entry in entries:
        copy = remaining.pop((KYMA_NAMESPACE, entry.ref.name), None)
        yield _replaced(entry, copy)
    yield from (_only_there(raw) for _, raw in sorted(remaining.items()))


def name_key(raw: Object) -> tuple[str, str]:
    ref = read_ref(raw)
    return ref.namespace, ref.name


def _replaced(entry: SyncEntry, copy: Object | None) -> SyncEntry:
    if entry.is_wanted:
        missing = SyncStatus.OLD if entry.standing is SyncStatus.OLD else SyncStatus.MISSING
        standing = SyncStatus.SYNCED if copy is not None else missing
    elif copy is None:
        standing = SyncStatus.WITHHELD
    else:
        standing = SyncStatus.LEFT_OVER if is_synced_copy(copy) else SyncStatus.OWN
    return replace(entry, standing=standing, copy=copy)


def _only_there(raw: Object) -> SyncEntry:
    """Return the entry of an object that the control plane does not have."""
    read = read_release_meta(raw) if read_ref(raw).kind.kind == "ModuleReleaseMeta" else read_template(raw)
    module = "" if isinstance(read, MalformedObject) else read.module
    version = read.version if isinstance(read, ModuleTemplate) else ""
    if is_synced_copy(raw):
        why, standing = "not in the control plane; the catalog sync created it and deletes it", SyncStatus.LEFT_OVER
    else:
        why, standing = "another client created it in the runtime; the catalog sync keeps it", SyncStatus.OWN
    return SyncEntry(read_ref(raw), module, version, False, why, standing, None, raw)


def plan_pair_sync(pair: RuntimePair) -> SyncPlan | None:
    """Return the plan for a pair's runtime, None if the control plane has no Kyma."""
    kyma = pair.control_kyma
    if kyma is None:
        return None
    template_index = index_templates(pair.control.templates, pair.control.release_metas, kyma.meta.namespace)
    plan = plan_sync(kyma, template_index, read_copies(pair.runtime), pair.rules.restricted)
    unknown = explain_missing(pair.control.feeds, (_TEMPLATES, _METAS))
    if unknown is None:
        return plan
    why = f"the control plane's catalog: {unknown}"
    metas, templates = (
        tuple(replace(entry, is_wanted=False, why=why, standing=SyncStatus.UNKNOWN) for entry in entries)
        for entries in (plan.metas, plan.templates)
    )
    return SyncPlan(metas, templates, unknown)


def read_copies(runtime: Snapshot | None) -> RuntimeCopies:
    """Return the catalog objects of a runtime, as far as readable."""
    if runtime is None:
        return RuntimeCopies(None, None)
    return RuntimeCopies(
        _readable(runtime, _METAS, runtime.release_metas), _readable(runtime, _TEMPLATES, runtime.templates)
    )


def _readable(snapshot: Snapshot, feed: str, objects: tuple[Object, ...]) -> tuple[Object, ...] | None:
    return objects if explain_missing(snapshot.feeds, [feed]) is None else None


# The writes of the catalog sync: the copies as they are applied to a runtime, and those to delete.


_TEMPLATE_DEFAULTS = {"channel": "", "mandatory": False, "moduleName": "", "requiresDowntime": False, "version": ""}
"""The fields of a template's spec that lifecycle-manager sends even if they are empty."""
_META_DEFAULTS = {"beta": False, "internal": False}


class CatalogWrites(Struct, frozen=True):
    """The bodies to apply to a runtime, and the copies to delete there, in the order of the plan."""

    applied: tuple[Mapping[str, Any], ...]
    deleted: tuple[ObjectRef, ...]


def catalog_writes(plan: SyncPlan) -> CatalogWrites:
    """Return what makes a runtime's catalog the planned one; other clients' objects stay.

    Old-style templates count as not planned: only older lifecycle-managers synced them.
    """
    applied = [*(_meta_copy(entry) for entry in plan.metas if entry.is_wanted), *_template_copies(plan)]
    names = {(read_ref(body).kind.kind, read_ref(body).name) for body in applied}
    return CatalogWrites(tuple(applied), tuple(_deleted(plan, names)))


def _meta_copy(entry: SyncEntry) -> dict[str, Any]:
    channels = [
        {"channel": channel.channel, "version": channel.version} for channel in entry.channels if channel.is_wanted
    ]
    body = _copy(entry.original or {}, _META_DEFAULTS)
    return {**body, "spec": {**body["spec"], "channels": channels}}


def _template_copies(plan: SyncPlan) -> Iterator[dict[str, Any]]:
    for entry in plan.templates:
        if entry.is_wanted and not entry.is_old:
            yield _copy(entry.original or {}, _TEMPLATE_DEFAULTS)


def _copy(original: Object, defaults: Mapping[str, Any]) -> dict[str, Any]:
    """Return the copy of an object for a runtime, without what the control plane's server manages."""
    metadata = JsonReader(original).child("metadata")
    annotations = dict(metadata.labels("annotations"))
    body: dict[str, Any] = {
        "apiVersion": original["apiVersion"],
        "kind": original["kind"],
        "metadata": {
            "name": metadata.text("name"),
            "namespace": KYMA_NAMESPACE,
            "labels": {**metadata.labels("labels"), LABEL_MANAGED_BY: "kyma"},
        },
        "spec": {**defaults, **JsonReader(original).child("spec").raw},
    }
    if annotations:
        body["metadata"]["annotations"] = annotations
    return body


def _deleted(plan: SyncPlan, names: set[tuple[str, str]]) -> Iterator[ObjectRef]:
    for entry in plan.entries:
        if entry.copy is None or not is_synced_copy(entry.copy):
            continue
        ref = read_ref(entry.copy)
        if ref.namespace != KYMA_NAMESPACE or (ref.kind.kind, ref.name) not in names:
            yield ref
