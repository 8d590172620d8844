"""What other labels on the control plane's Kyma would change, before anybody sets them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from kymatui.domain.catalog import catalog
from kymatui.domain.effects import Effect, effects
from kymatui.domain.kymas import Kyma
from kymatui.domain.lists import missing
from kymatui.domain.objects import LABEL_SKIP
from kymatui.domain.observing import CATALOG_FEEDS
from kymatui.domain.pairs.offering import Copies, Entry, sync_plan
from kymatui.domain.pairs.pair import Pair, joined
from kymatui.domain.reading import Reader
from kymatui.domain.shelves import read_shelf
from kymatui.domain.snapshots import Object
from kymatui.domain.subjects import Settings
from kymatui.errors import RefusedError

Labels = Mapping[str, str | None]
"""Labels to set; None takes one away."""


@dataclass(frozen=True, slots=True)
class Relabelling:
    """`offered` and `withdrawn` are the templates and release metas that the runtime gets, and loses; `changed` the
    release metas that come with other channels; `effects` what becomes of modules."""

    labels: Mapping[str, str | None]
    offered: tuple[Entry, ...]
    withdrawn: tuple[Entry, ...]
    changed: tuple[Entry, ...]
    effects: tuple[Effect, ...]
    warnings: tuple[str, ...]

    @property
    def uninstalls(self) -> tuple[str, ...]:
        """The modules that would be uninstalled."""
        return tuple(effect.module for effect in self.effects if effect.uninstalls)


def relabelled(raw: Object, labels: Labels) -> Object:
    """The object with other labels."""
    metadata = Reader(raw).child("metadata").raw
    before = metadata.get("labels")
    found = {**(before if isinstance(before, Mapping) else {}), **labels}
    return {**raw, "metadata": {**metadata, "labels": {k: v for k, v in found.items() if v is not None}}}


def relabelling(pair: Pair, labels: Labels, now: float) -> Relabelling | None:
    """What the labels would change; None where the control plane has no Kyma. `now` in seconds of the Unix clock.

    Raises RefusedError where the control plane's catalog is not listed.
    """
    kyma = pair.control_kyma
    if kyma is None:
        return None
    unknown = missing(pair.control.feeds, CATALOG_FEEDS)
    if unknown is not None:
        raise RefusedError(f"what the labels would change is not known: {unknown}", hint="nothing was changed")
    changed_pair = _with_labels(pair, labels)
    after_kyma = changed_pair.control_kyma
    assert after_kyma is not None
    before, after = wanted(pair, kyma), wanted(changed_pair, after_kyma)
    settings = Settings(rules=pair.rules)
    moved = effects(catalog(joined(pair), now, settings), catalog(joined(changed_pair), now, settings))
    return Relabelling(
        labels=labels,
        offered=tuple(entry for key, entry in after.items() if key not in before),
        withdrawn=tuple(entry for key, entry in before.items() if key not in after),
        changed=tuple(
            entry for key, entry in after.items() if key in before and entry.channels != before[key].channels
        ),
        effects=moved,
        warnings=tuple(_warnings(after_kyma)),
    )


def _with_labels(pair: Pair, labels: Labels) -> Pair:
    kymas = tuple(relabelled(raw, labels) for raw in pair.control.kymas)
    return Pair(pair.name, replace(pair.control, kymas=kymas), pair.runtime, pair.unreachable)


def wanted(pair: Pair, kyma: Kyma) -> dict[object, Entry]:
    """Everything of the catalog that the runtime should have, by what it is."""
    shelf = read_shelf(pair.control.templates, pair.control.release_metas, kyma.meta.namespace)
    plan = sync_plan(kyma, shelf, Copies(None, None), pair.rules.restricted)
    return {entry.ref: entry for entry in plan.entries if entry.wanted}


def _warnings(kyma: Kyma) -> list[str]:
    found = []
    if kyma.meta.label_is_true(LABEL_SKIP):
        found.append(f"the Kyma is labelled {LABEL_SKIP}: lifecycle-manager does nothing of this until that is gone")
    if kyma.meta.deleting:
        found.append("the Kyma is being deleted")
    return found
