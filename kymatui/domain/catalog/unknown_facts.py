"""The unknown facts of one module: those that depend on a missing list."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from kymatui.domain.catalog.module_inputs import ModuleInputs, unreadable_kinds
from kymatui.domain.catalog.rows import CatalogOrigin
from kymatui.domain.kyma.problems import Actor
from kymatui.domain.modules.presence import Presence
from kymatui.domain.snapshot.cluster_index import (
    CATALOG_FEEDS,
    INVENTORY_FEED,
    KYMA_FEED,
    MANIFEST_FEED,
    RELEASE_FEED,
    ClusterIndex,
)
from kymatui.domain.snapshot.missing_lists import ListGap, RowFact, UnknownFact
from kymatui.domain.snapshot.snapshots import RUNTIME_FEED
from kymatui.domain.versions.drift import Drift, DriftKind
from kymatui.domain.versions.refusals import CatalogUnreadable, ChannelUnknown


def unknown_facts(
    subject: ModuleInputs, world: ClusterIndex, there: Presence, drifted: Drift, installed: str, actor: Actor
) -> Mapping[RowFact, UnknownFact]:
    """Return why facts of a module's row are unknown; facts without an entry are known."""
    kyma = world.missing([KYMA_FEED]) if world.kyma is None else None
    found = {fact: why for fact, why in _declared(subject, world, kyma) if why is not None}
    found |= {fact: why for fact, why in _observed(subject, world, there, installed, kyma) if why is not None}
    if actor is Actor.UNKNOWN:
        found[RowFact.ACTOR] = found.get(RowFact.CHECKS) or UnknownFact(ListGap.UNKNOWN, (), "the runtime was not read")
    compared = drifted.kind not in (DriftKind.UNKNOWN, DriftKind.NONE) or there is Presence.NOT_INSTALLED
    why = found.get(RowFact.INSTALLED) or found.get(RowFact.DESIRED)
    return found if compared or why is None else {**found, RowFact.DRIFT: why}


def _declared(
    subject: ModuleInputs, world: ClusterIndex, kyma: UnknownFact | None
) -> Iterator[tuple[RowFact, UnknownFact | None]]:
    catalog = world.missing(CATALOG_FEEDS)
    if not subject.managed:
        yield RowFact.MANAGED, kyma
    if subject.managed or kyma is not None:  # the status mirrors the requests, but not the policy
        yield RowFact.POLICY, world.missing([KYMA_FEED, RUNTIME_FEED])
    if not subject.mandatory and subject.meta is None:
        yield RowFact.MANDATORY, catalog
    if not subject.resolution.channel and subject.origin is CatalogOrigin.KYMA and not subject.mandatory:
        yield RowFact.CHANNEL, kyma
    if not subject.desired:
        refusal = subject.resolution.refusal
        said = refusal.why if isinstance(refusal, ChannelUnknown | CatalogUnreadable) else None
        yield RowFact.DESIRED, said or catalog or kyma
    if subject.meta is None and not any(offer.channels for offer in subject.offers):
        yield RowFact.CHANNELS, catalog
    yield RowFact.NEWEST, world.missing(CATALOG_FEEDS[:1])
    if subject.manifest is None:
        yield RowFact.MANIFEST, world.missing([MANIFEST_FEED])


def _observed(
    subject: ModuleInputs, world: ClusterIndex, there: Presence, installed: str, kyma: UnknownFact | None
) -> Iterator[tuple[RowFact, UnknownFact | None]]:
    names = unreadable_kinds(subject, world)
    hidden = world.missing(names) or (UnknownFact(ListGap.UNKNOWN, names) if names else None)
    sources = world.missing((CATALOG_FEEDS[0], MANIFEST_FEED))
    if subject.resources is None:
        kind = world.feed_of(subject.kind) if subject.kind is not None else ""
        yield RowFact.CHECKS, world.missing([kind]) or hidden
    elif subject.kind is None:  # the template, which names the kind, may be missing
        yield RowFact.CHECKS, world.missing(CATALOG_FEEDS[:1])
    if there is Presence.UNKNOWN:
        yield RowFact.STATE, hidden or kyma or sources or UnknownFact(ListGap.UNKNOWN)
    unrecorded = subject.manifest is None and subject.installation is None
    if not subject.managed and unrecorded and there is not Presence.NOT_INSTALLED:
        yield RowFact.INSTALLED_BY, world.missing([KYMA_FEED, MANIFEST_FEED, INVENTORY_FEED, RELEASE_FEED])
    if not installed and there is not Presence.NOT_INSTALLED:
        yield RowFact.INSTALLED, hidden or kyma or sources
