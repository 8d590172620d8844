"""All rules over one snapshot."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from kymatui.domain.audits import fields, fleets, images, kymas, leftovers, records, rights, states, templates, versions
from kymatui.domain.audits.findings import Case, Check, Finding, Rule, severity_rank
from kymatui.domain.audits.ignoring import EXPIRED, Ignore, expired, ignored_by
from kymatui.domain.audits.installations import Inspection
from kymatui.domain.catalog import Memory, Settings, catalog
from kymatui.domain.lists import Unknown
from kymatui.domain.pairs.comparing import side_by_side
from kymatui.domain.pairs.pair import Pair, joined
from kymatui.domain.problems import Severity
from kymatui.domain.rows import Catalog
from kymatui.domain.snapshots import FeedState, Snapshot
from kymatui.domain.watcher_chains import Chain

CHECKS: tuple[Check, ...] = (
    states.check,
    leftovers.check,
    versions.check,
    templates.check,
    images.check,
    kymas.check,
    fields.check,
    rights.check,
    records.check,
)
RULES: tuple[Rule, ...] = tuple(
    sorted(
        (
            *states.RULES,
            *leftovers.RULES,
            *versions.RULES,
            *templates.RULES,
            *images.RULES,
            *kymas.RULES,
            *fields.RULES,
            *rights.RULES,
            *records.RULES,
            *fleets.RULES,
            EXPIRED,
        ),
        key=lambda rule: rule.id,
    )
)


def rule_of(identifier: str) -> Rule | None:
    """The rule with an id."""
    return next((rule for rule in RULES if rule.id == identifier), None)


@dataclass(frozen=True, slots=True)
class Report:
    """What an audit found, the worst first; `ignored` are those that somebody answers for, with their entry."""

    cluster: str
    kyma: str
    taken_at: float
    findings: tuple[Finding, ...]
    ignored: tuple[tuple[Finding, Ignore], ...] = ()
    kyma_unknown: Unknown | None = None

    @property
    def no_kyma(self) -> str:
        """What stands where the name of the Kyma would be."""
        return "no Kyma" if self.kyma_unknown is None else f"Kyma {self.kyma_unknown}"

    def count(self, severity: Severity) -> int:
        """How many findings there are of one severity."""
        return sum(finding.severity is severity for finding in self.findings)

    def at_least(self, severity: Severity) -> bool:
        """Whether anything as bad as this was found."""
        return any(severity_rank(finding.severity) <= severity_rank(severity) for finding in self.findings)


def audit(
    snapshot: Snapshot,
    now: float,
    settings: Settings | None = None,
    ignores: Sequence[Ignore] = (),
    inspection: Inspection | None = None,
    memory: Memory | None = None,
) -> Report:
    """Applies every rule. `now` is in seconds of the Unix clock; entries of `ignores` that are past it do not count.

    Without an inspection nothing is said of the objects that modules consist of, nor of rights. In `memory` is what was
    read of the catalog already.
    """
    seen = catalog(snapshot, now, settings, memory)
    name = f"{seen.kyma.ref.namespace}/{seen.kyma.ref.name}" if seen.kyma else ""
    made = judged(snapshot.cluster, name, now, findings(snapshot, seen, now, inspection), ignores)
    return replace(made, kyma_unknown=seen.kyma_unknown)


def findings(
    snapshot: Snapshot, seen: Catalog, now: float, inspection: Inspection | None = None
) -> tuple[Finding, ...]:
    """What the rules find in one cluster, of which `seen` is the catalog."""
    case = Case(snapshot, seen, now, inspection or Inspection())
    return tuple(dict.fromkeys(finding for check in CHECKS for finding in check(case)))


def catalog_findings(snapshot: Snapshot, now: float) -> tuple[Finding, ...]:
    """What is wrong with a control plane's catalog: told once, and not for each of its runtimes."""
    case = Case(snapshot, catalog(snapshot, now), now)
    return tuple(dict.fromkeys(templates.check(case)))


def runtime_findings(
    pair: Pair, now: float, inspection: Inspection | None = None, chains: Iterable[Chain] = ()
) -> tuple[Finding, ...]:
    """What the rules find in a runtime and in what its control plane knows of it, besides the catalog that it has from
    there."""
    snapshot = joined(pair)
    seen = catalog(snapshot, now, Settings(rules=pair.rules))
    case = Case(snapshot, seen, now, inspection or Inspection())
    own = replace(case, snapshot=replace(snapshot, templates=pair.own_templates, release_metas=()))
    unread = {name for name, feed in pair.control.feeds.items() if feed.state is not FeedState.LIVE}
    found = dict.fromkeys(
        replace(finding, runtime=pair.name)
        for check in CHECKS
        for finding in check(own if check is templates.check else case)
        if finding.rule is not kymas.UNREAD or finding.object not in unread
    )
    return (*found, *fleets.differences(side_by_side(pair, now)), *fleets.broken_links(chains, pair.name))


def judged(cluster: str, kyma: str, now: float, found: Iterable[Finding], ignores: Sequence[Ignore] = ()) -> Report:
    """A report on findings, of which some are ignored; an entry that is past its day is itself a finding."""
    ordered = sorted(
        found,
        key=lambda item: (severity_rank(item.severity), item.rule.id, item.runtime, item.module, item.object),
    )
    marked = [(finding, ignored_by(finding, ignores, now)) for finding in ordered]
    left = [finding for finding, entry in marked if entry is None]
    return Report(
        cluster=cluster,
        kyma=kyma,
        taken_at=now,
        findings=(*left, *expired(ignores, now)),
        ignored=tuple((finding, entry) for finding, entry in marked if entry is not None),
    )
