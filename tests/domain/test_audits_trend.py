"""What became of the findings of an earlier audit, and which results a gap leaves unknown."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from kymatui.cli.output.audit_formats import as_json
from kymatui.domain.audit import field_rules, fleet_rules, state_rules
from kymatui.domain.audit.findings import (
    AuditFinding,
    AuditKind,
    AuditResult,
    AuditRule,
    AuditScope,
    Baseline,
    read_baseline,
)
from kymatui.domain.audit.report import AuditReport, find_rule, judge_findings
from kymatui.domain.kyma.problems import Severity

NOW = 1_800_000_000.0
X, Y = "Deployment a/x", "Deployment a/y"
UNSEEN = AuditFinding(field_rules.UNSEEN, "forbidden", "keda", X, is_of_object=True)
UNLISTED = AuditFinding(field_rules.UNSEEN, "no record", "keda", "Secret a/record")
ELSEWHERE = AuditFinding(field_rules.UNSEEN, "in another cluster", "", "Kyma a/default")
UNKNOWN_LINK = AuditFinding(fleet_rules.CHAIN_UNKNOWN, "forbidden", "", "Gateway", runtime="a")
UNREAD = AuditFinding(state_rules.UNREAD, "forbidden", "", "secrets")
UNREACHED = fleet_rules.unreachable_finding("a", "no route")
NO_ACCESS = fleet_rules.unreachable_finding("a", "rejected", access=True)


def finding(rule: str, module: str = "", about: str = "", runtime: str = "") -> AuditFinding:
    known = find_rule(rule) or AuditRule(rule, "", Severity.ERROR, "", "")
    return AuditFinding(known, "message", module, about, runtime=runtime)


def report(*findings: AuditFinding, kind: AuditKind = AuditKind.CLUSTER) -> AuditReport:
    return judge_findings("c", "k", NOW, findings, (), AuditScope(kind=kind, names=("a", "b")))


def earlier(*findings: AuditFinding) -> Baseline:
    return read_baseline(as_json(report(*findings)), "base.json")


def results(audited: AuditReport) -> dict[str, AuditResult]:
    return {outcome.rule.id: outcome.result for outcome in audited.outcomes}


@pytest.mark.parametrize(
    ("gap", "kind", "before", "is_unknown"),
    [
        (UNSEEN, AuditKind.CLUSTER, finding("drift.fields", "keda", X), True),
        (UNSEEN, AuditKind.CLUSTER, finding("drift.missing", "keda", X), True),
        (UNSEEN, AuditKind.CLUSTER, finding("drift.foreign", "keda", X), True),
        (UNSEEN, AuditKind.CLUSTER, finding("image.tag", "keda", X), True),
        (UNSEEN, AuditKind.CLUSTER, finding("rights.broad", "keda", X), True),
        (UNSEEN, AuditKind.CLUSTER, finding("rights.broad", "keda", Y), False),
        (UNSEEN, AuditKind.CLUSTER, finding("access.lacking", "keda", X), False),
        (UNSEEN, AuditKind.CLUSTER, finding("drift.fields", "keda", Y), False),
        (UNSEEN, AuditKind.CLUSTER, finding("image.invalid", "nats", Y), False),
        (UNLISTED, AuditKind.CLUSTER, finding("drift.fields", "keda", Y), True),
        (UNLISTED, AuditKind.CLUSTER, finding("drift.fields", "nats", Y), False),
        (ELSEWHERE, AuditKind.CLUSTER, finding("drift.fields", "nats", Y), True),
        (UNKNOWN_LINK, AuditKind.FLEET, finding("watcher.broken", "", "Gateway g", "a"), True),
        (UNKNOWN_LINK, AuditKind.FLEET, finding("watcher.broken", "", "Gateway g", "b"), False),
        (UNKNOWN_LINK, AuditKind.FLEET, finding("state.error", "keda", "Keda d", "a"), False),
        (UNREACHED, AuditKind.FLEET, finding("state.error", "keda", "Keda d", "a"), True),
        (UNREACHED, AuditKind.FLEET, finding("state.error", "keda", "Keda d", "b"), False),
        (UNREACHED, AuditKind.FLEET, finding("access.orphan", "", "Secret s"), False),
        (UNREACHED, AuditKind.RUNTIME, finding("image.tag", "keda", X), True),
        (NO_ACCESS, AuditKind.RUNTIME, finding("image.tag", "keda", X), True),
        (UNREAD, AuditKind.FLEET, finding("state.error", "keda", "Keda d", "b"), True),
        (UNREAD, AuditKind.FLEET, finding("runtime.unreachable", runtime="b"), False),
    ],
)
def test_a_finding_is_gone_only_where_nothing_hides_it(
    gap: AuditFinding, kind: AuditKind, before: AuditFinding, is_unknown: bool
) -> None:
    trend = report(gap, kind=kind).since(earlier(before)).trend
    assert trend is not None
    assert (len(trend.unknown), len(trend.gone)) == (is_unknown, not is_unknown)


@pytest.mark.parametrize(
    ("gap", "kind", "hidden", "seen"),
    [
        (UNSEEN, AuditKind.CLUSTER, "drift.fields drift.missing drift.foreign rights.broad image.tag", "state.error"),
        (UNKNOWN_LINK, AuditKind.FLEET, "watcher.broken", "state.error watcher.unknown"),
        (UNREACHED, AuditKind.RUNTIME, "access.unread drift.unseen watcher.unknown watcher.broken image.tag", ""),
        (UNREAD, AuditKind.FLEET, "state.error watcher.unknown", "runtime.unreachable runtime.access"),
    ],
)
def test_a_rule_passes_only_where_nothing_hides_its_findings(
    gap: AuditFinding, kind: AuditKind, hidden: str, seen: str
) -> None:
    result_of = results(report(gap, kind=kind))
    assert {result_of[rule] for rule in hidden.split()} == {AuditResult.INCOMPLETE}
    assert AuditResult.INCOMPLETE not in {result_of[rule] for rule in seen.split()}


def test_a_gap_of_a_module_that_was_not_chosen_hides_nothing() -> None:
    chosen = report(UNSEEN).selected(("nats",), (), Severity.INFO)
    assert results(chosen)["drift.fields"] is AuditResult.PASSED


def test_a_finding_of_a_rule_that_this_version_does_not_know_is_unknown() -> None:
    trend = report().since(earlier(finding("future.rule", "keda", X))).trend
    assert trend is not None
    assert (len(trend.unknown), trend.gone) == (1, ())


def test_a_finding_of_a_renamed_rule_is_unchanged() -> None:
    before = earlier(finding("runtime.unreached", runtime="a"))
    trend = report(UNREACHED, kind=AuditKind.FLEET).since(before).trend
    assert trend is not None
    assert ([item.rule.id for item in trend.unchanged], trend.unknown) == (["runtime.unreachable"], ())
    gone = report(kind=AuditKind.FLEET).since(before).trend
    assert gone is not None
    assert [item.rule.id for item in gone.gone] == ["runtime.unreachable"]


def test_a_report_since_a_baseline_is_a_baseline_itself() -> None:
    image, link = finding("image.tag", "keda", X), finding("watcher.broken", runtime="a")
    audited = report(image, UNKNOWN_LINK, kind=AuditKind.FLEET)
    first = audited.since(earlier(image, link))
    again = audited.since(read_baseline(as_json(first), "second.json"))
    assert again.findings == ()
    assert again.trend is not None
    assert [item.rule.id for item in again.trend.unknown] == ["watcher.broken"]


@pytest.mark.parametrize("taken_at", ["2026-01-01T00:00:00Z\nUser: eve", "yesterday", None, 7])
def test_a_time_of_a_baseline_that_is_none_is_left_out(taken_at: object) -> None:
    assert read_baseline({"findings": [], "takenAt": taken_at}, "base.json").taken_at == ""


@pytest.mark.parametrize("part", [{}, {"findings": {}}, {"findings": ""}, {"findings": [], "trend": {"unknown": {}}}])
def test_a_baseline_without_a_list_of_findings_is_refused(part: dict[str, object]) -> None:
    with pytest.raises((TypeError, KeyError, ValueError)):
        read_baseline(part, "base.json")


def test_a_finding_that_is_less_severe_than_those_chosen_is_not_unknown() -> None:
    milder = finding("state.processing", "keda", "Keda d")
    worse = replace(milder, level=Severity.ERROR)
    trend = report(milder).selected((), (), Severity.ERROR).since(earlier(worse)).trend
    assert trend is not None
    assert (trend.unchanged, trend.gone, trend.unknown) == ((), (), ())
