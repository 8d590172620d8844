"""A control plane and one of its runtimes, side by side: every difference, and whether it is meant to be."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from kymatui.domain.catalog import catalog
from kymatui.domain.lists import missing
from kymatui.domain.observing import KYMA_FEED
from kymatui.domain.pairs.copies import catalog_lines
from kymatui.domain.pairs.differences import NOTHING, Area, Line, Verdict, sort_key
from kymatui.domain.pairs.kymas import Kymas, kyma_lines
from kymatui.domain.pairs.modules import module_lines
from kymatui.domain.pairs.offering import plan_of
from kymatui.domain.pairs.pair import Pair, joined
from kymatui.domain.problems import Actor
from kymatui.domain.snapshots import Snapshot
from kymatui.domain.subjects import Settings

_TEMPLATES, _METAS, _MANIFESTS = (
    f"{plural}.operator.kyma-project.io" for plural in ("moduletemplates", "modulereleasemetas", "manifests")
)


@dataclass(frozen=True, slots=True)
class SideBySide:
    """All lines, what differs first."""

    name: str
    lines: tuple[Line, ...]

    def count(self, verdict: Verdict) -> int:
        return sum(line.verdict is verdict for line in self.lines)

    @property
    def differing(self) -> tuple[Line, ...]:
        return tuple(line for line in self.lines if line.differs)

    @property
    def is_as_intended(self) -> bool:
        """Whether nothing differs that should not, as far as both sides could be read."""
        return not self.count(Verdict.WRONG) and not self.count(Verdict.UNKNOWN)


def side_by_side(pair: Pair, now: float) -> SideBySide:
    """Compares both sides. `now` is in seconds of the Unix clock."""
    return SideBySide(pair.name, tuple(sorted(_lines(pair, now), key=sort_key)))


def _lines(pair: Pair, now: float) -> Iterator[Line]:
    control, runtime = pair.control_kyma, pair.runtime_kyma
    if control is None:
        unknown = missing(pair.control.feeds, [KYMA_FEED])
        if unknown is not None:
            why = f"the control plane's Kyma is not known: {unknown}"
            yield Line(Area.KYMA, pair.name, "presence", "?", "?", Verdict.UNKNOWN, why, Actor.CLUSTER)
            return
        why = "the control plane has no such Kyma"
        yield Line(Area.KYMA, pair.name, "presence", NOTHING, "?", Verdict.WRONG, why, Actor.YOU)
        return
    if pair.runtime is None:
        yield Line(Area.KYMA, pair.name, "runtime", "there", "?", Verdict.UNKNOWN, pair.unreachable, Actor.CLUSTER)
        return
    yield from _unread(pair.control, "control plane", (_TEMPLATES, _METAS, _MANIFESTS))
    seen = catalog(joined(pair), now, Settings(rules=pair.rules))
    if pair.is_one_cluster:
        why = "the modules run in the control plane itself: it is its own runtime"
        yield Line(Area.KYMA, str(control.ref), "runtime", "there", "there", Verdict.INTENDED, why)
        yield from module_lines(pair, seen)
        return
    kymas = Kymas(control, runtime, now) if runtime is not None else None
    yield from kyma_lines(kymas) if kymas is not None else _no_runtime_kyma(pair)
    plan = plan_of(pair)
    assert plan is not None
    yield from catalog_lines(plan, control)
    yield from module_lines(pair, seen)


def _unread(snapshot: Snapshot, side: str, feeds: tuple[str, ...]) -> Iterator[Line]:
    for name in feeds:
        found = missing(snapshot.feeds, [name])
        if found is not None:
            why = f"the {side}'s: {found}{f'; {found.message}' if found.message not in str(found) else ''}"
            yield Line(Area.KYMA, name, "list", "?", NOTHING, Verdict.UNKNOWN, why, Actor.CLUSTER)


def _no_runtime_kyma(pair: Pair) -> Iterator[Line]:
    assert pair.control_kyma is not None
    name = str(pair.control_kyma.ref)
    if (unknown := pair.runtime_kyma_unknown) is not None:
        why = f"the runtime's Kyma is not known: {unknown}"
        yield Line(Area.KYMA, name, "presence", "there", "?", Verdict.UNKNOWN, why, Actor.CLUSTER)
    elif pair.control_kyma.meta.deleting:
        why = "the deletion has come to its end in the runtime"
        yield Line(Area.KYMA, name, "presence", "being deleted", NOTHING, Verdict.INTENDED, why)
    else:
        why = "the runtime has no Kyma kyma-system/default; lifecycle-manager creates it at its next reconciliation"
        yield Line(Area.KYMA, name, "presence", "there", NOTHING, Verdict.WRONG, why, Actor.KLM)
