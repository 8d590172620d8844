"""The audit report: all rules applied to one snapshot."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from kymatui.domain.audit import field_rules, fleet_rules, leftover_rules, state_rules, template_rules
from kymatui.domain.audit.findings import (
    AuditFinding,
    AuditInput,
    AuditKind,
    AuditOutcome,
    AuditResult,
    AuditRule,
    AuditScope,
    Baseline,
    Check,
    Inspection,
    Trend,
    severity_rank,
)
from kymatui.domain.audit.ignores import EXPIRED, IgnoreEntry, expired_findings, find_ignore
from kymatui.domain.catalog.catalog import build_catalog
from kymatui.domain.catalog.module_inputs import CatalogOptions
from kymatui.domain.catalog.rows import Catalog
from kymatui.domain.kyma.kyma_keeper import statement_with_keeper, with_keeper
from kymatui.domain.kyma.problems import Actor, Severity
from kymatui.domain.remote.runtime_pair import RuntimePair, join_snapshots
from kymatui.domain.remote.side_by_side import compare_sides
from kymatui.domain.remote.watcher_chains import WatcherChain
from kymatui.domain.snapshot.missing_lists import UnknownFact
from kymatui.domain.snapshot.snapshots import FeedState, ReadCache, Snapshot

CHECKS: tuple[Check, ...] = (
    state_rules.check,
    leftover_rules.check,
    template_rules.check_versions,
    template_rules.check,
    field_rules.check_images,
    state_rules.check_kyma,
    field_rules.check,
    field_rules.check_rights,
    leftover_rules.check_inventories,
)
RULES: tuple[AuditRule, ...] = tuple(
    sorted(
        (
            *state_rules.RULES,
            *leftover_rules.RULES,
            *template_rules.VERSION_RULES,
            *template_rules.RULES,
            *field_rules.IMAGE_RULES,
            *state_rules.KYMA_RULES,
            *field_rules.RULES,
            *field_rules.RIGHTS_RULES,
            *leftover_rules.INVENTORY_RULES,
            *fleet_rules.RULES,
            EXPIRED,
        ),
        key=lambda rule: rule.id,
    )
)

_OF_OBJECTS: Final = frozenset(rule.id for rule in (*field_rules.RULES, *field_rules.RIGHTS_RULES))
_OF_REMOTE: Final = (AuditKind.RUNTIME, AuditKind.FLEET)
_KINDS: Final = {
    fleet_rules.UNREACHABLE.id: (*_OF_REMOTE, AuditKind.CONTEXTS),
    fleet_rules.CONTEXT.id: (AuditKind.CONTEXTS,),
    fleet_rules.ORPHAN_SECRET.id: (AuditKind.FLEET,),
    **dict.fromkeys(
        (rule.id for rule in (fleet_rules.ACCESS, fleet_rules.CHAIN, fleet_rules.CHAIN_UNKNOWN, fleet_rules.DIFFERS)),
        _OF_REMOTE,
    ),
}
"""The audits that apply a rule, of rules that not all audits apply."""
_REACH: Final = (fleet_rules.UNREACHABLE.id, fleet_rules.ACCESS.id, fleet_rules.CONTEXT.id)
_OF_CLUSTERS: Final = frozenset(rule.id for rule in RULES if rule is not EXPIRED)
_HIDDEN: Final = {
    **dict.fromkeys(_REACH, _OF_CLUSTERS),
    state_rules.UNREAD.id: _OF_CLUSTERS.difference(_REACH),
    field_rules.UNSEEN.id: _OF_OBJECTS.union(rule.id for rule in field_rules.IMAGE_RULES)
    - {field_rules.UNSEEN.id, field_rules.LACKING.id},
    fleet_rules.CHAIN_UNKNOWN.id: frozenset({fleet_rules.CHAIN.id}),
}
"""Rules about what was not read, with those whose findings they may hide."""


def find_rule(identifier: str) -> AuditRule | None:
    """Return the rule with an id, None if there is none."""
    return next((rule for rule in RULES if rule.id == identifier), None)


class AuditReport(Struct, frozen=True):
    """The findings of an audit, the worst first; `ignored` pairs each ignored finding with its entry.

    `is_empty` means that the audited cluster has no module, and that all lists which name modules came. `entries` are
    those that ignore findings, `not_read` the findings about what was not read, and `left_out` the fingerprints of
    those that were not chosen. With a `trend`, `findings` are new.
    """

    cluster: str
    kyma: str
    taken_at: float
    findings: tuple[AuditFinding, ...]
    ignored: tuple[tuple[AuditFinding, IgnoreEntry], ...] = ()
    kyma_unknown: UnknownFact | None = None
    is_empty: bool = False
    scope: AuditScope = AuditScope()
    entries: tuple[IgnoreEntry, ...] = ()
    not_read: tuple[AuditFinding, ...] = ()
    trend: Trend | None = None
    left_out: frozenset[str] = frozenset()

    @property
    def outcomes(self) -> tuple[AuditOutcome, ...]:
        """Return the result of every rule."""
        known = self.trend.unchanged if self.trend is not None else ()
        found = Counter(finding.rule.id for finding in (*self.findings, *known))
        ignored = Counter(finding.rule.id for finding, _ in self.ignored)
        return tuple(self._outcome(rule, found[rule.id], ignored[rule.id]) for rule in RULES)

    def _outcome(self, rule: AuditRule, found: int, ignored: int) -> AuditOutcome:
        if found or ignored:
            return AuditOutcome(rule, AuditResult.FAILED if found else AuditResult.IGNORED, found, ignored)
        if why := self._why_not_applied(rule):
            return AuditOutcome(rule, AuditResult.NOT_APPLIED, why=why)
        modules = self.scope.modules
        gaps = (gap for gap in self.not_read if not (gap.module and modules) or gap.module in modules)
        if any(rule.id in _HIDDEN[gap.rule.id] for gap in gaps):
            return AuditOutcome(rule, AuditResult.INCOMPLETE, why="no findings in what was read")
        return AuditOutcome(rule, AuditResult.PASSED)

    def _why_not_applied(self, rule: AuditRule) -> str:
        """Return why a rule was not applied; "" if it was."""
        scope, kinds = self.scope, _KINDS.get(rule.id)
        if (scope.rules and rule.id not in scope.rules) or severity_rank(rule.severity) > severity_rank(scope.severity):
            return "not chosen"
        if kinds is not None and scope.kind not in kinds:
            return f"only in audits of kind {', '.join(kinds)}"
        if rule.id in _OF_OBJECTS and not scope.has_objects:
            return "single objects and rights were not read"
        return "no entries that ignore findings" if rule is EXPIRED and not self.entries else ""

    def selected(self, modules: Iterable[str], rules: Iterable[str], severity: Severity) -> AuditReport:
        """Return the report on these modules and rules only (on all if there are none), from a severity on."""
        scope = replace(self.scope, modules=tuple(modules), rules=tuple(rules), severity=severity)
        findings = tuple(filter(scope.covers, self.findings))
        ignored = tuple(pair for pair in self.ignored if scope.covers(pair[0]))
        left_out = self.left_out.union(item.fingerprint for item in self._judged if not scope.covers(item))
        return replace(self, scope=scope, findings=findings, ignored=ignored, left_out=left_out)

    @property
    def _judged(self) -> tuple[AuditFinding, ...]:
        return (*self.findings, *(finding for finding, _ in self.ignored))

    def since(self, baseline: Baseline) -> AuditReport:
        """Return the report with the new findings, and with what became of those of the baseline."""
        current = self.left_out.union(finding.fingerprint for finding in self._judged)
        earlier = (finding for key, finding in baseline.findings.items() if key not in current)
        others = [(item, self._is_read(item)) for item in sorted(filter(self.scope.covers, earlier), key=sort_key)]
        trend = Trend(
            baseline,
            unchanged=tuple(finding for finding in self.findings if finding.fingerprint in baseline.findings),
            gone=tuple(finding for finding, is_read in others if is_read),
            unknown=tuple(finding for finding, is_read in others if not is_read),
        )
        new = tuple(finding for finding in self.findings if finding.fingerprint not in baseline.findings)
        return replace(self, findings=new, trend=trend)

    def _is_read(self, finding: AuditFinding) -> bool:
        """Return whether this audit would have an earlier finding if it were still there."""
        is_elsewhere = self.scope.kind is AuditKind.CONTEXTS and finding.runtime not in self.scope.names
        rule = find_rule(finding.rule.id)
        is_applied = rule is not None and not self._why_not_applied(rule)
        return is_applied and not is_elsewhere and not any(self._hides(gap, finding) for gap in self.not_read)

    def _hides(self, gap: AuditFinding, finding: AuditFinding) -> bool:
        """Return whether an earlier finding may still be there, in what was not read."""
        if gap.rule.id == state_rules.UNREAD.id:
            is_everywhere = not gap.runtime
        else:  # without its runtime, a single one was not audited at all
            is_everywhere = gap.rule.id in _REACH and self.scope.kind is AuditKind.RUNTIME
        return (
            (is_everywhere or gap.runtime == finding.runtime)
            and finding.rule.id in _HIDDEN[gap.rule.id]
            and gap.module in ("", finding.module)
            and (not gap.is_of_object or gap.object == finding.object)
        )

    @property
    def rules_version(self) -> str:
        """Return a hash of what the rules look for: reports with the same one applied the same rules."""
        texts = (text for rule in RULES for text in (rule.id, rule.severity.value, rule.title, rule.why, rule.remedy))
        return hashlib.sha256("\0".join(texts).encode()).hexdigest()[:12]

    @property
    def no_kyma(self) -> str:
        """Return the text for an audit without a Kyma name."""
        return "no Kyma" if self.kyma_unknown is None else f"Kyma {self.kyma_unknown}"

    @property
    def unread(self) -> tuple[AuditFinding, ...]:
        """Return the findings about lists that did not come: without them, the other findings are not complete."""
        return tuple(finding for finding in self.findings if finding.rule is state_rules.UNREAD)

    def count(self, severity: Severity) -> int:
        """Return the number of findings of one severity."""
        return sum(finding.severity is severity for finding in self.findings)

    def at_least(self, severity: Severity) -> bool:
        """Return whether any finding is of this severity or worse."""
        return any(severity_rank(finding.severity) <= severity_rank(severity) for finding in self.findings)


def audit(
    snapshot: Snapshot,
    now: float,
    settings: CatalogOptions | None = None,
    ignores: Sequence[IgnoreEntry] = (),
    inspection: Inspection | None = None,
    cache: ReadCache | None = None,
) -> AuditReport:
    """Apply every rule to a snapshot of one cluster.

    `now` is in seconds of the Unix clock; expired entries of `ignores` do not apply. Without `inspection` the
    report says nothing about module objects and permissions. `cache` has what earlier calls read.
    """
    catalog = build_catalog(snapshot, now, settings, cache)
    name = f"{catalog.kyma.ref.namespace}/{catalog.kyma.ref.name}" if catalog.kyma else ""
    report = judge_findings(snapshot.cluster, name, now, audit_cluster(snapshot, catalog, now, inspection), ignores)
    return replace(report, kyma_unknown=catalog.kyma_unknown, is_empty=has_no_modules(catalog))


def has_no_modules(catalog: Catalog) -> bool:
    """Return whether a cluster is known to have no module."""
    return not catalog.rows and catalog.modules_unknown is None


def audit_cluster(
    snapshot: Snapshot, catalog: Catalog, now: float, inspection: Inspection | None = None
) -> tuple[AuditFinding, ...]:
    """Return the findings in one cluster; `catalog` is its catalog."""
    case = AuditInput(snapshot, catalog, now, inspection or Inspection())
    findings = dict.fromkeys(finding for check in CHECKS for finding in check(case))
    return findings_with_keeper(findings, catalog.keeper, stopped=catalog.stopped)


def audit_catalog(snapshot: Snapshot, now: float) -> tuple[AuditFinding, ...]:
    """Return the findings in a control plane's catalog, once and not for each runtime."""
    case = AuditInput(snapshot, build_catalog(snapshot, now), now)
    return tuple(dict.fromkeys(template_rules.check(case)))


