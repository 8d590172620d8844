"""What an audit finds: each rule in the situation it is for, and nothing where all is well."""

from __future__ import annotations

from collections import Counter
from datetime import UTC, date, datetime
from typing import Any

import pytest

from kymatui.domain.audit import template_rules
from kymatui.domain.audit.findings import AuditFinding
from kymatui.domain.audit.ignores import IgnoreEntry, read_ignores
from kymatui.domain.audit.report import RULES, AuditReport, audit, find_rule
from kymatui.domain.kyma.problems import Severity
from kymatui.domain.snapshot.cluster_index import ClusterIndex, index_cluster
from kymatui.domain.snapshot.snapshots import Feed, FeedState, Snapshot
from kymatui.errors import ConfigurationError
from tests.domain.builders import (
    NOW,
    Json,
    deployment,
    gvk,
    kyma,
    labels,
    manifest,
    meta,
    old_template,
    report,
    resource,
    snapshot,
    stamp,
    template,
)

DIGEST = "@sha256:" + "a" * 64
WELL: Json = {
    "templates": [template("mod", "1.3.1")],
    "release_metas": [meta("mod", {"regular": "1.3.1"})],
    "kymas": [kyma([{"name": "mod"}], status=[report("mod", "1.3.1")])],
    "workloads": [deployment("mod", "1.3.1")],
    "resources": [resource("mod")],
}
WELL["workloads"][0]["spec"]["template"]["spec"]["containers"][0]["image"] = f"r.example/mod:1.3.1{DIGEST}"


BETA = meta("mod", {"regular": "1.3.1"})
BETA["spec"]["beta"] = True


def cluster(**more: Any) -> Snapshot:
    values = {**WELL, **more}
    resources = values.pop("resources")
    return snapshot(module_resources={gvk("mod"): tuple(resources)}, **values)


def found(**more: Any) -> list[AuditFinding]:
    return list(audit(cluster(**more), NOW).findings)


def rules(**more: Any) -> set[str]:
    return {finding.rule.id for finding in found(**more)}


def with_image(image: str) -> list[Json]:
    workload = deployment("mod", "1.3.1")
    workload["spec"]["template"]["spec"]["containers"][0]["image"] = image
    return [workload]


def skipped() -> Json:
    return kyma([{"name": "mod"}], status=[report("mod", "1.3.1")], labelled=labels(skip_reconciliation="true"))


def elsewhere(state: str) -> Json:
    """A Manifest in a namespace without Kymas."""
    found = manifest("other", "1.0.0", state)
    return {**found, "metadata": {"name": "mine", "namespace": "shop"}}


def dying(seconds: float) -> Json:
    return resource("mod", deletionTimestamp=stamp(seconds), finalizers=["mod/hook"])


def test_nothing_is_found_where_all_is_well() -> None:
    assert found() == []


def test_a_manifest_that_a_controller_reconciles_is_not_ignored_wherever_it_is() -> None:
    assert found(manifests=[elsewhere("Ready")]) == []
    assert "manifest.ignored" not in rules(kymas=[], manifests=[elsewhere("")])


