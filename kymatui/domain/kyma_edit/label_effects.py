"""A preview of label changes on the control plane's Kyma."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Struct
from msgspec.structs import replace

from kymatui.domain.catalog.catalog import build_catalog
from kymatui.domain.catalog.effects import Effect, compare_catalogs
from kymatui.domain.catalog.module_inputs import CatalogOptions
from kymatui.domain.kubernetes.json_reader import mapping_at
from kymatui.domain.kubernetes.object_meta import LABEL_SKIP
from kymatui.domain.kyma.kymas import Kyma
from kymatui.domain.kyma.template_index import index_templates
from kymatui.domain.remote.catalog_sync import RuntimeCopies, SyncEntry, plan_sync
from kymatui.domain.remote.runtime_pair import RuntimePair, join_snapshots
from kymatui.domain.snapshot.cluster_index import CATALOG_FEEDS
from kymatui.domain.snapshot.missing_lists import explain_missing
from kymatui.domain.snapshot.snapshots import Object
from kymatui.errors import RefusedError

Labels = Mapping[str, str | None]
"""Labels to set; None removes one."""


class LabelEffects(Struct, frozen=True):
    """The effects of a label change.

    `offered` and `withdrawn` are the templates and release metas that the runtime gains and loses; `changed` are
    release metas with other channels; `effects` are the effects on modules.
    """

    labels: Mapping[str, str | None]
    offered: tuple[SyncEntry, ...]
    withdrawn: tuple[SyncEntry, ...]
    changed: tuple[SyncEntry, ...]
    effects: tuple[Effect, ...]
    warnings: tuple[str, ...]

    @property
    def uninstalls(self) -> tuple[str, ...]:
        """Return the modules that would be uninstalled."""
        return tuple(effect.module for effect in self.effects if effect.uninstalls)


def with_labels(raw: Object, labels: Labels) -> Object:
    """Return the object with other labels; None removes one."""
    merged = {**mapping_at(raw, "metadata", "labels"), **labels}
    return {
        **raw,
        "metadata": {**mapping_at(raw, "metadata"), "labels": {k: v for k, v in merged.items() if v is not None}},
    }


def preview_label_effects(pair: RuntimePair, labels: Labels, now: float) -> LabelEffects | None:
    """Return the effects of a label change, None if the control plane has no Kyma.

    `now` is in seconds of the Unix clock. Raises RefusedError if the control plane's catalog is not listed.
    """
    kyma = pair.control_kyma
    if kyma is None:
        return None
    unknown = explain_missing(pair.control.feeds, CATALOG_FEEDS)
    if unknown is not None:
        raise RefusedError(f"the effect of the labels is unknown: {unknown.reason}", unchanged=True)
    changed_pair = _with_labels(pair, labels)
    after_kyma = changed_pair.control_kyma
    assert after_kyma is not None
    before, after = synced_objects(pair, kyma), synced_objects(changed_pair, after_kyma)
    settings = CatalogOptions(rules=pair.rules)
    moved = compare_catalogs(
        build_catalog(join_snapshots(pair), now, settings), build_catalog(join_snapshots(changed_pair), now, settings)
    )
    return LabelEffects(
        labels=labels,
        offered=tuple(entry for key, entry in after.items() if key not in before),
        withdrawn=tuple(entry for key, entry in before.items() if key not in after),
        changed=tuple(
            entry for key, entry in after.items() if key in before and entry.channels != before[key].channels
        ),
        effects=moved,
        warnings=tuple(_warnings(after_kyma)),
    )


def _with_labels(pair: RuntimePair, labels: Labels) -> RuntimePair:
    kymas = tuple(with_labels(raw, labels) for raw in pair.control.kymas)
    return RuntimePair(pair.name, replace(pair.control, kymas=kymas), pair.runtime, pair.unreachable)


def synced_objects(pair: RuntimePair, kyma: Kyma) -> dict[object, SyncEntry]:
    """Return the catalog objects that the runtime should have, by reference."""
    templates = index_templates(pair.control.templates, pair.control.release_metas, kyma.meta.namespace)
    plan = plan_sync(kyma, templates, RuntimeCopies(None, None), pair.rules.restricted)
    return {entry.ref: entry for entry in plan.entries if entry.is_wanted}


def _warnings(kyma: Kyma) -> list[str]:
    warnings = []
    if kyma.meta.label_is_true(LABEL_SKIP):
        warnings.append(f"the Kyma has the label {LABEL_SKIP}: nothing changes until the label is removed")
    if kyma.meta.deleting:
        warnings.append("the Kyma is being deleted")
    return warnings