def findings_with_keeper(
    findings: Iterable[AuditFinding], keeper: Actor, *, stopped: bool | str = False
) -> tuple[AuditFinding, ...]:
    """Return the findings with the name of what works on the Kyma, also in the texts of their rules."""
    named = tuple(statement_with_keeper(finding, keeper, stopped=stopped) for finding in findings)
    if keeper is Actor.KLM:
        return named
    return tuple(replace(finding, rule=_rule_with_keeper(finding.rule, keeper)) for finding in named)


def _rule_with_keeper(rule: AuditRule, keeper: Actor) -> AuditRule:
    texts = {name: with_keeper(getattr(rule, name), keeper) for name in ("title", "why", "remedy")}
    return replace(rule, **texts) if any(getattr(rule, name) != text for name, text in texts.items()) else rule


def audit_runtime(
    pair: RuntimePair, now: float, inspection: Inspection | None = None, chains: Iterable[WatcherChain] = ()
) -> tuple[AuditFinding, ...]:
    """Return the findings in a runtime and in its control plane's objects, without the shared catalog."""
    snapshot = join_snapshots(pair)
    catalog = build_catalog(snapshot, now, CatalogOptions(rules=pair.rules))
    case = AuditInput(snapshot, catalog, now, inspection or Inspection())
    own = replace(case, snapshot=replace(snapshot, templates=pair.own_templates, release_metas=()))
    unread = {name for name, feed in pair.control.feeds.items() if feed.state is not FeedState.LIVE}
    findings = dict.fromkeys(
        replace(finding, runtime=pair.name)
        for check in CHECKS
        for finding in check(own if check is template_rules.check else case)
        if finding.rule is not state_rules.UNREAD or finding.object not in unread
    )
    all_findings = (
        *findings,
        *fleet_rules.difference_findings(compare_sides(pair, now)),
        *fleet_rules.chain_findings(chains, pair.name),
    )
    return findings_with_keeper(all_findings, catalog.keeper, stopped=catalog.stopped)


def sort_key(finding: AuditFinding) -> tuple[int, str, str, str, str]:
    """Return the key that sorts the worst findings first."""
    return severity_rank(finding.severity), finding.rule.id, finding.runtime, finding.module, finding.object


def judge_findings(
    cluster: str,
    kyma: str,
    now: float,
    findings: Iterable[AuditFinding],
    ignores: Sequence[IgnoreEntry] = (),
    scope: AuditScope | None = None,
) -> AuditReport:
    """Return the report on findings, sorted, with ignored ones apart and a finding for each expired entry."""
    ordered = sorted(findings, key=sort_key)
    marked = [(finding, find_ignore(finding, ignores, now)) for finding in ordered]
    remaining = [finding for finding, entry in marked if entry is None]
    return AuditReport(
        cluster=cluster,
        kyma=kyma,
        taken_at=now,
        findings=(*remaining, *expired_findings(ignores, now)),
        ignored=tuple((finding, entry) for finding, entry in marked if entry is not None),
        scope=scope or AuditScope(),
        entries=tuple(ignores),
        not_read=tuple(finding for finding in ordered if finding.rule.id in _HIDDEN),
    )