@pytest.mark.parametrize(
    ("more", "rule"),
    [
        pytest.param({"workloads": [deployment("mod", "1.2.0")]}, "drift.behind", id="behind"),
        pytest.param({"workloads": [deployment("mod", "1.4.0")]}, "drift.ahead", id="ahead"),
        pytest.param(
            {
                "kymas": [kyma([{"name": "mod"}], status=[report("mod", "2.0.0", "Warning", channel="fast")])],
                "workloads": [deployment("mod", "2.0.0")],
            },
            "drift.held-back",
            id="newer than channel",
        ),
        pytest.param({"resources": [resource("mod", "Error")]}, "state.error", id="error"),
        pytest.param({"resources": [resource("mod", "Warning")]}, "state.warning", id="warning"),
        pytest.param({"kymas": [], "resources": [dying(3600)]}, "state.deleting", id="deleting for an hour"),
        pytest.param(
            {"manifests": [manifest("mod", "1.3.1", "Error")]}, "state.disagree", id="Kyma and Manifest disagree"
        ),
        pytest.param({"kymas": [], "workloads": []}, "module.orphan", id="a resource without its manager"),
        pytest.param({"resources": []}, "module.not-configured", id="a manager without a resource"),
        pytest.param(
            {"kymas": [kyma([{"name": "mod", "managed": False}], status=[report("mod", "1.3.1", "Unmanaged")])]},
            "module.unmanaged",
            id="unmanaged",
        ),
        pytest.param(
            {"kymas": [kyma()], "manifests": [manifest("mod", "1.3.1")]}, "manifest.orphan", id="orphaned Manifest"
        ),
        pytest.param({"manifests": [elsewhere("")]}, "manifest.ignored", id="Manifest of another namespace"),
        pytest.param({"release_metas": [BETA]}, "module.beta", id="beta"),
        pytest.param({"workloads": with_image("r.example/mod:1.3.1")}, "image.tag", id="a tag"),
        pytest.param({"workloads": with_image("r.example/mod:latest")}, "image.mutable", id="latest"),
        pytest.param({"workloads": with_image("r.example:5000/mod")}, "image.mutable", id="a port is no tag"),
        pytest.param({"workloads": with_image("No Image")}, "image.invalid", id="no reference"),
        pytest.param({"templates": [template("mod", "1.3.1", name="mod-regular")]}, "template.name", id="name"),
        pytest.param({"templates": [{"kind": "ModuleTemplate"}]}, "template.malformed", id="malformed"),
        pytest.param(
            {"templates": [old_template("mod-regular", "mod", "regular", "1.3.1")]},
            "template.old-style",
            id="old style",
        ),
        pytest.param(
            {"templates": [old_template("mod-regular", "mod", "regular", "1.3.1")]}, "template.unsigned", id="unsigned"
        ),
        pytest.param({"kymas": [skipped()]}, "kyma.skipped", id="skipped"),
        pytest.param(
            {"feeds": {"deployments.apps": Feed(FeedState.FORBIDDEN, 0.0, "no")}}, "access.unread", id="forbidden"
        ),
    ],
)
def test_each_rule_in_the_situation_that_it_is_for(more: Json, rule: str) -> None:
    assert rule in rules(**more)


def test_a_deletion_that_has_just_begun_is_no_finding() -> None:
    assert "state.deleting" not in rules(kymas=[], resources=[dying(10)])


def test_a_finding_says_where_and_since_when() -> None:
    (finding,) = [item for item in found(kymas=[], resources=[dying(3600)]) if item.rule.id == "state.deleting"]
    assert (finding.module, finding.object, finding.since) == ("mod", "Mod kyma-system/default", NOW - 3600)


def test_the_worst_comes_first() -> None:
    severities = [
        finding.severity
        for finding in found(
            resources=[resource("mod", "Error")],
            feeds={"deployments.apps": Feed(FeedState.FORBIDDEN, 0.0, "no"), "x.y": Feed(FeedState.STALE, NOW)},
        )
    ]
    assert severities == sorted(severities, key=[Severity.ERROR, Severity.WARNING, Severity.INFO].index)
    assert severities[0] is Severity.ERROR


def test_a_finding_keeps_its_fingerprint_while_its_words_change() -> None:
    (one,) = [item for item in found(workloads=[deployment("mod", "1.2.0")]) if item.rule.id == "drift.behind"]
    (two,) = [item for item in found(workloads=[deployment("mod", "1.1.0")]) if item.rule.id == "drift.behind"]
    assert one.message != two.message
    assert one.fingerprint == two.fingerprint


def test_rules_have_one_name_each_and_can_be_looked_up() -> None:
    assert [name for name, count in Counter(rule.id for rule in RULES).items() if count > 1] == []
    assert all(find_rule(rule.id) is rule for rule in RULES)
    assert all(rule.why and rule.remedy for rule in RULES)


# what somebody answers for

TODAY = datetime.fromtimestamp(NOW, UTC).date()


def ignoring(*entries: IgnoreEntry) -> AuditReport:
    return audit(cluster(workloads=[deployment("mod", "1.2.0")]), NOW, None, entries)


def test_what_is_ignored_is_kept_apart_with_its_reason() -> None:
    entry = IgnoreEntry("drift.*", "the freeze", TODAY, module="mod")
    seen = ignoring(entry)
    assert "drift.behind" not in {finding.rule.id for finding in seen.findings}
    assert [(finding.rule.id, why) for finding, why in seen.ignored] == [("drift.behind", entry)]


@pytest.mark.parametrize(
    "entry",
    [
        IgnoreEntry("drift.behind", "another module", TODAY, module="other"),
        IgnoreEntry("drift.ahead", "another rule", TODAY),
        IgnoreEntry("drift.behind", "another object", TODAY, object="Deployment x/*"),
    ],
)
def test_an_entry_covers_only_what_it_is_about(entry: IgnoreEntry) -> None:
    assert "drift.behind" in {finding.rule.id for finding in ignoring(entry).findings}


