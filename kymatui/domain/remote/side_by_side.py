"""The comparison of a control plane and a runtime: every difference, and whether it is intended."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct

from kymatui.domain.catalog.catalog import build_catalog
from kymatui.domain.catalog.module_inputs import CatalogOptions
from kymatui.domain.kyma.problems import Actor
from kymatui.domain.remote.catalog_copies import catalog_lines
from kymatui.domain.remote.catalog_sync import plan_pair_sync
from kymatui.domain.remote.differences import NOTHING, ComparisonLine, LineArea, LineVerdict, sort_key
from kymatui.domain.remote.kyma_sync import KymaPair, kyma_lines
from kymatui.domain.remote.module_sync import module_lines
from kymatui.domain.remote.runtime_pair import RuntimePair, join_snapshots
from kymatui.domain.snapshot.cluster_index import KYMA_FEED
from kymatui.domain.snapshot.missing_lists import explain_missing
from kymatui.domain.snapshot.snapshots import Snapshot

_TEMPLATES, _METAS, _MANIFESTS = (
    f"{plural}.operator.kyma-project.io" for plural in ("moduletemplates", "modulereleasemetas", "manifests")
)


class SideBySide(Struct, frozen=True):
    """All lines of a comparison, differences first."""

    name: str
    lines: tuple[ComparisonLine, ...]

    def count(self, verdict: LineVerdict) -> int:
        return sum(line.verdict is verdict for line in self.lines)

    @property
    def differing(self) -> tuple[ComparisonLine, ...]:
        return tuple(line for line in self.lines if line.differs)

    @property
    def is_as_intended(self) -> bool:
        """Return whether everything is readable and nothing differs unintentionally."""
        return not self.count(LineVerdict.WRONG) and not self.count(LineVerdict.UNKNOWN)


def compare_sides(pair: RuntimePair, now: float) -> SideBySide:
    """Compare both sides; `now` is in seconds of the Unix clock."""
    return SideBySide(pair.name, tuple(sorted(_lines(pair, now), key=sort_key)))


def _lines(pair: RuntimePair, now: float) -> Iterator[ComparisonLine]:
    control, runtime = pair.control_kyma, pair.runtime_kyma
    if control is None:
        unknown = explain_missing(pair.control.feeds, [KYMA_FEED])
        if unknown is not None:
            why = f"the control plane's Kyma is unknown: {unknown.reason}"
            yield ComparisonLine(
                LineArea.KYMA, pair.name, "presence", "?", "?", LineVerdict.UNKNOWN, why, Actor.CLUSTER
            )
            return
        why = "not found in the control plane"
        yield ComparisonLine(LineArea.KYMA, pair.name, "presence", NOTHING, "?", LineVerdict.WRONG, why, Actor.YOU)
        return
    if pair.runtime is None:
        yield ComparisonLine(
            LineArea.KYMA, pair.name, "runtime", "present", "?", LineVerdict.UNKNOWN, pair.unreachable, Actor.CLUSTER
        )
        return
    yield from _unread(pair.control, "control plane", (_TEMPLATES, _METAS, _MANIFESTS))
    catalog = build_catalog(join_snapshots(pair), now, CatalogOptions(rules=pair.rules))
    if pair.is_one_cluster:
        why = "the control plane is its own runtime: modules run in it"
        yield ComparisonLine(
            LineArea.KYMA, str(control.ref), "runtime", "present", "present", LineVerdict.INTENDED, why
        )
        yield from module_lines(pair, catalog)
        return
    kymas = KymaPair(control, runtime, now) if runtime is not None else None
    yield from kyma_lines(kymas) if kymas is not None else _no_runtime_kyma(pair)
    plan = plan_pair_sync(pair)
    assert plan is not None
    yield from catalog_lines(plan, control, pair.rules.schemas)
    yield from module_lines(pair, catalog)


def _unread(snapshot: Snapshot, side: str, feeds: tuple[str, ...]) -> Iterator[ComparisonLine]:
    for name in feeds:
        missing = explain_missing(snapshot.feeds, [name])
        if missing is not None:
            why = f"{side}: {missing}{f'; {missing.message}' if missing.message not in str(missing) else ''}"
            yield ComparisonLine(LineArea.KYMA, name, "list", "?", NOTHING, LineVerdict.UNKNOWN, why, Actor.CLUSTER)


def _no_runtime_kyma(pair: RuntimePair) -> Iterator[ComparisonLine]:
    assert pair.control_kyma is not None
    name = str(pair.control_kyma.ref)
    if (unknown := pair.runtime_kyma_unknown) is not None:
        why = f"the runtime's Kyma is unknown: {unknown.reason}"
        yield ComparisonLine(LineArea.KYMA, name, "presence", "present", "?", LineVerdict.UNKNOWN, why, Actor.CLUSTER)
    elif pair.control_kyma.meta.deleting:
        why = "deleted in the runtime; the control plane's Kyma is next"
        yield ComparisonLine(LineArea.KYMA, name, "presence", "being deleted", NOTHING, LineVerdict.INTENDED, why)
    else:
        why = (
            "Kyma kyma-system/default not found in the runtime; lifecycle-manager creates it at its next reconciliation"
        )
        yield ComparisonLine(LineArea.KYMA, name, "presence", "present", NOTHING, LineVerdict.WRONG, why, Actor.KLM)