def test_an_entry_whose_day_is_over_does_not_count_and_is_a_finding_itself() -> None:
    seen = ignoring(IgnoreEntry("drift.behind", "the freeze", date(2026, 1, 31)))
    assert {"drift.behind", "audit.expired"} <= {finding.rule.id for finding in seen.findings}
    assert any("was ignored until 2026-01-31: the freeze" in finding.message for finding in seen.findings)


def test_a_file_of_entries_is_read() -> None:
    document = {"ignore": [{"rule": "drift.*", "reason": "freeze", "until": "2026-12-31", "module": "mod"}]}
    assert read_ignores(document, "f") == (IgnoreEntry("drift.*", "freeze", date(2026, 12, 31), module="mod"),)


@pytest.mark.parametrize(
    ("document", "words"),
    [
        ([], "f has no list of findings to ignore"),
        ({"ignore": {}}, "f has no list"),
        ({"ignore": [], "more": 1}, "f has no list"),
        ({"ignore": ["x"]}, r"f: ignore\[0\] is not a mapping"),
        ({"ignore": [{"rule": "a", "until": "2026-12-31"}]}, r"ignore\[0\].reason must be a non-empty string"),
        ({"ignore": [{"rule": "a", "reason": "b"}]}, r"ignore\[0\].until must be a date"),
        ({"ignore": [{"rule": "a", "reason": "b", "until": "soon"}]}, r"until must be a date"),
        ({"ignore": [{"rule": "a", "reason": "b", "until": "2026-12-31", "modul": "x"}]}, "unknown keys: modul"),
    ],
)
def test_a_file_that_says_something_else_is_refused(document: object, words: str) -> None:
    with pytest.raises(ConfigurationError, match=words):
        read_ignores(document, "f")


def test_a_beta_module_is_a_finding_only_where_it_is_installed() -> None:
    offered: Json = {"release_metas": [BETA], "kymas": [kyma()], "workloads": [], "resources": []}
    assert "module.beta" not in rules(**offered)
    (finding,) = [one for one in found(release_metas=[BETA]) if one.rule.id == "module.beta"]
    assert (finding.module, finding.message) == ("mod", "mod 1.3.1 is a beta module")


def test_the_cluster_is_indexed_once_for_all_templates(monkeypatch: pytest.MonkeyPatch) -> None:
    indexed = []

    def count(case: Snapshot) -> ClusterIndex:
        indexed.append(case)
        return index_cluster(case)

    monkeypatch.setattr(template_rules, "index_cluster", count)
    audit(cluster(templates=[template(f"mod-{number}", "1.3.1") for number in range(9)]), NOW)
    assert len(indexed) == 1


def control_plane(*names: str, **more: Any) -> list[AuditFinding]:
    """Return the findings about versions where the modules of the only Kyma run in another cluster."""
    there = "kcp-system"
    report_ = [report("mod", "1.3.1")]
    world = {
        "templates": [template(name, "1.3.1", namespace=there) for name in ("mod", *names)],
        "release_metas": [meta(name, {"regular": "1.3.1"}, namespace=there) for name in ("mod", *names)],
        "kymas": [kyma([{"name": "mod"}], status=more.pop("status", report_), name="one", namespace=there)],
    }
    findings = audit(snapshot(**world, **more), NOW).findings
    return [one for one in findings if one.rule.id.startswith("drift.")]


def test_a_control_plane_says_once_that_it_does_not_know_running_versions() -> None:
    assert control_plane() == []
    (note,) = control_plane("first", "second")
    assert (note.rule.id, note.module) == ("drift.unknown", "")
    assert note.message == "running versions are not known from the control plane; use --remote"
    assert "kcp-system/one" in note.object


def test_a_control_plane_compares_the_versions_that_its_kyma_reports() -> None:
    (found_, note) = control_plane("first", status=[report("mod", "1.2.0")])
    assert (found_.rule.id, found_.module) == ("drift.behind", "mod")
    assert note.module == ""


@pytest.mark.parametrize(
    ("resources", "message"),
    [
        ([], "it is unknown whether the module is running"),
        ([resource("mod")], "the running version is unknown, expected 1.3.1"),
    ],
)
def test_an_unknown_version_is_not_called_a_running_one(resources: list[Json], message: str) -> None:
    hidden = {"deployments.apps": Feed(FeedState.FORBIDDEN, NOW)}
    listed = found(workloads=[], kymas=[kyma()], resources=resources, feeds=hidden)
    assert [one.message for one in listed if one.rule.id == "drift.unknown"] == [message]
